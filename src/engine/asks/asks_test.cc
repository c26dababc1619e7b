// Asks that tests/scenarios does not try: limits without a rule, adaptive ones, figures.

#include "engine/asks/asks.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/testing/asks_fixture.h"
#include "engine/testing/late_store.h"
#include "observe/keys/recent_asks.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Cause = Answer::Cause;

Quota quota(std::int64_t limit, Duration window = 1min) {
  return *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = limit, .window = window});
}

class AsksTest : public AsksFixture {
 protected:
  const Answer& last() const { return asks_.answer(0); }
};

TEST_F(AsksTest, HoursAreThoseOfTheWallClockAndLimitsAreNot) {
  Rule rule{.id = "r", .quota = quota(2)};
  rule.active = Schedule::make({.from = 0h, .to = 1h});  // it is midnight
  EXPECT_EQ(hit(rule), "+1 ");
  engine_.set_wall_lead(2h);
  EXPECT_EQ(hit(rule), "+2 ");
  EXPECT_EQ(last().cause, Cause::kNotCounted);
  engine_.set_wall_lead(30min);
  EXPECT_EQ(hit(rule), "+0 ") << "what was counted is still there";
}

TEST_F(AsksTest, ABlockForAllRulesDeniesALimitWithoutOne) {
  blocks_.add(
      {.rule = "", .key = "a", .since = now_, .until = now_ + 1min, .reason = BlockReason::kManual},
      now_);
  EXPECT_EQ(decide(Operation::kSpendEach, {{.quota = quota(1), .bucket = "x", .key = "a"},
                                           {.quota = quota(1), .bucket = "x", .key = "b"}}),
            "-0 +0 ");
  EXPECT_EQ(last().cause, Cause::kBlocked);
  EXPECT_EQ(hit({.id = "r", .quota = quota(2)}, "a"), "-0 ");
  now_ += 1min;
  EXPECT_EQ(hit({.id = "r", .quota = quota(2)}, "a"), "+1 ");
}

TEST_F(AsksTest, WhatAShadowLetsPassIsNotDenied) {
  const Rule shadow{.id = "s", .quota = quota(1), .shadow = true, .number = 0};
  EXPECT_EQ(hit(shadow) + hit(shadow), "+0 +0 ");
  EXPECT_TRUE(last().over);
  EXPECT_EQ(hit({.id = "r", .quota = quota(0)}), "-0 ");
  EXPECT_EQ(traffic_.summary(now_).total_allowed(), 2u);
  EXPECT_EQ(traffic_.summary(now_).total_denied(), 1u);
  EXPECT_EQ(traffic_.rules().figures(0), (RuleFigures{1, 0, 0, 1}));
}

TEST_F(AsksTest, AdaptiveLimitsFollowTheSwitchOfTheirRule) {
  const Quota adaptive =
      *Quota::make({.algorithm = Algorithm::kAdaptive, .limit = 2, .window = 1min});
  const Rule one{.id = "one", .quota = adaptive, .number = 0};
  const Rule other{.id = "other", .quota = adaptive, .number = 1};
  const auto active_for = [&](const Rule& rule) {
    hit(rule);
    return last().quota.active();
  };
  EXPECT_EQ(active_for(one), Algorithm::kSlidingWindow) << "nobody says what to follow";
  ActiveAlgorithms active;
  engine_.follow(active);
  active.set(0, {Algorithm::kTokenBucket, 1});
  EXPECT_EQ(active_for(one), Algorithm::kTokenBucket);
  EXPECT_EQ(last().quota.switch_number(), 1u);
  EXPECT_EQ(active_for(other), Algorithm::kSlidingWindow);
  decide(Operation::kSpendEach, {{.quota = adaptive, .bucket = "", .key = "a"}});
  EXPECT_EQ(last().quota.active(), Algorithm::kSlidingWindow);
  active.set(kNoRuleNumber, {Algorithm::kExponentialBackoff, 1});
  decide(Operation::kSpendEach, {{.quota = adaptive, .bucket = "", .key = "a"}});
  EXPECT_EQ(last().quota.active(), Algorithm::kExponentialBackoff);
  const TrafficSummary summary = traffic_.summary(now_);
  const auto decided_by = [&](Algorithm algorithm) {
    const auto index = static_cast<std::size_t>(algorithm);
    return summary.allowed[index] + summary.denied[index];
  };
  EXPECT_EQ(decided_by(Algorithm::kSlidingWindow), 3u);
  EXPECT_EQ(decided_by(Algorithm::kTokenBucket), 1u);
  EXPECT_EQ(decided_by(Algorithm::kExponentialBackoff), 1u);
}

