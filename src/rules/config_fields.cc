#include "rules/config_fields.h"

#include <array>

#include "weir/quota.h"

namespace weir {
namespace {

using Presence = Field::Presence;

// In the order of weir::Algorithm.
constexpr std::array<std::string_view, kAlgorithmCount> kAlgorithms = {
    "fixed_window", "sliding_log", "sliding_window", "token_bucket", "exponential_backoff",
};

constexpr Field kListenFields[] = {
    {.name = "http",
     .type = FieldType::kListenAddress,
     .default_text = "127.0.0.1:8080",
     .description = "Address of the HTTP door: HOST:PORT with an IP address or localhost, or "
                    "unix:/absolute/path. Port 0 takes any free one. Put an IPv6 address in "
                    "quotes: \"[::1]:8080\"."},
};

constexpr Section kListen = {
    .name = "'listen'",
    .description = "The addresses to listen on.",
    .fields = kListenFields,
};

constexpr Field kRuleFields[] = {
    {.name = "id",
     .type = FieldType::kName,
     .presence = Presence::kRequired,
     .description = "The name of the rule, by which requests, metrics and logs refer to it. "
                    "Unique in the file. Counters belong to it: a renamed rule starts anew."},
    {.name = "algorithm",
     .type = FieldType::kChoice,
     .choices = kAlgorithms,
     .default_text = "sliding_window",
     .description = "How limit and window are read."},
    {.name = "limit",
     .type = FieldType::kInteger,
     .presence = Presence::kRequired,
     .min = 0,
     .max = kLimitMax,
     .description = "How many units a key may spend in a window. 0 denies everything."},
    {.name = "window",
     .type = FieldType::kDuration,
     .presence = Presence::kRequired,
     .min = kWindowMin.count(),
     .max = kWindowMax.count(),
     .description = "The length of the window, 1ms to 366d: a duration such as 500ms, 90s or "
                    "1h30m, or a number of seconds with up to six decimals."},
    {.name = "burst",
     .type = FieldType::kInteger,
     .min = 1,
     .max = kLimitMax,
     .only_if = {"algorithm", "token_bucket"},
     .description = "Only for token_bucket: the most a key can spend at once. Without it, the "
                    "limit. At most what is refilled in 4 times 366 days."},
    {.name = "enabled",
     .type = FieldType::kBoolean,
     .default_text = "true",
     .description = "A disabled rule is checked like any other, but allows everything and "
                    "counts nothing."},
};

constexpr Section kRule = {
    .name = "a rule",
    .description = "One quota and the name it goes by.",
    .fields = kRuleFields,
};

constexpr Field kConfigFields[] = {
    {.name = "listen",
     .type = FieldType::kSection,
     .section = &kListen,
     .description = "The addresses to listen on."},
    {.name = "threads",
     .type = FieldType::kInteger,
     .min = 1,
     .max = 256,
     .description = "How many threads serve requests. Without it, one for each core."},
    {.name = "max_keys",
     .type = FieldType::kInteger,
     .min = 1024,
     .max = std::int64_t{1} << 32,
     .default_text = "1048576",
     .description = "How many keys the memory store has room for. The memory is reserved at "
                    "the start."},
    {.name = "rules",
     .type = FieldType::kSectionList,
     .section = &kRule,
     .description = "The rules. Their order does not matter."},
};

constexpr Section kConfig = {
    .name = "the top level",
    .description = "Configuration of weir, a distributed rate limiter.",
    .fields = kConfigFields,
};

}  // namespace

const Field* Section::find(std::string_view field_name) const {
  for (const Field& field : fields) {
    if (field.name == field_name) return &field;
  }
  return nullptr;
}

std::vector<std::string_view> Section::field_names() const {
  std::vector<std::string_view> names;
  names.reserve(fields.size());
  for (const Field& field : fields) names.push_back(field.name);
  return names;
}

const Section& config_section() { return kConfig; }
const Section& listen_section() { return kListen; }
const Section& rule_section() { return kRule; }

}  // namespace weir
