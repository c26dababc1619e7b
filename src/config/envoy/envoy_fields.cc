#include "config/envoy/envoy_fields.h"

#include <limits>

#include "weir/quota.h"

namespace weir {
namespace {

using Presence = Field::Presence;

// Numbers are texts here: the reference service reads `key: 1` as "1".
constexpr Field kReplaceFields[] = {
    {.name = "name",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .description = "The name of the limit that does not count if this one matches."},
};

constexpr Section kReplace = {
    .name = "an item of 'replaces'",
    .description = "A limit that is replaced.",
    .fields = kReplaceFields,
};

constexpr Field kRateLimitFields[] = {
    {.name = "unit",
     .type = FieldType::kText,
     .description = "second, minute, hour, day, week, month or year, in any case."},
    {.name = "requests_per_unit",
     .type = FieldType::kInteger,
     .min = 0,
     .max = std::numeric_limits<std::uint32_t>::max(),
     .description = "How many requests. 0 denies all."},
    {.name = "unlimited", .type = FieldType::kBoolean, .description = "Never counts or denies."},
    {.name = "name", .type = FieldType::kText, .description = "What answers call the limit."},
    {.name = "replaces",
     .type = FieldType::kSectionList,
     .section = &kReplace,
     .description = "The limits that do not count if this one matches."},
};

constexpr Section kRateLimit = {
    .name = "'rate_limit'",
    .description = "A limit.",
    .fields = kRateLimitFields,
};

extern const Section kDescriptor;  // holds itself

const Field kDescriptorFields[] = {
    {.name = "key",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .description = "The key of the entry."},
    {.name = "value",
     .type = FieldType::kText,
     .description = "Its value, with '*' for any bytes."},
    {.name = "rate_limit",
     .type = FieldType::kSection,
     .section = &kRateLimit,
     .description = "The limit of a descriptor that ends here."},
    {.name = "descriptors",
     .type = FieldType::kSectionList,
     .section = &kDescriptor,
     .description = "The entries that may follow."},
    {.name = "shadow_mode", .type = FieldType::kBoolean, .description = "Counts, never denies."},
    {.name = "quota_mode",
     .type = FieldType::kBoolean,
     .description = "Denies only if all of quota_mode do."},
    {.name = "detailed_metric",
     .type = FieldType::kBoolean,
     .description = "Metrics show the values of the request."},
    {.name = "value_to_metric",
     .type = FieldType::kBoolean,
     .description = "Metrics show the value of this entry."},
    {.name = "share_threshold",
     .type = FieldType::kBoolean,
     .description = "All values that match share one counter."},
    {.name = "metadata", .type = FieldType::kTree, .description = "Told to Envoy."},
    {.name = "algorithm",
     .type = FieldType::kChoice,
     .choices = algorithm_names(),
     .description = "Weir's own: how the limit is read."},
    {.name = "window",
     .type = FieldType::kDuration,
     .min = kWindowMin.count(),
     .max = kWindowMax.count(),
     .description = "Weir's own: the window, instead of rate_limit.unit."},
    {.name = "burst",
     .type = FieldType::kInteger,
     .min = 1,
     .max = kLimitMax,
     .description = "Weir's own, for token_bucket: the most that can be spent at once."},
};

const Section kDescriptor = {
    .name = "a descriptor",
    .description = "One entry of a descriptor.",
    .fields = kDescriptorFields,
};

const Field kFileFields[] = {
    {.name = "domain",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .form = &kNotEmpty,
     .description = "The domain of the rate limit filter."},
    {.name = "descriptors",
     .type = FieldType::kSectionList,
     .section = &kDescriptor,
     .description = "The entries a descriptor may begin with."},
};

const Section kFile = {
    .name = "the top level",
    .description = "Limits of one domain.",
    .fields = kFileFields,
};

}  // namespace

const Section& envoy_file_section() { return kFile; }
const Section& envoy_descriptor_section() { return kDescriptor; }
const Section& envoy_rate_limit_section() { return kRateLimit; }
const Section& envoy_replace_section() { return kReplace; }

}  // namespace weir
