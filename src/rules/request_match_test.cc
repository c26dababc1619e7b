#include "rules/request_match.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

RequestMatch path_is(const char* path) {
  RequestMatch match;
  match.paths.emplace_back(path);
  return match;
}

RequestMatch method_is(const char* method) { return {.methods = {method}}; }

bool holds_for(const RequestMatch& match, const Request& request) {
  return holds(match, request, {});
}

const Request kGetA{.method = "GET", .path = "/a"};
const Request kPostA{.method = "POST", .path = "/a"};
const Request kGetB{.method = "GET", .path = "/b"};
const Request kPostB{.method = "POST", .path = "/b"};

TEST(RequestMatch, KnowsThatItHasConditions) {
  const auto has_one = [](auto member, auto condition) {
    RequestMatch match;
    (match.*member).push_back(condition);
    return has_conditions(match);
  };
  const PropertyMatch property{"a", TextPattern("*")};
  EXPECT_FALSE(has_conditions({}));
  EXPECT_TRUE(has_one(&RequestMatch::methods, "GET"));
  EXPECT_TRUE(has_one(&RequestMatch::hosts, TextPattern("a")));
  EXPECT_TRUE(has_one(&RequestMatch::paths, TextPattern("/")));
  EXPECT_TRUE(has_one(&RequestMatch::path_regexes, PathRegex{"/"}));
  EXPECT_TRUE(has_one(&RequestMatch::headers, property));
  EXPECT_TRUE(has_one(&RequestMatch::parameters, property));
  EXPECT_TRUE(has_one(&RequestMatch::cookies, property));
  EXPECT_TRUE(has_one(&RequestMatch::claims, property));
  EXPECT_TRUE(has_one(&RequestMatch::unverified_claims, property));
  EXPECT_TRUE(has_one(&RequestMatch::countries, "FR"));
  EXPECT_TRUE(has_one(&RequestMatch::clients, IpPrefix()));
  EXPECT_TRUE(has_one(&RequestMatch::all_of, RequestMatch()));
  EXPECT_TRUE(has_one(&RequestMatch::any_of, RequestMatch()));
  EXPECT_TRUE(has_one(&RequestMatch::none_of, RequestMatch()));
}

TEST(RequestMatch, AllAnyAndNotCombine) {
  const RequestMatch both{.all_of = {path_is("/a"), method_is("GET")}};
  EXPECT_TRUE(holds_for(both, kGetA));
  EXPECT_FALSE(holds_for(both, kPostA));
  EXPECT_FALSE(holds_for(both, kGetB));

  const RequestMatch either{.any_of = {path_is("/a"), method_is("GET")}};
  EXPECT_TRUE(holds_for(either, kPostA));
  EXPECT_TRUE(holds_for(either, kGetB));
  EXPECT_FALSE(holds_for(either, kPostB));

  RequestMatch get_a = path_is("/a");
  get_a.methods = {"GET"};
  const RequestMatch all_but{.none_of = {get_a}};
  EXPECT_FALSE(holds_for(all_but, kGetA));
  EXPECT_TRUE(holds_for(all_but, kPostA));
  EXPECT_TRUE(holds_for(all_but, kGetB));

  RequestMatch get_but_a = method_is("GET");
  get_but_a.any_of = {{.none_of = {path_is("/a")}}};
  EXPECT_TRUE(holds_for(get_but_a, kGetB));
  EXPECT_FALSE(holds_for(get_but_a, kGetA));
  EXPECT_FALSE(holds_for(get_but_a, kPostB));
}

TEST(RequestMatch, OfAPropertyAnyValueCounts) {
  const std::vector<NameValue> values = {{"plan", "free"}, {"id", "7"}, {"plan", "gold"}};
  const Request request{.parameters = values, .cookies = {}};
  const auto wants = [](const char* name, const char* value) {
    return std::vector<PropertyMatch>{{name, TextPattern(value)}};
  };
  EXPECT_TRUE(holds_for({.parameters = wants("plan", "gold")}, request));
  EXPECT_TRUE(holds_for({.parameters = wants("plan", "fr*")}, request));
  EXPECT_TRUE(holds_for({.parameters = wants("id", "*")}, request));
  EXPECT_FALSE(holds_for({.parameters = wants("id", "8")}, request));
  EXPECT_FALSE(holds_for({.parameters = wants("PLAN", "*")}, request));
  EXPECT_FALSE(holds_for({.cookies = wants("plan", "*")}, request));
  EXPECT_TRUE(holds_for({.claims = wants("plan", "gold")}, {.claims = values}));
  EXPECT_FALSE(holds_for({.claims = wants("plan", "gold")}, {.unverified_claims = values}));
  EXPECT_TRUE(holds_for({.unverified_claims = wants("id", "7")}, {.unverified_claims = values}));
}

