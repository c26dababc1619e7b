// The fields of a rule: the part of the table in config_fields.h that is about matching.

#include <array>

#include "config/config_fields.h"
#include "rules/mode.h"
#include "weir/quota.h"

namespace weir {
namespace {

using Presence = Field::Presence;

// In the order of weir::Algorithm.
constexpr std::array<std::string_view, kAlgorithmCount> kAlgorithms = {
    "fixed_window", "sliding_log", "sliding_window", "token_bucket", "exponential_backoff",
};

constexpr TextForm kNetwork = {
    .pattern = "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$",
    .expected = "a network such as 192.0.2.0/24 or 2001:db8::/32, or an address",
};
constexpr TextForm kKeyPart = {
    .pattern =
        "^(client(/([0-9]|[12][0-9]|3[0-2])/([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))?"
        "|method|host|path|country|header:[A-Za-z0-9!#$%&'*+.^_`|~-]+"
        "|(query|cookie|jwt):[!-~]+)$",
    .expected =
        "client, client/24/48 (the bits that count of IPv4 and IPv6 addresses), method, "
        "host, path, country, header:NAME, query:NAME, cookie:NAME or jwt:CLAIM",
};

constexpr Field kDescriptorEntryFields[] = {
    {.name = "key",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .form = &kNotEmpty,
     .description = "The key of the entry."},
    {.name = "value",
     .type = FieldType::kText,
     .description = "Its value; '*' stands for any bytes. Without it, any value. A value that "
                    "is left open is part of the counter's key."},
    {.name = "share_threshold",
     .type = FieldType::kBoolean,
     .default_text = "false",
     .description = "Only for a value with '*': all values that match share one counter."},
};

constexpr Section kDescriptorEntry = {
    .name = "an entry of 'descriptor'",
    .description = "One entry of Envoy's descriptor.",
    .fields = kDescriptorEntryFields,
};

constexpr Field kDescriptorMatchFields[] = {
    {.name = "domain",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .form = &kNotEmpty,
     .description = "The domain of Envoy's rate limit filter."},
    {.name = "entries",
     .type = FieldType::kSectionList,
     .presence = Presence::kRequired,
     .section = &kDescriptorEntry,
     .description = "The entries of the descriptor, all of them and in this order."},
};

constexpr Section kDescriptorMatch = {
    .name = "'descriptor'",
    .description = "Which descriptors of Envoy's rate limit filter the rule is for.",
    .fields = kDescriptorMatchFields,
};

constexpr TextForm kRuleName = {
    .pattern = "^[^\\x00-\\x1f\\x7f]{1,100}$",
    .expected = "1 to 100 characters in one line",
};

const Field kRuleFields[] = {
    {.name = "id",
     .type = FieldType::kName,
     .presence = Presence::kRequired,
     .description = "The name of the rule, by which requests, metrics and logs refer to it. "
                    "Unique in the file. Counters belong to it: a renamed rule starts anew."},
    {.name = "name",
     .type = FieldType::kText,
     .form = &kRuleName,
     .description = "What people call the rule, on pages and in documents."},
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
    {.name = "shadow",
     .type = FieldType::kBoolean,
     .default_text = "false",
     .description = "Whether the rule only counts and reports, but never denies a request or "
                    "descriptor that it has matched."},
    {.name = "mode",
     .type = FieldType::kChoice,
     .choices = kModeNames,
     .description = "How the nodes that share a store agree: local (each counts for itself), "
                    "async (each counts and tells the others), leased (each spends what it has "
                    "been given) or strict (the store decides). Without it, the node's mode. "
                    "Without a store, every rule is local."},
    {.name = "on_store_failure",
     .type = FieldType::kChoice,
     .choices = kOnStoreFailureNames,
     .default_text = "local",
     .description = "What happens while the shared store does not answer: local (this node "
                    "decides by its share of the limit), allow or deny."},
    {.name = "on_full",
     .type = FieldType::kChoice,
     .choices = kOnFullNames,
     .default_text = "allow",
     .description = "What happens to a new key when memory could count it only by forgetting a "
                    "key that has nothing left of its limit: allow (the new key is counted in "
                    "its place) or deny (the new key is denied, and nobody is forgotten)."},
    {.name = "group",
     .type = FieldType::kName,
     .description = "In each group, the first rule that matches a request applies. "
                    "Without it, the group of all rules that have none. At most 16 groups."},
    {.name = "active",
     .type = FieldType::kSection,
     .section = &active_section(),
     .description = "The hours of the week in which the rule is in force. Without it, always. "
                    "Outside of them it is as if disabled."},
    {.name = "match",
     .type = FieldType::kSection,
     .section = &match_section(),
     .description = "Which requests of proxies (/auth) the rule is for. Without it, and without "
                    "'descriptor', the rule applies where it is named. {} is every request."},
    {.name = "key",
     .type = FieldType::kTextList,
     .form = &kKeyPart,
     .description = "What of a matched request has its own counter: client, method, host, path, "
                    "header:NAME, or several. client/24/48 counts IPv4 addresses by their "
                    "first 24 bits and IPv6 addresses by 48; client alone is client/32/64. "
                    "Without it, all requests share one counter."},
    {.name = "descriptor",
     .type = FieldType::kSection,
     .section = &kDescriptorMatch,
     .description = "Which descriptors of Envoy's rate limit filter the rule is for."},
    {.name = "more_limits",
     .type = FieldType::kSectionList,
     .section = &more_limits_section(),
     .description = "Further limits, all of which hold: a denial by one charges none. At most 8 "
                    "limits, no two with the same algorithm and window."},
    {.name = "tier",
     .type = FieldType::kText,
     .form = &kKeyPart,
     .description = "What of a matched request names its tier: header:X-Plan, for one."},
    {.name = "tiers",
     .type = FieldType::kSectionList,
     .section = &tier_section(),
     .description = "Limits of tiers, instead of the rule's own. Keys of no tier have the "
                    "rule's own."},
    {.name = "overrides",
     .type = FieldType::kSectionList,
     .section = &override_section(),
     .description = "Limits of named keys, instead of all others."},
    {.name = "allow",
     .type = FieldType::kTextList,
     .description = "Keys, and networks of clients, that pass without being counted."},
    {.name = "deny",
     .type = FieldType::kTextList,
     .description = "Keys, and networks of clients, that are denied without being counted. "
                    "Wins over 'allow'."},
    {.name = "cost",
     .type = FieldType::kText,
     .default_text = "1",
     .description = "The units that a matched request spends: a number, or a property that "
                    "holds one, such as header:X-Cost; 1 where it holds none."},
    {.name = "on_deny",
     .type = FieldType::kSection,
     .section = &on_deny_section(),
     .description = "What a denial brings beside itself: blocks, and the answer of HTTP doors."},
};

const Section kRule = {
    .name = "a rule",
    .description = "One quota, the name it goes by, and what it applies to.",
    .fields = kRuleFields,
};

}  // namespace

std::span<const std::string_view> algorithm_names() { return kAlgorithms; }
const TextForm& network_form() { return kNetwork; }

const Section& rule_section() { return kRule; }
const Section& descriptor_match_section() { return kDescriptorMatch; }
const Section& descriptor_entry_section() { return kDescriptorEntry; }

}  // namespace weir
