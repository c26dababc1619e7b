#include "cli/rule_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kMinute = std::chrono::minutes(1);

Rule rule(const char* id, std::int64_t limit) {
  return {.id = id, .quota = *Quota::make({.limit = limit, .window = kMinute})};
}

RuleSet set_of(std::vector<Rule> rules) { return RuleSet(std::move(rules)); }

TEST(RuleText, CountsAsOneReadsIt) {
  EXPECT_EQ(count_rules(0), "0 rules");
  EXPECT_EQ(count_rules(1), "1 rule");
  EXPECT_EQ(count_rules(2), "2 rules");
}

TEST(RuleText, DescribesWhatARuleSays) {
  EXPECT_EQ(describe(rule("login", 5)), "sliding_window 5 per 1m");
  const auto bucket = *Quota::make({.algorithm = Algorithm::kTokenBucket,
                                    .limit = 10,
                                    .window = std::chrono::seconds(1),
                                    .burst = 30});
  EXPECT_EQ(describe({.id = "api", .quota = bucket, .enabled = false}),
            "token_bucket 10 per 1s, burst 30, disabled");
}

TEST(RuleText, NamesEachChangeOnce) {
  EXPECT_THAT(describe_changes(set_of({rule("kept", 1), rule("raised", 2), rule("gone", 3)}),
                               set_of({rule("new", 4), rule("raised", 5), rule("kept", 1)})),
              ElementsAre("added new: sliding_window 4 per 1m",
                          "changed raised: sliding_window 2 per 1m, now sliding_window 5 per 1m",
                          "removed gone"));
}

TEST(RuleText, AnotherOrderIsNoChange) {
  EXPECT_THAT(
      describe_changes(set_of({rule("a", 1), rule("b", 2)}), set_of({rule("b", 2), rule("a", 1)})),
      IsEmpty());
}

}  // namespace
}  // namespace weir
