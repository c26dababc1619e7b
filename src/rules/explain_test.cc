#include "rules/explain.h"

#include <array>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Explain, NamesTheFirstConditionThatFails) {
  constexpr std::array kHeaders = {NameValue{.name = "X-A", .value = "1"}};
  const Request request{.method = "GET", .host = "h", .path = "/x", .headers = kHeaders};
  const auto failed = [&](const RequestMatch& match) {
    const auto name = failed_condition(match, request, {});
    EXPECT_EQ(!name, holds(match, request, {}));
    return name.value_or("none");
  };
  RequestMatch right;
  right.methods = {"GET"};
  right.hosts = {TextPattern("h")};
  right.paths = {TextPattern("/*")};
  right.headers = {{.name = "x-a", .value = TextPattern("*")}};
  EXPECT_EQ(failed({}), "none");
  EXPECT_EQ(failed(right), "none");
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
