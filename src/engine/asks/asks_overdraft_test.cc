// Asks with costs that count whether or not they fit.

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

TEST_F(AsksOverdraft, ManyThatCountAlwaysNeedNoRoomTogether) {
  Rule overdraft{.id = "overdraft", .quota = quota(100)};
  overdraft.overdraft = Rule::Overdraft::kAll;
  asks_.begin(Operation::kSpendAll);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(asks_.add({.rule = &overdraft, .key = "a"}));
  EXPECT_EQ(asks_.decide(now_), Asks::Progress::kAnswered);
  EXPECT_EQ(asks_.answer(19).decision.remaining, 80);
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
  EXPECT_EQ(both(5), "+1 +3 ") << "four are held";
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

// A node that decides alone by its share has a lower limit than the rule says.
TEST_F(AsksOverdraft, WhatOthersReserveIsLeftToThem) {
  const Rule looked_at{.id = "looked at", .quota = quota(9)};
  const Rule lower{.id = "lower", .quota = quota(3)};
  const Rule none{.id = "none", .quota = quota(0)};
  const auto look = [&](const Rule& rule, std::int64_t own, std::int64_t others) {
    return decide(Operation::kSpendAll, {{.rule = &rule,
                                          .key = "a",
                                          .cost = own,
                                          .counting = Ask::Counting::kNothing,
                                          .is_alone = others == 0,
                                          .under_way = own + others}});
  };
  EXPECT_EQ(look(looked_at, 4, 4), "+5 ");
  EXPECT_EQ(look(looked_at, 4, 5), "+4 ");
  EXPECT_EQ(look(looked_at, 4, 6), "-3 ");
  EXPECT_EQ(asks_.answer(0).decision.retry_after, 1s);
  hit(looked_at, "a", 6);
  EXPECT_EQ(look(looked_at, 4, 0), "-3 ");
  EXPECT_GT(asks_.answer(0).decision.retry_after, 1s) << "when four are left again";
  EXPECT_EQ(look(lower, 4, 0), "+3 ");
  EXPECT_EQ(look(lower, 4, 1), "-2 ");
  EXPECT_EQ(look(none, 4, 0), "-0 ");
  hit(lower, "a", 1);
  EXPECT_EQ(look(lower, 4, 0), "-2 ");
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
