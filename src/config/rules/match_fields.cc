// The fields of a rule's `match`: its conditions on requests.

#include "config/fields/fields.h"
#include "rules/request_match.h"

namespace weir {
namespace {

constexpr TextForm kMethod = {"^[A-Z][A-Z0-9_-]*$", "a method in capital letters, such as GET"};
constexpr TextForm kHost = {
    "^[a-z0-9_.*-]+$",
    "a host name in small letters without a port, such as www.example.com or *.example.com"};
constexpr TextForm kPath = {
    "^[/*][^?#]*$",
    "a path that begins with '/' or '*' and has no query, such as /login or /api/*"};
constexpr TextForm kPropertyName = {"^[!-~]+$", "a name of visible ASCII characters"};
constexpr TextForm kCountry = {"^[A-Z][A-Z0-9]$", "the two letters of a country, such as DE"};
constexpr TextForm kRegex = {"^[^\\x00]+$",
                             "an expression for the whole path, such as /users/[0-9]+"};

constexpr Field kValue =
    row::text<&PropertyMatch::value>("value", kAnyText,
                                     "Its value; '*' stands for any bytes. Without it, any value.")
        .defaults_to("*");

constexpr Field kHeaderMatchFields[] = {
    row::text<&PropertyMatch::name>("name", &kHeaderNameForm,
                                    "The name of the header, in any case.")
        .required(),
    kValue,
};

constexpr Section kHeaderMatch = {"a header of 'match'", "A header that the request must have.",
                                  kHeaderMatchFields};

constexpr Field kNamedMatchFields[] = {
    row::text<&PropertyMatch::name>("name", &kPropertyName, "The name, as it is.").required(),
    kValue,
};

constexpr Section kNamedMatch = {"a parameter or cookie of 'match'",
                                 "A parameter or cookie that the request must have.",
                                 kNamedMatchFields};

constexpr Field kClaimMatchFields[] = {
    row::text<&PropertyMatch::name>("claim", &kPropertyName, "The name of the claim.").required(),
    row::text<&PropertyMatch::value>(
        "value", kAnyText,
        "Its value, or of a list one of its items; '*' stands for any bytes. Without it, any "
        "value.")
        .defaults_to("*"),
    row::boolean("unverified",
                 "Whether the claim counts without the token being verified. Then anybody can make "
                 "one that says so."),
};

constexpr Section kClaimMatch = {"a claim of 'match'",
                                 "A claim that the request's token must make.", kClaimMatchFields};

constexpr Field kMatchFields[] = {
    row::texts<&RequestMatch::methods>("method", &kMethod,
                                       "The method, or several of which one must fit."),
    row::texts<&RequestMatch::hosts>("host", &kHost,
                                     "The host, or several; '*' stands for any bytes."),
    row::texts<&RequestMatch::paths>(
        "path", &kPath,
        "The path without its query, or several; '*' stands for any bytes, slashes included."),
    row::choice<&RequestMatch::path_case>(
        "case", kPathCaseNames,
        "Whether 'path' is compared in the case that it is written in, or in any: as origins do "
        "that answer /Login as /login.")
        .defaults_to("sensitive"),
    row::choice<&RequestMatch::trailing_slash>(
        "trailing_slash", kTrailingSlashNames,
        "Whether a path with a slash at its end is another one for 'path', or the same: as for "
        "origins that answer /login/ as /login.")
        .defaults_to("distinct"),
    row::texts("path_regex", &kRegex,
               "An expression in the syntax of RE2 for the whole path, or several."),
    row::sections("query", kNamedMatch,
                  "Parameters of the query, decoded, that must all be there."),
    row::sections("header", kHeaderMatch, "Headers that must all be there."),
    row::sections("cookie", kNamedMatch, "Cookies that must all be there."),
    row::sections("jwt", kClaimMatch, "Claims that the request's token must all make."),
    row::texts<&RequestMatch::countries>(
        "country", &kCountry,
        "The country of the client, or several. Needs country_header or country_database."),
    row::texts("client", &kNetworkForm,
               "The networks of which one must hold the client's address."),
    row::sections("all", kMatchSection, "Maps like this one, all of which must hold."),
    row::sections("any", kMatchSection, "Maps like this one, of which one must hold."),
    row::section("not", kMatchSection, "A map like this one, which must not hold."),
};

}  // namespace

constexpr Section kMatchSection = {"'match'",
                                   "How a request must look. All fields must hold; without any, "
                                   "the match holds for every request.",
                                   kMatchFields};

}  // namespace weir
