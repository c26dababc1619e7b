// Asks whose costs count whether or not they fit.

#include "engine/asks/asks.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/testing/asks_fixture.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Quota quota(std::int64_t limit, Duration window = 1min) {
  return *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = limit, .window = window});
}

using AsksOverdraft = AsksFixture;

TEST_F(AsksOverdraft, TenLooksAndChargesOfSevenAgainstTenLetTwoThrough) {
  const Rule plain{.id = "plain", .quota = quota(10)};
  Rule overdraft{.id = "overdraft", .quota = quota(10)};
  overdraft.overdraft = Rule::Overdraft::kAll;
  const auto through = [&](const Rule& rule, Ask::Counting counting) {
    int looks = 0;
    for (int i = 0; i < 10; ++i) {
      if (decide(Operation::kLook, {{.rule = &rule, .key = "a", .cost = 0}})[0] == '-') continue;
      ++looks;
      decide(Operation::kSpendEach, {{.rule = &rule, .key = "a", .cost = 7, .counting = counting}});
    }
    return looks;
  };
  EXPECT_EQ(through(plain, Ask::Counting::kAsTheRuleSays), 10) << "what the rule does not ask for";
  EXPECT_EQ(through(overdraft, Ask::Counting::kAsTheRuleSays), 2);
  decide(Operation::kReset, {{.rule = &plain, .key = "a"}});
  EXPECT_EQ(through(plain, Ask::Counting::kAlways), 2);
  decide(Operation::kReset, {{.rule = &overdraft, .key = "a"}});
  EXPECT_EQ(through(overdraft, Ask::Counting::kIfItFits), 10);
}

TEST_F(AsksOverdraft, AsEnvoyCountsOneUnitOfASlidingWindowHasToFit) {
  Rule rule{.id = "r", .quota = quota(3)};
  rule.overdraft = Rule::Overdraft::kEnvoy;
  EXPECT_EQ(hit(rule, "a", 2), "+1 ");
  EXPECT_EQ(hit(rule, "a", 2), "-0 ");
  EXPECT_EQ(hit(rule, "b", 3), "+0 ");
  EXPECT_EQ(hit(rule, "b"), "-0 ");
  EXPECT_EQ(decide(Operation::kLook, {{.rule = &rule, .key = "b", .cost = 0}}), "-0 ");
  rule.quota = *Quota::make({.limit = 3, .window = 1min});
  EXPECT_EQ(hit(rule, "c", 3), "+0 ");
  EXPECT_EQ(hit(rule, "c"), "-0 ");
  EXPECT_EQ(decide(Operation::kLook, {{.rule = &rule, .key = "c", .cost = 0}}), "+0 ");
  EXPECT_EQ(hit(rule, "c", 2), "-0 ");
  EXPECT_EQ(decide(Operation::kLook, {{.rule = &rule, .key = "c", .cost = 0}}), "-0 ");
}

TEST_F(AsksOverdraft, WhatTakesTheRestDeniesItsRequestAndIsKept) {
  const Rule rule{.id = "r", .quota = quota(5)};
  Rule several{.id = "several", .quota = quota(9)};
  several.limits = {quota(9), quota(4, 1h)};
  const auto drain = [](const Rule& of, std::int64_t cost) {
    return Ask{.rule = &of, .key = "a", .cost = cost, .counting = Ask::Counting::kOrWhatIsLeft};
  };
  EXPECT_EQ(decide(Operation::kSpendEach, {drain(rule, 3)}), "+2 ");
  EXPECT_EQ(decide(Operation::kSpendEach, {drain(rule, 3)}), "-0 ");
  EXPECT_EQ(decide(Operation::kReset, {{.rule = &rule, .key = "a"}}), "+5 ");
  EXPECT_EQ(decide(Operation::kSpendAll, {{.rule = &several, .key = "b"}, drain(rule, 6)}),
            "+4 -0 ")
      << "the others are not charged";
  EXPECT_EQ(decide(Operation::kLook, {{.rule = &rule, .key = "a", .cost = 0}}), "+0 ");
  EXPECT_EQ(decide(Operation::kSpendEach, {drain(several, 5)}), "-0 ");
  EXPECT_EQ(decide(Operation::kLook, {drain(several, 0)}), "+0 ");
}

TEST_F(AsksOverdraft, TogetherWhatCountsAlwaysIsChargedFirstAndDeniesTheOthers) {
  const Rule rule{.id = "r", .quota = quota(5)};
  Rule overdraft{.id = "overdraft", .quota = quota(2)};
  overdraft.overdraft = Rule::Overdraft::kAll;
  const auto both = [&] {
    return decide(Operation::kSpendAll,
                  {{.rule = &rule, .key = "a"}, {.rule = &overdraft, .key = "a"}});
  };
  EXPECT_EQ(both(), "+4 +1 ");
  EXPECT_EQ(both(), "+3 +0 ");
  EXPECT_EQ(both(), "+3 -0 ");
  EXPECT_EQ(decide(Operation::kLook, {{.rule = &rule, .key = "a"}}), "+3 ");
  overdraft.shadow = true;
  EXPECT_EQ(both(), "+2 +0 ");
  hit(rule, "a", 2);
  overdraft.shadow = false;
  decide(Operation::kReset, {{.rule = &overdraft, .key = "a"}});
  EXPECT_EQ(both(), "-0 +1 ");
  EXPECT_EQ(decide(Operation::kLook, {{.rule = &overdraft, .key = "a"}}), "+1 ")
      << "counted, though the other rule denies";
}