TEST_F(AsksTest, AdaptiveChargesWithoutARuleAreCountedTogether) {
  const RuleNumber ruleless = traffic_.rules().number_of("");
  const ActiveAlgorithms active;
  engine_.follow(active, ruleless);
  for (const Algorithm algorithm : {Algorithm::kAdaptive, Algorithm::kSlidingWindow}) {
    const Quota one = *Quota::make({.algorithm = algorithm, .limit = 1, .window = 1min});
    decide(Operation::kLook, {{.quota = one, .bucket = "", .key = "a"}});
    for (int i = 0; i < 3; ++i) {
      decide(Operation::kSpendEach, {{.quota = one, .bucket = "", .key = "a"}});
    }
  }
  EXPECT_EQ(traffic_.rules().figures(ruleless), (RuleFigures{1, 2, 0, 0}));
}

TEST_F(AsksTest, OfListsOnlyDenialsAreInTheFigures) {
  Rule rule{.id = "r", .quota = quota(1), .number = 0};
  rule.allow.keys = {"friend"};
  rule.deny.keys = {"foe"};
  EXPECT_EQ(hit(rule, "friend"), "+1 ");
  EXPECT_EQ(hit(rule, "foe"), "-0 ");
  EXPECT_EQ(traffic_.summary(now_).total_allowed(), 0u);
  EXPECT_EQ(traffic_.summary(now_).total_denied(), 1u);
  EXPECT_EQ(traffic_.rules().figures(0), (RuleFigures{0, 1, 0, 0})) << "as the sum has it";
}

TEST_F(AsksTest, WhatPassesInAnyCaseIsInTheFiguresAsInShadow) {
  Rule rule{.id = "r", .quota = quota(0), .number = 0};
  rule.denial.blocks = {5min};
  asks_.begin(Operation::kSpendEach);
  asks_.let_pass();
  asks_.add({.rule = &rule, .key = "a"});
  asks_.decide(now_);
  EXPECT_FALSE(last().allowed()) << "the answer is as it would be";
  EXPECT_EQ(traffic_.summary(now_).total_allowed(), 1u);
  EXPECT_EQ(traffic_.rules().figures(0), (RuleFigures{0, 0, 0, 1}));
  EXPECT_TRUE(blocks_.empty());
  traffic_.each_denial(0, 1'000'000'000'000,
                       [](const DenialRecord& denial) { EXPECT_TRUE(denial.is_shadow); });
  EXPECT_EQ(hit(rule), "-0 ") << "of this request alone";
}

TEST_F(AsksTest, AKeyOfTooManyValuesIsDenied) {
  const Rule rule{.id = "r",
                  .quota = quota(5),
                  .key_parts = {{.property = KeyPart::Property::kHeader, .name = "X-Key"}}};
  std::string many = "0";
  for (std::size_t i = 0; i <= KeyChoices::kChoicesMax; ++i) many += "," + std::to_string(i);
  const std::vector<NameValue> headers = {{"X-Key", many}};
  std::string scratch;
  PartScratch tier{};
  Ask ask;
  ask_about(rule, {.headers = headers}, scratch, tier, ask);
  EXPECT_EQ(decide(Operation::kLook, {ask}), "-0 ");
}

TEST_F(AsksTest, ThereIsRoomForSixteenLimitsTogether) {
  const Rule two{.id = "two", .quota = quota(2, 1s), .limits = {quota(2, 1s), quota(3, 1h)}};
  asks_.begin(Operation::kSpendAll);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(asks_.add({.rule = &two, .key = "a"}));
  EXPECT_FALSE(asks_.add({.rule = &two, .key = "a"}));
}

TEST_F(AsksTest, EachForItselfALongListIsDecidedAtOnce) {
  const Rule two{.id = "two", .quota = quota(300, 1s), .limits = {quota(300, 1s), quota(300, 1h)}};
  const Rule one{.id = "one", .quota = quota(100)};
  asks_.begin(Operation::kSpendEach);
  for (std::size_t i = 0; i < Asks::kAsksMax; ++i) {
    EXPECT_TRUE(asks_.add({.rule = i % 2 == 0 ? &one : &two, .key = "a"}));
  }
  EXPECT_FALSE(asks_.add({.rule = &one, .key = "a"}));
  ASSERT_EQ(asks_.decide(now_), Asks::Progress::kAnswered);
  EXPECT_TRUE(asks_.answer(198).allowed());
  EXPECT_FALSE(asks_.answer(200).allowed());
  EXPECT_EQ(asks_.answer(255).decision.remaining, 300 - 128);
}

