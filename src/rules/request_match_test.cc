#include "rules/request_match.h"

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

TEST(RequestMatch, ACountryIsOneOfTheList) {
  const RequestMatch match{.countries = {"DE", "FR"}};
  EXPECT_TRUE(holds_for(match, {.country = "FR"}));
  EXPECT_TRUE(holds_for(match, {.country = "de"}));
  EXPECT_FALSE(holds_for(match, {.country = "US"}));
  EXPECT_FALSE(holds_for(match, {}));
}

}  // namespace
}  // namespace weir
