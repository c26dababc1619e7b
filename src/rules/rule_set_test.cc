#include "rules/rule_set.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

Quota quota_of(std::int64_t limit) {
  return *Quota::make({.limit = limit, .window = std::chrono::minutes(1)});
}

// Some ids are short enough to live within a std::string, whose bytes move along with it.
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

TEST(RuleSetDeathTest, RefusesTwoRulesOfOneId) {
  EXPECT_DEATH(RuleSet({{.id = "a", .quota = quota_of(1)}, {.id = "a", .quota = quota_of(2)}}),
               "fresh");
}

}  // namespace
}  // namespace weir
