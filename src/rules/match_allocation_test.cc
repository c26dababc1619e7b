// Matching a request allocates nothing once its memory is warm. This program counts allocations.

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/allocation_testing.h"
#include "rules/request/country_file_testing.h"
#include "rules/rule_key.h"
#include "rules/rule_set.h"

namespace weir {
namespace {

// {"plan":"gold","id":42,"roles":["a","b"]}, signed with nothing.
constexpr std::string_view kToken =
    "Bearer e30.eyJwbGFuIjoiZ29sZCIsImlkIjo0Miwicm9sZXMiOlsiYSIsImIiXX0.";

std::vector<Rule> rules_of_every_kind() {
  std::vector<Rule> rules(6);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    rules[i].id = "rule-" + std::to_string(i);
    rules[i].group = rules[i].id;
    rules[i].match.emplace();
  }
  rules[0].match->paths.emplace_back("/api/users");
  rules[1].match->paths.emplace_back("/api/*");
  rules[1].match->parameters.push_back({"plan", TextPattern("go*")});
  rules[2].match->cookies.push_back({"session", TextPattern("*")});
  rules[2].match->countries = {"DE"};
  rules[3].match->unverified_claims = {{"plan", TextPattern("gold")}, {"id", TextPattern("42")}};
  rules[4].match->any_of = {{.methods = {"PUT"}}, {.none_of = {{.methods = {"PUT"}}}}};
  rules[5].match->path_regexes.push_back({.pattern = "/users/[0-9]+"});
  rules[4].active = Schedule::make({.zone = "Europe/Berlin"});
  return rules;
}

CountryDatabase::Ptr german_database() {
  constexpr CountryNetwork kNetworks[] = {{"192.0.2.0", 24, "DE"}};
  const auto path = std::filesystem::path(testing::TempDir()) / "weir_match_allocation_test.mmdb";
  std::ofstream(path, std::ios::binary) << country_file(kNetworks);
  const auto opened = CountryDatabase::open(path.string());
  std::filesystem::remove(path);
  return *opened;
}

std::size_t allocations_of_matching(std::string_view path, std::size_t expected) {
  const RuleSet rules(rules_of_every_kind(), {.country_database = german_database()});
  const std::array headers = {NameValue{"Cookie", "a=b; session=0123456789abcdef0123456789"},
                              NameValue{"Authorization", kToken}};
  MatchScratch scratch;
  std::string key;
  std::size_t warm = 0;
  for (int round = 0; round < 200; ++round) {
    if (round == 100) warm = allocations();
    Request request{.method = "GET",
                    .host = "www.example.com",
                    .path = path,
                    .query = "plan=%67old&next=%2F",
                    .headers = headers,
                    .client = IpAddress::parse("192.0.2.7")};
    const auto matched = rules.match(request, scratch, Instant() + round * std::chrono::hours(24));
    EXPECT_EQ(matched.size(), expected);
    for (const Rule* rule : matched) key_of(*rule, request, key);
  }
  return allocations() - warm;
}

TEST(MatchAllocation, MatchingAllocatesNothing) {
  EXPECT_EQ(allocations_of_matching("/api/users", 5), 0u);
}

// RE2 needs three small arrays to say which expressions match, but only then.
TEST(MatchAllocation, ExceptThreeArraysWhereAnExpressionMatches) {
  EXPECT_LE(allocations_of_matching("/users/42", 4), 300u);
}

}  // namespace
}  // namespace weir