// Regression: a proxy that joined the two lines hid the second from the rules.
TEST(RequestMatch, ALineThatJoinsSeveralIsAsGoodAsThey) {
  const auto holds_in = [](const char* name, const char* line, const char* value) {
    const std::vector<NameValue> headers = {{name, line}};
    return holds_for({.headers = {{name, TextPattern(value)}}}, {.headers = headers});
  };
  EXPECT_TRUE(holds_in("X-App", "other, web", "web"));
  EXPECT_TRUE(holds_in("X-App", "other,web ,", "web"));
  EXPECT_TRUE(holds_in("X-App", "\"other, web", "web")) << "half a pair of quotes";
  EXPECT_TRUE(holds_in("X-App", "other, web", "other, web"));
  EXPECT_FALSE(holds_in("X-App", "other web", "web"));
  EXPECT_FALSE(holds_in("User-Agent", "curl, web", "web"));
  EXPECT_FALSE(holds_in("user-agent", "curl, web", "curl"));
}

// Regression: two lines "a" and "web" were not "a, web", and "a,web" was not, either.
TEST(RequestMatch, AListIsTheSameInOneLineAndInSeveral) {
  const auto holds_in = [](std::vector<const char*> lines, const char* value) {
    std::vector<NameValue> headers;
    for (const char* line : lines) headers.push_back({"X-App", line});
    return holds_for({.headers = {{"X-App", TextPattern(value)}}}, {.headers = headers});
  };
  for (const auto& lines : {std::vector{"a, web"}, {"a,web"}, {"a", "web"}}) {
    EXPECT_TRUE(holds_in(lines, "a, web"));
    EXPECT_TRUE(holds_in(lines, "a*b"));
    EXPECT_FALSE(holds_in(lines, "a, we"));
  }
  EXPECT_FALSE(holds_in({"web", "a"}, "a, web"));
}

TEST(RequestMatch, ACountryIsOneOfTheList) {
  const RequestMatch match{.countries = {"DE", "FR"}};
  EXPECT_TRUE(holds_for(match, {.country = "FR"}));
  EXPECT_TRUE(holds_for(match, {.country = "de"}));
  EXPECT_FALSE(holds_for(match, {.country = "US"}));
  EXPECT_FALSE(holds_for(match, {}));
}

TEST(RequestMatch, NamesTheFirstConditionThatFails) {
  constexpr std::array kHeaders = {NameValue{.name = "X-A", .value = "1"}};
  const Request request{.method = "GET", .host = "h", .path = "/x", .headers = kHeaders};
  const auto failed = [&](const RequestMatch& match) {
    const auto name = failed_condition(match, request, {});
    EXPECT_EQ(name.empty(), holds(match, request, {}));
    return name;
  };
  RequestMatch right;
  right.methods = {"GET"};
  right.hosts = {TextPattern("h")};
  right.paths = {TextPattern("/*")};
  right.headers = {{.name = "x-a", .value = TextPattern("*")}};
  EXPECT_EQ(failed({}), "");
  EXPECT_EQ(failed(right), "");
  const auto with = [&](auto member, auto value) {
    RequestMatch match = right;
    match.*member = {std::move(value)};
    return match;
  };
  const PropertyMatch missing{.name = "b", .value = TextPattern("*")};
  EXPECT_EQ(failed(with(&RequestMatch::methods, std::string("POST"))), "method");
  EXPECT_EQ(failed(with(&RequestMatch::hosts, TextPattern("g"))), "host");
  EXPECT_EQ(failed(with(&RequestMatch::paths, TextPattern("/y"))), "path");
  EXPECT_EQ(failed(with(&RequestMatch::path_regexes, PathRegex{.pattern = "x", .index = 0})),
            "path_regex");
  EXPECT_EQ(failed(with(&RequestMatch::headers, missing)), "header");
  EXPECT_EQ(failed(with(&RequestMatch::parameters, missing)), "query");
  EXPECT_EQ(failed(with(&RequestMatch::cookies, missing)), "cookie");
  EXPECT_EQ(failed(with(&RequestMatch::claims, missing)), "jwt");
  EXPECT_EQ(failed(with(&RequestMatch::unverified_claims, missing)), "jwt");
  EXPECT_EQ(failed(with(&RequestMatch::countries, std::string("DE"))), "country");
  EXPECT_EQ(failed(with(&RequestMatch::clients, *IpPrefix::parse("10.0.0.0/8"))), "client");
  const RequestMatch wrong = with(&RequestMatch::paths, TextPattern("/y"));
  EXPECT_EQ(failed(with(&RequestMatch::all_of, wrong)), "all");
  EXPECT_EQ(failed(with(&RequestMatch::any_of, wrong)), "any");
  EXPECT_EQ(failed(with(&RequestMatch::none_of, right)), "not");
}

}  // namespace
}  // namespace weir