TEST_F(AsksOverdraft, ManyThatCountAlwaysNeedNoRoomTogether) {
  Rule overdraft{.id = "overdraft", .quota = quota(100)};
  overdraft.overdraft = Rule::Overdraft::kAll;
  asks_.begin(Operation::kSpendAll);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(asks_.add({.rule = &overdraft, .key = "a"}));
  EXPECT_EQ(asks_.decide(now_), Asks::Progress::kAnswered);
  EXPECT_EQ(asks_.answer(19).decision.remaining, 80);
}

TEST_F(AsksOverdraft, OfSeveralLimitsEachIsCharged) {
  Rule rule{.id = "r", .quota = quota(10), .limits = {quota(10), quota(100, 1h)}};
  const Ask charge{.rule = &rule, .key = "a", .cost = 7, .counting = Ask::Counting::kAlways};
  EXPECT_EQ(decide(Operation::kSpendEach, {charge}), "+3 ");
  EXPECT_EQ(decide(Operation::kSpendEach, {charge}), "-0 ");
  rule.limits = {quota(100, 1h), quota(10)};
  EXPECT_EQ(decide(Operation::kLook, {{.rule = &rule, .key = "a", .cost = 0}}), "-0 ");
  rule = {.id = "r", .quota = quota(100, 1h)};
  EXPECT_EQ(decide(Operation::kLook, {{.rule = &rule, .key = "a", .cost = 0}}), "+86 ");
}

TEST_F(AsksOverdraft, WhatOnlyLooksDeniesTheOthersAndIsNotCounted) {
  const Rule rule{.id = "r", .quota = quota(5)};
  const Rule looked_at{.id = "looked at", .quota = quota(2)};
  const auto both = [&] {
    return decide(Operation::kSpendAll,
                  {{.rule = &looked_at, .key = "a", .counting = Ask::Counting::kNothing},
                   {.rule = &rule, .key = "a"}});
  };
  EXPECT_EQ(both(), "+2 +4 ");
  EXPECT_EQ(both(), "+2 +3 ");
  hit(looked_at, "a", 2);
  EXPECT_EQ(both(), "-0 +3 ");
  EXPECT_EQ(both(), "-0 +3 ");
  EXPECT_EQ(traffic_.summary(now_).total_denied(), 2u);
}

TEST_F(AsksOverdraft, WhatOthersMayYetCountIsLeftToThem) {
  Rule looked_at{.id = "looked at", .quota = quota(9), .limits = {quota(9), quota(5, 1h)}};
  looked_at.denial.blocks = {5min};
  const Rule rule{.id = "r", .quota = quota(5)};
  const auto both = [&](std::int64_t under_way) {
    return decide(Operation::kSpendAll, {{.rule = &looked_at,
                                          .key = "a",
                                          .counting = Ask::Counting::kNothing,
                                          .under_way = under_way},
                                         {.rule = &rule, .key = "a"}});
  };
  EXPECT_EQ(both(1), "+5 +4 ");
  EXPECT_EQ(both(5), "+5 +3 ");
  EXPECT_EQ(both(6), "-0 +3 ");
  EXPECT_EQ(asks_.answer(0).cause, Answer::Cause::kUnderWay);
  EXPECT_EQ(asks_.answer(0).decision.retry_after, 1s);
  EXPECT_EQ(blocks_.until("looked at", "a", now_), std::nullopt);
  hit(looked_at, "a", 5);
  EXPECT_EQ(both(3), "-0 +3 ");
  EXPECT_NE(blocks_.until("looked at", "a", now_), std::nullopt) << "nothing is left";
  looked_at.shadow = true;
  looked_at.id = "shadow";
  EXPECT_EQ(both(6), "+0 +2 ");
}

// The limit is lower than what was meant where a node decides alone by its share.
TEST_F(AsksOverdraft, WhatOthersReserveIsLeftToThem) {
  Rule looked_at{.id = "looked at", .quota = quota(9)};
  looked_at.response = {.reserved = 4};
  Rule lower{.id = "lower", .quota = quota(3)};
  lower.response = {.reserved = 4};
  const auto look = [&](const Rule& rule, std::int64_t under_way) {
    return decide(
        Operation::kSpendAll,
        {{.rule = &rule, .key = "a", .counting = Ask::Counting::kNothing, .under_way = under_way}});
  };
  EXPECT_EQ(look(looked_at, 2), "+9 ");
  EXPECT_EQ(look(looked_at, 3), "-0 ");
  hit(looked_at, "a", 6);
  EXPECT_EQ(look(looked_at, 1), "-0 ");
  EXPECT_EQ(look(lower, 1), "+3 ");
  EXPECT_EQ(look(lower, 2), "-0 ");
  hit(lower, "a", 1);
  EXPECT_EQ(look(lower, 1), "-0 ");
}

TEST_F(AsksOverdraft, ChargesOfADecidedRequestCountBlockAndAreInNoFigure) {
  Rule rule{.id = "r", .quota = quota(2)};
  rule.denial.blocks = {5min};
  const auto charge = [&](std::int64_t cost) {
    return decide(Operation::kCharge, {{.rule = &rule, .key = "a", .cost = cost}});
  };
  EXPECT_EQ(charge(1), "+1 ");
  EXPECT_EQ(charge(1), "+0 ");
  EXPECT_EQ(blocks_.until("r", "a", now_), std::nullopt);
  EXPECT_EQ(charge(1), "-0 ");
  EXPECT_EQ(blocks_.until("r", "a", now_), now_ + 5min);
  EXPECT_EQ(traffic_.summary(now_).total_allowed(), 0u);
  EXPECT_EQ(traffic_.summary(now_).total_denied(), 0u);
}

}  // namespace
}  // namespace weir
