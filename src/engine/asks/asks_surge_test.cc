// Rules whose limits are lower while their traffic is unusual (on_surge).

#include <string>

#include <gtest/gtest.h>

#include "engine/testing/asks_fixture.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Quota quota(std::int64_t limit) {
  return *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = limit, .window = 1min});
}

class AsksSurgeTest : public AsksFixture {
 protected:
  AsksSurgeTest() { engine_.use_unusual_rules(unusual_); }

  // "+3 of 4": allowed, with the units left and the limit.
  std::string hit(const Rule& rule, std::string_view key = "a") {
    const std::string text = AsksFixture::hit(rule, key);
    return text + "of " + std::to_string(asks_.answer(0).decision.limit);
  }

  UnusualRules unusual_;
};

TEST_F(AsksSurgeTest, LimitsAreLowerAsLongAsTheTrafficIsUnusual) {
  const Rule rule{.id = "r", .quota = quota(4), .surge_percent = 50, .number = 7};
  EXPECT_EQ(hit(rule), "+3 of 4");
  unusual_.begin(7);
  EXPECT_EQ(hit(rule), "+0 of 2") << "what was spent before counts";
  EXPECT_EQ(hit(rule), "-0 of 2");
  unusual_.end(7);
  EXPECT_EQ(hit(rule), "+1 of 4");
}

TEST_F(AsksSurgeTest, ARuleThatSaysNothingKeepsItsLimits) {
  const Rule rule{.id = "r", .quota = quota(4), .number = 7};
  unusual_.begin(7);
  EXPECT_EQ(hit(rule), "+3 of 4");
}

TEST_F(AsksSurgeTest, ItIsTheRulesOwnTrafficThatCounts) {
  const Rule rule{.id = "r", .quota = quota(4), .surge_percent = 50, .number = 7};
  unusual_.begin(8);
  EXPECT_EQ(hit(rule), "+3 of 4");
}

TEST_F(AsksSurgeTest, AllLimitsAreLower) {
  Rule rule{.id = "r", .quota = quota(100), .surge_percent = 50, .number = 7};
  rule.limits = {quota(100), *Quota::make({.limit = 10, .window = 1h})};
  rule.overrides["gold"] = {quota(40)};
  unusual_.begin(7);
  EXPECT_EQ(hit(rule), "+4 of 5") << "the limit that presses most";
  EXPECT_EQ(hit(rule, "gold"), "+19 of 20");
}

TEST_F(AsksSurgeTest, AShadowRuleStaysAShadow) {
  const Rule rule{.id = "r", .quota = quota(2), .surge_percent = 50, .shadow = true, .number = 7};
  unusual_.begin(7);
  EXPECT_EQ(hit(rule), "+0 of 1");
  EXPECT_EQ(hit(rule), "+0 of 1");
  EXPECT_EQ(traffic_.rules().figures(7)[static_cast<std::size_t>(RuleOutcome::kShadow)], 1u);
}

}  // namespace
}  // namespace weir
