#include "config/rules/effect_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ascii.h"
#include "base/duration_text.h"
#include "config/section_list.h"

namespace weir {
namespace {

// What an HTTP/2 answer has room for, beside the fields about the limit.
constexpr std::size_t kDenyHeadersMax = 16;

// More steps than anybody tells apart.
constexpr std::size_t kBlockLengthsMax = 16;

// Reads the quota of a rule, a tier or an override. Reports one that no algorithm can keep.
std::optional<Quota> read_quota(SectionReader& reader, Algorithm inherited) {
  const auto named = reader.get<std::string>("algorithm");
  const auto quota = Quota::make({.algorithm = named ? *algorithm_from_name(*named) : inherited,
                                  .limit = reader.get<std::int64_t>("limit").value_or(0),
                                  .window = reader.get<Duration>("window").value_or(Duration(0)),
                                  .burst = reader.get<std::int64_t>("burst").value_or(0)});
  if (quota) return *quota;
  reader.reject(quota.error().field, std::string(quota.error().expected));
  return std::nullopt;
}

bool has_counter_of(const std::vector<Quota>& limits, const Quota& quota) {
  return std::ranges::any_of(limits, [&](const Quota& other) {
    return other.algorithm() == quota.algorithm() && other.window() == quota.window();
  });
}

// The limit in the section itself and those in its `more_limits`.
std::vector<Quota> read_limits(SectionReader& reader, Algorithm inherited, Mistakes& mistakes) {
  std::vector<Quota> limits;
  if (!reader.valid()) return limits;
  const auto first = read_quota(reader, inherited);
  if (!first) return limits;
  limits.push_back(*first);
  const auto more = reader.get<const YamlNode*>("more_limits");
  if (!more) return limits;
  for_each_section(**more, more_limits_section(), mistakes, [&](SectionReader& item) {
    const auto quota = read_quota(item, first->algorithm());
    if (!quota) return;
    if (has_counter_of(limits, *quota)) {
      mistakes.add(item.place_of("window"),
                   "two limits of one algorithm and window; the larger "
                   "would never deny, so remove it");
    }
    if (limits.size() == Rule::kLimitsMax) {
      mistakes.add(item.place_of("limit"),
                   "more than " + std::to_string(Rule::kLimitsMax) + " limits");
    }
    limits.push_back(*quota);
  });
  return limits;
}

void read_named_limits(const YamlNode& list, const Section& section, std::string_view name_field,
                       Rule& rule, Rule::LimitsByName& named, Mistakes& mistakes) {
  for_each_section(list, section, mistakes, [&](SectionReader& item) {
    const auto name = item.get<std::string>(name_field).value_or("");
    auto limits = read_limits(item, rule.quota.algorithm(), mistakes);
    if (limits.empty() || named.emplace(name, std::move(limits)).second) return;
    mistakes.add(item.place_of(name_field),
                 "duplicate " + std::string(name_field) + " '" + name + "' in one list");
  });
}

KeyList read_key_list(const SectionReader& reader, std::string_view field) {
  KeyList list;
  for (const YamlNode* text : reader.texts(field)) {
    if (const auto network = IpPrefix::parse(text->text)) list.networks.push_back(*network);
    list.keys.insert(text->text);
  }
  return list;
}

void read_cost(const SectionReader& reader, Rule& rule, Mistakes& mistakes) {
  const auto text = reader.get<std::string>("cost");
  if (!text) return;
  rule.cost_from = parse_key_part(*text);
  if (rule.cost_from) return;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, rule.cost);
  if (error == std::errc() && stop == end && rule.cost >= 0 && rule.cost <= kCostMax) return;
  mistakes.add(reader.place_of("cost"), "'cost' must be a whole number from 0 to " +
                                            std::to_string(kCostMax) +
                                            ", or a property such as header:X-Cost");
}

// A block counts from its beginning. So that `memory` is left when one has ended, and those
// behind the first are reached at all, they have to fit in as well.
Duration beyond_blocks(Duration memory, const std::vector<Duration>& blocks) {
  if (blocks.empty()) return memory;
  const auto lengths = static_cast<std::int64_t>(blocks.size());
  return std::min(kWindowMax, memory + lengths * std::ranges::max(blocks));
}

void read_blocks(const SectionReader& reader, Denial& denial, Mistakes& mistakes) {
  if (reader.texts("block").size() > kBlockLengthsMax) {
    mistakes.add(reader.place_of("block"),
                 "more than " + std::to_string(kBlockLengthsMax) + " durations");
  }
  for (const YamlNode* text : reader.texts("block")) {
    const auto length = parse_duration(text->text);
    if (length && *length >= kWindowMin && *length <= kWindowMax) {
      denial.blocks.push_back(*length);
    } else {
      mistakes.add(text->place,
                   "'block' must be a duration from 1ms to 366d, such as 5m, or a "
                   "list of such");
    }
  }
  for (const std::string_view field : {"block_after", "block_window", "block_memory"}) {
    if (!reader.is_set(field) || reader.is_set("block")) continue;
    mistakes.add(reader.place_of(field),
                 "'" + std::string(field) + "' is only for rules that block; add 'block'");
  }
  denial.block_after = reader.get<std::int64_t>("block_after").value_or(denial.block_after);
  denial.block_window = reader.get<Duration>("block_window").value_or(denial.block_window);
  denial.block_memory = beyond_blocks(
      reader.get<Duration>("block_memory").value_or(denial.block_memory), denial.blocks);
}

std::optional<TextTemplate> read_template(const SectionReader& reader, std::string_view field,
                                          Mistakes& mistakes) {
  const auto text = reader.get<std::string>(field);
  if (!text) return std::nullopt;
  auto parsed = TextTemplate::parse(*text);
  if (const auto* error = std::get_if<std::string>(&parsed)) {
    mistakes.add(reader.place_of(field), *error);
    return std::nullopt;
  }
  return std::get<TextTemplate>(std::move(parsed));
}

// The door's own, and those that say where a message ends.
bool is_doors_own(std::string_view name) {
  constexpr std::array<std::string_view, 10> kOwn = {
      "connection", "content-length", "content-type",      "date",          "keep-alive", "te",
      "trailer",    "upgrade",        "transfer-encoding", "x-process-time"};
  return std::ranges::any_of(kOwn, [&](auto own) { return equal_ignoring_case(own, name); });
}

void read_deny_header(SectionReader& item, Denial& denial, Mistakes& mistakes) {
  const auto name = item.get<std::string>("name").value_or("");
  auto value = read_template(item, "value", mistakes);
  if (is_doors_own(name)) {
    mistakes.add(item.place_of("name"), "'" + name + "' is set by the door itself; remove it");
  }
  if (denial.headers.size() == kDenyHeadersMax) {
    mistakes.add(item.place_of("name"),
                 "more than " + std::to_string(kDenyHeadersMax) + " headers");
  } else if (value) {
    denial.headers.push_back({.name = name, .value = *std::move(value)});
  }
}

void read_denial(const YamlNode& node, Denial& denial, Mistakes& mistakes) {
  const SectionReader reader(on_deny_section(), node, node.place, mistakes);
  read_blocks(reader, denial, mistakes);
  denial.status = static_cast<int>(reader.get<std::int64_t>("status").value_or(0));
  denial.content_type = reader.get<std::string>("content_type").value_or("");
  denial.body = read_template(reader, "body", mistakes);
  if (denial.body && denial.content_type.empty()) denial.content_type = "text/plain";
  if (!denial.body && reader.is_set("content_type")) {
    mistakes.add(reader.place_of("content_type"), "'content_type' is that of a 'body'; add one");
  }
  const auto headers = reader.get<const YamlNode*>("header");
  if (!headers) return;
  for_each_section(**headers, deny_header_section(), mistakes,
                   [&](SectionReader& item) { read_deny_header(item, denial, mistakes); });
}

void read_tiers(const SectionReader& reader, Rule& rule, Mistakes& mistakes) {
  if (const auto part = reader.get<std::string>("tier")) rule.tier = parse_key_part(*part);
  if (const auto tiers = reader.get<const YamlNode*>("tiers")) {
    read_named_limits(**tiers, tier_section(), "name", rule, rule.tiers, mistakes);
  } else if (rule.tier) {
    mistakes.add(reader.place_of("tier"),
                 "'tier' says which of the 'tiers' a request belongs "
                 "to; add them, or remove it");
  }
  if (const auto overrides = reader.get<const YamlNode*>("overrides")) {
    read_named_limits(**overrides, override_section(), "key", rule, rule.overrides, mistakes);
  }
}

}  // namespace

void read_effects(SectionReader& reader, Rule& rule, Mistakes& mistakes) {
  auto limits = read_limits(reader, QuotaSpec().algorithm, mistakes);
  if (!limits.empty()) rule.quota = limits.front();
  if (limits.size() > 1) rule.limits = std::move(limits);
  read_tiers(reader, rule, mistakes);
  rule.allow = read_key_list(reader, "allow");
  rule.deny = read_key_list(reader, "deny");
  read_cost(reader, rule, mistakes);
  if (const auto denial = reader.get<const YamlNode*>("on_deny")) {
    read_denial(**denial, rule.denial, mistakes);
  }
}

}  // namespace weir
