// The fields of what a rule applies to: the part of the table in config_fields.h that is
// about requests and schedules.

#include "config/config_fields.h"

namespace weir {
namespace {

using Presence = Field::Presence;

constexpr TextForm kMethod = {
    .pattern = "^[A-Z][A-Z0-9_-]*$",
    .expected = "a method in capital letters, such as GET",
};
constexpr TextForm kHost = {
    .pattern = "^[a-z0-9_.*-]+$",
    .expected =
        "a host name in small letters without a port, such as www.example.com or "
        "*.example.com",
};
constexpr TextForm kPath = {
    .pattern = "^[/*][^?#]*$",
    .expected = "a path that begins with '/' or '*' and has no query, such as /login or /api/*",
};
constexpr TextForm kHeaderName = {
    .pattern = kHeaderNamePattern,
    .expected = "the name of a header, such as X-Api-Key",
};
constexpr TextForm kPropertyName = {
    .pattern = "^[!-~]+$",
    .expected = "a name of visible ASCII characters",
};
constexpr TextForm kCountry = {
    .pattern = "^[A-Z][A-Z0-9]$",
    .expected = "the two letters of a country, such as DE",
};
constexpr TextForm kRegex = {
    .pattern = "^[^\\x00]+$",
    .expected = "an expression for the whole path, such as /users/[0-9]+",
};
constexpr TextForm kDays = {
    .pattern = "^(mon|tue|wed|thu|fri|sat|sun)(-(mon|tue|wed|thu|fri|sat|sun))?$",
    .expected = "a day such as mon, or days such as mon-fri",
};
constexpr TextForm kTimeOfDay = {
    .pattern = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$",
    .expected = "a time of day in quotes, such as \"08:00\"",
};
constexpr TextForm kZone = {
    .pattern = "^[A-Za-z0-9_+/-]+$",
    .expected = "the name of a time zone, such as Europe/Berlin",
};

constexpr Field kValue = {
    .name = "value",
    .type = FieldType::kText,
    .default_text = "*",
    .description = "Its value; '*' stands for any bytes. Without it, any value."};

constexpr Field kHeaderMatchFields[] = {
    {.name = "name",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .form = &kHeaderName,
     .description = "The name of the header, in any case."},
    kValue,
};

constexpr Section kHeaderMatch = {
    .name = "a header of 'match'",
    .description = "A header that the request must have.",
    .fields = kHeaderMatchFields,
};

constexpr Field kNamedMatchFields[] = {
    {.name = "name",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .form = &kPropertyName,
     .description = "The name, as it is."},
    kValue,
};

constexpr Section kNamedMatch = {
    .name = "a parameter or cookie of 'match'",
    .description = "A parameter or cookie that the request must have.",
    .fields = kNamedMatchFields,
};

constexpr Field kClaimMatchFields[] = {
    {.name = "claim",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .form = &kPropertyName,
     .description = "The name of the claim."},
    {.name = "value",
     .type = FieldType::kText,
     .default_text = "*",
     .description = "Its value, or of a list one of its items; '*' stands for any bytes. "
                    "Without it, any value."},
    {.name = "unverified",
     .type = FieldType::kBoolean,
     .default_text = "false",
     .description = "Whether the claim counts without the token being verified. Then anybody "
                    "can make one that says so."},
};

constexpr Section kClaimMatch = {
    .name = "a claim of 'match'",
    .description = "A claim that the request's token must make.",
    .fields = kClaimMatchFields,
};

extern const Section kMatch;

const Field kMatchFields[] = {
    {.name = "method",
     .type = FieldType::kTextList,
     .form = &kMethod,
     .description = "The method, or several of which one must fit."},
    {.name = "host",
     .type = FieldType::kTextList,
     .form = &kHost,
     .description = "The host, or several; '*' stands for any bytes."},
    {.name = "path",
     .type = FieldType::kTextList,
     .form = &kPath,
     .description = "The path without its query, or several; '*' stands for any bytes, "
                    "slashes included."},
    {.name = "path_regex",
     .type = FieldType::kTextList,
     .form = &kRegex,
     .description = "An expression in the syntax of RE2 for the whole path, or several."},
    {.name = "query",
     .type = FieldType::kSectionList,
     .section = &kNamedMatch,
     .description = "Parameters of the query, decoded, that must all be there."},
    {.name = "header",
     .type = FieldType::kSectionList,
     .section = &kHeaderMatch,
     .description = "Headers that must all be there."},
    {.name = "cookie",
     .type = FieldType::kSectionList,
     .section = &kNamedMatch,
     .description = "Cookies that must all be there."},
    {.name = "jwt",
     .type = FieldType::kSectionList,
     .section = &kClaimMatch,
     .description = "Claims that the request's token must all make."},
    {.name = "country",
     .type = FieldType::kTextList,
     .form = &kCountry,
     .description = "The country of the client, or several. Needs country_header or "
                    "country_database."},
    {.name = "client",
     .type = FieldType::kTextList,
     .form = &network_form(),
     .description = "The networks of which one must hold the client's address."},
    {.name = "all",
     .type = FieldType::kSectionList,
     .section = &kMatch,
     .description = "Maps like this one, all of which must hold."},
    {.name = "any",
     .type = FieldType::kSectionList,
     .section = &kMatch,
     .description = "Maps like this one, of which one must hold."},
    {.name = "not",
     .type = FieldType::kSection,
     .section = &kMatch,
     .description = "A map like this one, which must not hold."},
};

const Section kMatch = {
    .name = "'match'",
    .description =
        "How a request must look. All fields must hold; without any, the match holds "
        "for every request.",
    .fields = kMatchFields,
};

constexpr Field kActiveFields[] = {
    {.name = "days",
     .type = FieldType::kTextList,
     .form = &kDays,
     .description = "The days: mon, or mon-fri, or a list of such. Without it, all."},
    {.name = "from",
     .type = FieldType::kText,
     .form = &kTimeOfDay,
     .default_text = "00:00",
     .description = "When it begins, in quotes."},
    {.name = "to",
     .type = FieldType::kText,
     .form = &kTimeOfDay,
     .default_text = "24:00",
     .description = "When it ends, in quotes; if that is before 'from', on the next day."},
    {.name = "zone",
     .type = FieldType::kText,
     .form = &kZone,
     .default_text = "UTC",
     .description = "The time zone, such as Europe/Berlin."},
};

constexpr Section kActive = {
    .name = "'active'",
    .description = "Hours of the week, by the clocks of a time zone.",
    .fields = kActiveFields,
};

}  // namespace

const TextForm& header_name_form() { return kHeaderName; }
const Section& match_section() { return kMatch; }
const Section& header_match_section() { return kHeaderMatch; }
const Section& named_match_section() { return kNamedMatch; }
const Section& claim_match_section() { return kClaimMatch; }
const Section& active_section() { return kActive; }

}  // namespace weir
