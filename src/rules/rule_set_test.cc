#include "rules/rule_set.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

Quota quota_of(std::int64_t limit) {
  return *Quota::make({.limit = limit, .window = std::chrono::minutes(1)});
}

// Some ids are so short that they are inside of a std::string, whose bytes move with it.
TEST(RuleSet, FindsEachOfManyByItsExactId) {
  std::vector<Rule> many;
  for (int i = 0; i < 10'000; ++i) {
    many.push_back({.id = "rule-" + std::to_string(i), .quota = quota_of(i)});
  }
  const RuleSet rules(std::move(many));
  for (int i = 0; i < 10'000; ++i) {
    const Rule* rule = rules.find("rule-" + std::to_string(i));
    ASSERT_NE(rule, nullptr) << i;
    EXPECT_EQ(rule->quota.limit(), i);
  }
  for (const char* id : {"", "Rule-1", "rule-", "rule-1 "}) EXPECT_EQ(rules.find(id), nullptr);
  EXPECT_EQ(RuleSet().find("rule-1"), nullptr);
}

// All hosts and builds must agree on these places, so they are written down.
TEST(RuleSet, EnforcesAShareOfTheKeys) {
  Rule rule{.id = "r", .quota = quota_of(1), .enforced_percent = 10};
  EXPECT_FALSE(rule.spares("frank"));  // place 3
  EXPECT_TRUE(rule.spares("carol"));   // place 15
  EXPECT_TRUE(rule.spares("bob"));     // place 36
  rule.enforced_percent = 16;
  EXPECT_FALSE(rule.spares("carol"));
  rule.id = "other";
  EXPECT_TRUE(rule.spares("carol"));
}

TEST(RuleSet, AHigherShareDeniesTheKeysOfALowerOne) {
  const Rule some{.id = "login", .enforced_percent = 10};
  const Rule half{.id = "login", .enforced_percent = 50};
  int in_some = 0;
  int in_half = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = std::to_string(i);
    EXPECT_GE(some.spares(key), half.spares(key)) << key;
    in_some += !some.spares(key);
    in_half += !half.spares(key);
  }
  EXPECT_NEAR(in_some, 1'000, 150);
  EXPECT_NEAR(in_half, 5'000, 250);
}

TEST(RuleSetDeathTest, RefusesTwoRulesOfOneId) {
  EXPECT_DEATH(RuleSet({{.id = "a", .quota = quota_of(1)}, {.id = "a", .quota = quota_of(2)}}),
               "fresh");
}

}  // namespace
}  // namespace weir
