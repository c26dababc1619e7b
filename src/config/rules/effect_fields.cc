// The fields of a rule that say what it does: the part of the table in config_fields.h
// that is about limits, tiers, lists and denials.

#include "config/config_fields.h"
#include "weir/quota.h"

namespace weir {
namespace {

using Presence = Field::Presence;

constexpr Field kAlgorithm = {.name = "algorithm",
                              .type = FieldType::kChoice,
                              .description =
                                  "How limit and window are read. Without it, as the "
                                  "rule's own."};

constexpr Field kLimit = {.name = "limit",
                          .type = FieldType::kInteger,
                          .presence = Presence::kRequired,
                          .min = 0,
                          .max = kLimitMax,
                          .description = "How many units a key may spend in a window."};

constexpr Field kWindow = {.name = "window",
                           .type = FieldType::kDuration,
                           .presence = Presence::kRequired,
                           .min = kWindowMin.count(),
                           .max = kWindowMax.count(),
                           .description = "The length of the window."};

constexpr Field kBurst = {.name = "burst",
                          .type = FieldType::kInteger,
                          .min = 1,
                          .max = kLimitMax,
                          .description =
                              "Only for token_bucket: the most that can be spent at "
                              "once. Without it, the limit."};

Field with_algorithms(Field field) {
  field.choices = algorithm_names();
  return field;
}

const Field kMoreLimitsFields[] = {kLimit, kWindow, with_algorithms(kAlgorithm), kBurst};

const Section kMoreLimits = {
    .name = "an item of 'more_limits'",
    .description = "A limit beside the first.",
    .fields = kMoreLimitsFields,
};

const Field kTierFields[] = {
    {.name = "name",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .description = "The name of the tier, as the property has it."},
    kLimit,
    kWindow,
    with_algorithms(kAlgorithm),
    kBurst,
    {.name = "more_limits",
     .type = FieldType::kSectionList,
     .section = &kMoreLimits,
     .description = "Further limits of the tier, all of which hold."},
};

const Section kTier = {
    .name = "a tier",
    .description = "The limits of those who belong to a tier.",
    .fields = kTierFields,
};

const Field kOverrideFields[] = {
    {.name = "key",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .description = "The key it is for."},
    kLimit,
    kWindow,
    with_algorithms(kAlgorithm),
    kBurst,
    {.name = "more_limits",
     .type = FieldType::kSectionList,
     .section = &kMoreLimits,
     .description = "Further limits of the key, all of which hold."},
};

const Section kOverride = {
    .name = "an override",
    .description = "The limits of one key.",
    .fields = kOverrideFields,
};

constexpr TextForm kHeaderField = {
    .pattern = kHeaderNamePattern,
    .expected = "the name of a header, such as Cache-Control",
};
constexpr TextForm kHeaderText = {
    .pattern = "^[\\x20-\\x7e]*$",
    .expected = "a line of visible ASCII characters and blanks",
};

constexpr Field kDenyHeaderFields[] = {
    {.name = "name",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .form = &kHeaderField,
     .description = "The name of the header."},
    {.name = "value",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .form = &kHeaderText,
     .description = "Its value; {{key}} and the like stand for what the denial is about."},
};

constexpr Section kDenyHeader = {
    .name = "a header of 'on_deny'",
    .description = "A header of the answer.",
    .fields = kDenyHeaderFields,
};

const Field kOnDenyFields[] = {
    {.name = "block",
     .type = FieldType::kTextList,
     .description = "How long a key that is denied is blocked: then it is denied without being "
                    "counted. Several durations: the first block, the second, and so on."},
    {.name = "block_after",
     .type = FieldType::kInteger,
     .min = 1,
     .max = 1000,
     .default_text = "1",
     .description = "How many denials within block_window lead to a block."},
    {.name = "block_window",
     .type = FieldType::kDuration,
     .min = kWindowMin.count(),
     .max = kWindowMax.count(),
     .default_text = "1m",
     .description = "The time in which denials are counted for block_after."},
    {.name = "block_memory",
     .type = FieldType::kDuration,
     .min = kWindowMin.count(),
     .max = kWindowMax.count(),
     .default_text = "1d",
     .description = "How long a block that has ended counts for the length of the next, at "
                    "least."},
    {.name = "status",
     .type = FieldType::kInteger,
     .min = 400,
     .max = 599,
     .description = "The status of the answer, where the door is HTTP and its proxy does not "
                    "want another. Without it, 429."},
    {.name = "content_type",
     .type = FieldType::kText,
     .form = &kHeaderText,
     .description = "The content type of the body: says how what is filled in is escaped."},
    {.name = "body",
     .type = FieldType::kText,
     .description = "The body of the answer; {{key}}, {{retry_after}} and the like stand for "
                    "what the denial is about."},
    {.name = "header",
     .type = FieldType::kSectionList,
     .section = &kDenyHeader,
     .description = "Headers of the answer beside those about the limit."},
};

const Section kOnDeny = {
    .name = "'on_deny'",
    .description = "What a denial brings beside itself.",
    .fields = kOnDenyFields,
};

}  // namespace

const Section& more_limits_section() { return kMoreLimits; }
const Section& tier_section() { return kTier; }
const Section& override_section() { return kOverride; }
const Section& on_deny_section() { return kOnDeny; }
const Section& deny_header_section() { return kDenyHeader; }

}  // namespace weir
