#include "config/envoy/envoy_fields.h"

#include <limits>

#include "rules/rule.h"

namespace weir {
namespace {

// Numbers are texts here: the reference service reads `key: 1` as "1".
constexpr Field kReplaceFields[] = {
    row::text("name", kAnyText, "The name of the limit that does not count if this one matches.")
        .required(),
};

constexpr Section kReplace = {"an item of 'replaces'", "A limit that is replaced.", kReplaceFields};

constexpr Field kRateLimitFields[] = {
    row::text("unit", kAnyText, "second, minute, hour, day, week, month or year, in any case."),
    row::integer<&QuotaSpec::limit>("requests_per_unit",
                                    {0, std::numeric_limits<std::uint32_t>::max()},
                                    "How many requests. 0 denies all."),
    row::boolean("unlimited", "Never counts or denies."),
    row::text<&DescriptorPolicy::name>("name", kAnyText, "What answers call the limit."),
    row::sections("replaces", kReplace, "The limits that do not count if this one matches."),
};

constexpr Section kRateLimit = {"'rate_limit'", "A limit.", kRateLimitFields};

constexpr Field kDescriptorFields[] = {
    row::text<&DescriptorEntry::key>("key", kAnyText, "The key of the entry.").required(),
    row::text<&DescriptorEntry::value>("value", kAnyText, "Its value, with '*' for any bytes."),
    row::section("rate_limit", kRateLimit, "The limit of a descriptor that ends here."),
    row::sections("descriptors", kEnvoyDescriptorSection, "The entries that may follow."),
    row::boolean<&Rule::shadow>("shadow_mode", "Counts, never denies."),
    row::boolean<&DescriptorPolicy::quota_mode>("quota_mode",
                                                "Denies only if all of quota_mode do."),
    row::boolean<&DescriptorPolicy::detailed_metric>("detailed_metric",
                                                     "Metrics show the values of the request."),
    row::boolean<&DescriptorPolicy::value_to_metric>("value_to_metric",
                                                     "Metrics show the value of this entry."),
    row::boolean<&DescriptorEntry::shares>("share_threshold",
                                           "All values that match share one counter."),
    row::tree("metadata", "What answers pass on to Envoy."),
    row::choice<&QuotaSpec::algorithm>("algorithm", kAlgorithmNames,
                                       "Weir's own: how the limit is read."),
    row::duration<&QuotaSpec::window>("window", kWindowRange,
                                      "Weir's own: the window, instead of rate_limit.unit."),
    row::integer<&QuotaSpec::burst>(
        "burst", {1, kLimitMax},
        "Weir's own, for token_bucket: the most that can be spent at once."),
    row::boolean("overdraft",
                 "Weir's own: whether hits count whether or not they fit. Without it, those of a "
                 "fixed window do, and of another algorithm more than one at a time."),
};

}  // namespace

constexpr Section kEnvoyDescriptorSection = {"a descriptor", "One entry of a descriptor.",
                                             kDescriptorFields};

namespace {

constexpr Field kFileFields[] = {
    row::text("domain", &kNotEmpty, "The domain of the rate limit filter.").required(),
    row::sections("descriptors", kEnvoyDescriptorSection,
                  "The entries a descriptor may begin with."),
};

}  // namespace

constexpr Section kEnvoyFileSection = {"the top level", "Limits of one domain.", kFileFields};

}  // namespace weir