// The store has room for 1,024 keys, and none of them has anything left.
TEST_F(AsksTest, AStrangerForWhomThereIsNoRoomIsDeniedButNotBlocked) {
  Rule crowd{.id = "crowd", .quota = quota(1)};
  Rule login{.id = "login", .quota = quota(1), .on_full = OnFull::kDeny};
  login.denial.blocks = {5min};
  for (int key = 0; key < 20'000; ++key) hit(crowd, std::to_string(key));
  int without_room = 0;
  for (int key = 0; key < 100; ++key) {
    hit(login, std::to_string(key));
    without_room += last().decision.is_store_full ? 1 : 0;
  }
  EXPECT_GT(without_room, 90);
  EXPECT_TRUE(blocks_.empty());
}

TEST_F(AsksTest, CountsTrafficAsByAsk) {
  const Rule rule{.id = "r", .quota = quota(3), .limits = {quota(3), quota(9, 1h)}};
  for (int i = 0; i < 5; ++i) hit(rule);
  decide(Operation::kLook, {{.rule = &rule, .key = "a"}, {.rule = &rule, .key = "b"}});
  const TrafficSummary summary = traffic_.summary(now_);
  EXPECT_EQ(summary.total_allowed(), 3u);
  EXPECT_EQ(summary.total_denied(), 2u);
  EXPECT_EQ(summary.looks, 2u);
}

TEST_F(AsksTest, AnOutageIsNoAnswer) {
  TestFleet::NothingAtHand unreachable;
  Engine engine(unreachable, hasher_, traffic_.add_core());
  Asks asks(engine, blocks_);
  const Rule rule{.id = "r", .quota = quota(1)};
  asks.begin(Operation::kSpendEach);
  asks.add({.rule = &rule, .key = "a"});
  EXPECT_EQ(asks.decide(now_), Asks::Progress::kUnavailable);
  EXPECT_EQ(traffic_.summary(now_).store_errors, 1u);
}

class RememberedAsksTest : public AsksTest {
 protected:
  RememberedAsksTest() { engine_.remember_in(recent_.core(0)); }

  // The costs that were remembered for the rule since the last call.
  std::vector<std::int64_t> remembered(const Rule& rule) {
    std::vector<std::int64_t> costs;
    const auto found = recent_.of(rule.number, kStart, 100, now_);
    for (const RecentAsk& ask : found.asks) costs.push_back(ask.cost);
    costs.erase(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(seen_[rule.number]));
    seen_[rule.number] += costs.size();
    return costs;
  }
  using Costs = std::vector<std::int64_t>;

  RecentAsks recent_{RecentAsks::kBytesMin, 1, kStart};
  std::array<std::size_t, 2> seen_{};
};

TEST_F(RememberedAsksTest, AreThoseThatALimitDecides) {
  Rule rule{.id = "r", .quota = quota(10), .number = 1};
  rule.overrides["special"] = {quota(1)};
  rule.allow.keys.insert("friend");
  rule.deny.keys.insert("foe");
  hit(rule, "a", 3);
  hit(rule, "a", 8);
  EXPECT_EQ(remembered(rule), (Costs{3, 8})) << "denied or not";
  hit(rule, "special");
  const auto place = static_cast<std::uint16_t>(rule.place_of("special"));
  EXPECT_EQ(recent_.of(1, kStart, 100, now_).asks.back().place, place);
  EXPECT_EQ(remembered(rule), Costs{1}) << "its own limits decide";
  for (const char* key : {"friend", "foe"}) hit(rule, key);
  decide(Operation::kLook, {{.rule = &rule, .key = "a"}});
  decide(Operation::kReset, {{.rule = &rule, .key = "a"}});
  hit({.id = "nameless", .quota = quota(10)});
  EXPECT_EQ(remembered(rule), Costs());
  decide(Operation::kCharge, {{.rule = &rule, .key = "b", .cost = 7}});
  hit(rule, "b", -2);
  EXPECT_EQ(remembered(rule), (Costs{7, -2}));
}

// Nodes may change how they hash keys; then nobody can find these keys again.
TEST_F(RememberedAsksTest, AreNoneOfKeysWithLimitsOfTheirOwnInAFleet) {
  TestFleet fleet(*store_, Mode::kLocal);
  engine_.join(fleet, [] {});
  Rule rule{.id = "r", .quota = quota(10), .number = 1};
  rule.overrides["special"] = {quota(1)};
  hit(rule, "special");
  EXPECT_EQ(remembered(rule), Costs());
  hit(rule, "a");
  EXPECT_EQ(remembered(rule), Costs{1});
}

TEST_F(RememberedAsksTest, AreNoneOfARequestThatAnotherRuleDenies) {
  const Rule one{.id = "one", .quota = quota(10), .number = 0};
  Rule other{.id = "other", .quota = quota(1), .number = 1};
  const auto both = [&] {
    decide(Operation::kSpendAll, {{.rule = &one, .key = "a"}, {.rule = &other, .key = "a"}});
  };
  both();
  EXPECT_EQ(remembered(one), Costs{1});
  EXPECT_EQ(remembered(other), Costs{1});
  both();
  EXPECT_EQ(remembered(one), Costs());
  EXPECT_EQ(remembered(other), Costs{1}) << "it is the one that denies";
  other.shadow = true;
  both();
  EXPECT_EQ(remembered(one), Costs{1});
}

TEST_F(RememberedAsksTest, AreNoneOfWhoIsBlockedByHand) {
  Rule rule{.id = "r", .quota = quota(1), .number = 1};
  blocks_.add({.rule = "r", .key = "a", .since = now_, .until = now_ + 1h}, now_);
  hit(rule);
  EXPECT_EQ(remembered(rule), Costs());
  rule.denial.blocks = {1min};
  hit(rule);
  EXPECT_EQ(remembered(rule), Costs{1}) << "its own denials may have blocked the key";
}

}  // namespace
}  // namespace weir
