#include "rules/rule_set.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

Quota quota_of(std::int64_t limit) {
  return *Quota::make({.limit = limit, .window = std::chrono::minutes(1)});
}

TEST(RuleSet, FindsRulesByTheirExactId) {
  // Ids short enough to live within a std::string, whose bytes move along with it.
  const RuleSet rules({{.id = "login", .quota = quota_of(5)},
                       {.id = "search", .quota = quota_of(50), .enabled = false}});
  const Rule* login = rules.find("login");
  ASSERT_NE(login, nullptr);
  EXPECT_EQ(login->id, "login");
  EXPECT_EQ(login->quota.limit(), 5);
  EXPECT_TRUE(login->enabled);

  const Rule* search = rules.find("search");
  ASSERT_NE(search, nullptr);
  EXPECT_EQ(search->quota.limit(), 50);
  EXPECT_FALSE(search->enabled);

  EXPECT_EQ(rules.find("Login"), nullptr);
  EXPECT_EQ(rules.find("logi"), nullptr);
  EXPECT_EQ(rules.find("login "), nullptr);
}

TEST(RuleSet, FindsEachOfMany) {
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
}

TEST(RuleSetDeathTest, RefusesTwoRulesOfOneId) {
  EXPECT_DEATH(RuleSet({{.id = "a", .quota = quota_of(1)}, {.id = "a", .quota = quota_of(2)}}),
               "fresh");
}

}  // namespace
}  // namespace weir
