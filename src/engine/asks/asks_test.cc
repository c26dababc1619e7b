#include "engine/asks/asks.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/testing/asks_fixture.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Cause = Answer::Cause;

Quota quota(std::int64_t limit, Duration window = 1min) {
  return *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = limit, .window = window});
}

class UnreachableStore final : public Store {
  void decide(Batch& batch, Instant) noexcept override {
    batch.error = StoreError::kUnavailable;
    batch.on_done(batch);
  }
};

class AsksTest : public AsksFixture {
 protected:
  const Answer& last() const { return asks_.answer(0); }
};

TEST_F(AsksTest, ARuleCountsItsKeysApart) {
  const Rule rule{.id = "r", .quota = quota(2)};
  EXPECT_EQ(hit(rule), "+1 ");
  EXPECT_EQ(hit(rule), "+0 ");
  EXPECT_EQ(hit(rule), "-0 ");
  EXPECT_EQ(hit(rule, "b"), "+1 ");
  EXPECT_EQ(hit({.id = "other", .quota = quota(2)}), "+1 ");
}

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

TEST_F(AsksTest, ABlockedNetworkDeniesItsClientsWhateverTheirKeysAre) {
  const Rule rule{.id = "r", .quota = quota(2)};
  blocks_.add({.rule = "r",
               .key = "203.0.113.0/24",
               .since = now_,
               .until = now_ + 1min,
               .reason = BlockReason::kManual},
              now_);
  const auto asked = [&](const char* address) {
    return decide(Operation::kSpendEach, {{.rule = &rule,
                                           .key = address,
                                           .client = IpAddress::parse(address),
                                           .key_origin = Ask::KeyOrigin::kRequest}});
  };
  EXPECT_EQ(asked("203.0.113.9"), "-0 ");
  EXPECT_EQ(last().cause, Cause::kBlocked);
  EXPECT_EQ(asked("203.0.114.9"), "+1 ");
  const auto somebody = IpAddress::parse("203.0.113.9");
  EXPECT_EQ(decide(Operation::kSpendEach, {{.rule = &rule, .key = "alice", .client = somebody}}),
            "-0 ");
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

TEST_F(AsksTest, AQuotaOfOnesOwnNeedsNoRule) {
  EXPECT_EQ(decide(Operation::kSpendEach, {{.quota = quota(1), .bucket = "x", .key = "a"},
                                           {.quota = quota(1), .bucket = "y", .key = "a"},
                                           {.quota = quota(1), .bucket = "x", .key = "a"}}),
            "+0 +0 -0 ");
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

TEST_F(AsksTest, OfSeveralLimitsAllHoldAndADenialChargesNone) {
  const Rule rule{.id = "r", .quota = quota(2, 1s), .limits = {quota(2, 1s), quota(3, 1h)}};
  EXPECT_EQ(hit(rule), "+1 ");
  EXPECT_EQ(hit(rule), "+0 ");
  EXPECT_EQ(hit(rule), "-0 ");
  EXPECT_EQ(last().quota.window(), 1s);
  now_ += 1s;
  EXPECT_EQ(hit(rule), "+0 ");
  EXPECT_EQ(last().quota.window(), 1h) << "the one with the least left";
  EXPECT_EQ(hit(rule), "-0 ");
  EXPECT_EQ(last().quota.window(), 1h);
  EXPECT_EQ(last().decision.retry_after, 1h - 1s);
  EXPECT_EQ(decide(Operation::kReset, {{.rule = &rule, .key = "a"}}), "+2 ");
  EXPECT_EQ(hit(rule), "+1 ");
}

TEST_F(AsksTest, TiersAndOverridesTakeThePlaceOfTheRulesOwnLimits) {
  const Rule rule{.id = "r",
                  .quota = quota(1),
                  .overrides = {{"vip", {quota(100)}}},
                  .tiers = {{"gold", {quota(10)}}}};
  const auto hit_of = [&](std::string_view key, std::string_view tier) {
    return decide(Operation::kSpendEach, {{.rule = &rule, .key = key, .tier = tier}});
  };
  EXPECT_EQ(hit_of("a", ""), "+0 ");
  EXPECT_EQ(hit_of("a", "lead"), "-0 ");
  EXPECT_EQ(hit_of("a", "gold"), "+8 ") << "what was counted stays";
  EXPECT_EQ(hit_of("vip", "gold"), "+99 ");
}

TEST_F(AsksTest, ListsLetPassOrDenyWithoutCounting) {
  Rule rule{.id = "r", .quota = quota(1)};
  rule.allow.keys = {"friend", "both"};
  rule.allow.networks = {*IpPrefix::parse("10.0.0.0/8")};
  rule.deny.keys = {"foe", "both"};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(hit(rule, "friend"), "+1 ");
    EXPECT_EQ(last().cause, Cause::kNotCounted);
    EXPECT_EQ(hit(rule, "10.1.2.3"), "+1 ");
    EXPECT_EQ(decide(Operation::kSpendEach,
                     {{.rule = &rule, .key = "x", .client = IpAddress::parse("10.9.9.9")}}),
              "+1 ");
    EXPECT_EQ(hit(rule, "foe"), "-0 ");
    EXPECT_EQ(last().cause, Cause::kDenyList);
    EXPECT_EQ(last().decision.verdict, Verdict::kNever);
    EXPECT_EQ(hit(rule, "both"), "-0 ");
  }
  EXPECT_EQ(traffic_.summary(now_).total_allowed(), 0u);
  EXPECT_EQ(traffic_.summary(now_).total_denied(), 6u);
}

// A client behind a proxy that does not name it passed with "X-Key: 10.1.2.3".
TEST_F(AsksTest, AKeyThatARequestFilledIsNoAddressThatPasses) {
  Rule rule{.id = "r",
            .quota = quota(1),
            .key_parts = {{.property = KeyPart::Property::kHeader, .name = "X-Key"}}};
  rule.allow.networks = {*IpPrefix::parse("10.0.0.0/8")};
  const auto asked = [&](std::string_view key, const char* client) {
    const std::vector<NameValue> headers = {{"X-Key", key}};
    const Request request{.headers = headers, .client = IpAddress::parse(client)};
    std::string scratch;
    PartScratch tier{};
    return decide(Operation::kSpendEach, {ask_about(rule, request, scratch, tier)});
  };
  EXPECT_EQ(asked("10.1.2.3", ""), "+0 ");
  EXPECT_EQ(asked("10.1.2.3", ""), "-0 ");
  EXPECT_EQ(asked("10.1.2.3", "10.9.9.9"), "+1 ");
  rule.allow = {};
  rule.deny.networks = {*IpPrefix::parse("192.0.2.0/24")};
  EXPECT_EQ(asked("192.0.2.1", ""), "-0 ");
  EXPECT_EQ(last().cause, Cause::kDenyList);
}

TEST_F(AsksTest, ARequestWithoutAKeyIsDeniedIfTheRuleSaysSo) {
  Rule rule{.id = "r",
            .quota = quota(2),
            .key_parts = {{.property = KeyPart::Property::kHeader, .name = "X-Key"}},
            .missing = MissingPart::kDeny};
  rule.allow.networks = {*IpPrefix::parse("10.0.0.0/8")};
  const auto asked = [&](std::vector<NameValue> headers, const char* client) {
    const Request request{.headers = headers, .client = IpAddress::parse(client)};
    std::string scratch;
    PartScratch tier{};
    return decide(Operation::kSpendEach, {ask_about(rule, request, scratch, tier)});
  };
  EXPECT_EQ(asked({{"X-Key", "a"}}, "192.0.2.1"), "+1 ");
  EXPECT_EQ(asked({}, "192.0.2.1"), "-0 ");
  EXPECT_EQ(last().cause, Cause::kMissingKey);
  EXPECT_EQ(last().decision.verdict, Verdict::kNever) << "waiting does not help";
  EXPECT_EQ(asked({}, "10.1.2.3"), "+2 ") << "the allow list comes first";
}

// "X-Key: foe" and another value beside it had no key, and so passed lists, blocks and limits.
TEST_F(AsksTest, ARepeatedKeyPassesNoListBlockOrLowerLimit) {
  const KeyPart part{.property = KeyPart::Property::kHeader, .name = "X-Key"};
  Rule rule{.id = "r",
            .quota = quota(5),
            .overrides = {{"slow", {quota(2)}}, {"vip", {quota(100)}}},
            .tiers = {{"gold", {quota(50)}}, {"free", {quota(3)}}},
            .tier = KeyPart{.property = KeyPart::Property::kHeader, .name = "X-Plan"},
            .key_parts = {part}};
  rule.deny.keys = {"foe"};
  blocks_.add({.rule = "r", .key = "blocked", .since = now_, .until = now_ + 1min}, now_);
  const auto asked = [&](std::vector<NameValue> headers) {
    const Request request{.headers = headers};
    std::string scratch;
    PartScratch tier{};
    return decide(Operation::kLook, {ask_about(rule, request, scratch, tier)});
  };
  EXPECT_EQ(asked({{"X-Key", "a"}, {"X-Key", "b"}}), "+5 ");
  EXPECT_EQ(asked({{"X-Key", "a"}, {"X-Key", "foe"}}), "-0 ");
  EXPECT_EQ(last().cause, Cause::kDenyList);
  EXPECT_EQ(asked({{"X-Key", "blocked, a"}}), "-0 ");
  EXPECT_EQ(last().cause, Cause::kBlocked);
  EXPECT_EQ(asked({{"X-Key", "vip"}, {"X-Key", "slow"}}), "+2 ");
  EXPECT_EQ(asked({{"X-Key", "vip"}, {"X-Key", "a"}}), "+5 ") << "nor gains by one";
  EXPECT_EQ(asked({{"X-Key", "a"}, {"X-Plan", "gold"}, {"X-Plan", "free"}}), "+3 ");
  EXPECT_EQ(asked({{"X-Key", "a"}, {"X-Plan", "gold"}, {"X-Plan", "lead"}}), "+5 ");
  EXPECT_EQ(asked({{"X-Key", "vip"}, {"X-Plan", "gold"}, {"X-Plan", "free"}}), "+100 ");
  std::string many = "0";
  for (std::size_t i = 0; i <= KeyChoices::kChoicesMax; ++i) many += "," + std::to_string(i);
  EXPECT_EQ(asked({{"X-Key", many}}), "-0 ");
}

TEST_F(AsksTest, DisabledAndUnlimitedRulesCountNothing) {
  const Rule disabled{.id = "r", .quota = quota(0), .enabled = false};
  EXPECT_EQ(hit(disabled), "+0 ");
  const Rule unlimited{.id = "u", .quota = quota(1), .effect = Rule::Effect::kUnlimited};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(hit(unlimited), "+1 ");
}

TEST_F(AsksTest, AShadowCountsAndLetsPass) {
  const Rule rule{.id = "r", .quota = quota(1), .shadow = true};
  EXPECT_EQ(hit(rule), "+0 ");
  EXPECT_FALSE(last().over);
  EXPECT_EQ(hit(rule), "+0 ");
  EXPECT_TRUE(last().over);
  EXPECT_EQ(traffic_.summary(now_).total_denied(), 1u);
}

TEST_F(AsksTest, TogetherOneDenialChargesNobody) {
  const Rule wide{.id = "wide", .quota = quota(5)};
  const Rule narrow{.id = "narrow", .quota = quota(1)};
  const Rule shadow{.id = "shadow", .quota = quota(1), .shadow = true};
  const auto all = [&] {
    return decide(Operation::kSpendAll, {{.rule = &wide, .key = "a"},
                                         {.rule = &shadow, .key = "a"},
                                         {.rule = &narrow, .key = "a"}});
  };
  EXPECT_EQ(all(), "+4 +0 +0 ");
  EXPECT_EQ(all(), "+4 +0 -0 ");
  now_ += 1min;
  EXPECT_EQ(all(), "+4 +0 +0 ");
  EXPECT_EQ(decide(Operation::kLook, {{.rule = &wide, .key = "a"}}), "+4 ");
}

TEST_F(AsksTest, TogetherADenyListChargesNobodyEither) {
  Rule denying{.id = "d", .quota = quota(5)};
  denying.deny.keys = {"a"};
  const Rule other{.id = "o", .quota = quota(5)};
  EXPECT_EQ(
      decide(Operation::kSpendAll, {{.rule = &other, .key = "a"}, {.rule = &denying, .key = "a"}}),
      "+5 -0 ");
  EXPECT_EQ(hit(other), "+4 ");
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

TEST_F(AsksTest, ADenialBlocksTheKey) {
  Rule rule{.id = "r", .quota = quota(1, 1s)};
  rule.denial.blocks = {5min};
  EXPECT_EQ(hit(rule), "+0 ");
  EXPECT_EQ(hit(rule), "-0 ");
  EXPECT_EQ(last().cause, Cause::kCounted);
  EXPECT_EQ(last().decision.retry_after, 5min) << "the denial that starts a block says how long";
  EXPECT_EQ(last().decision.reset_after, 5min);
  now_ += 1min;
  EXPECT_EQ(hit(rule), "-0 ");
  EXPECT_EQ(last().cause, Cause::kBlocked);
  EXPECT_EQ(last().decision.retry_after, 4min);
  EXPECT_EQ(decide(Operation::kLook, {{.rule = &rule, .key = "a"}}), "-0 ");
  EXPECT_EQ(hit(rule, "b"), "+0 ");
  now_ += 4min;
  EXPECT_EQ(hit(rule), "+0 ");
}

TEST_F(AsksTest, ACostBeyondTheLimitThatStartsABlockSaysSo) {
  Rule rule{.id = "r", .quota = quota(3)};
  rule.denial.blocks = {5min};
  EXPECT_EQ(hit(rule, "a", 4), "-0 ");
  EXPECT_EQ(last().decision.verdict, Verdict::kDenied);
  EXPECT_EQ(last().decision.retry_after, 5min);
  rule.denial.block_after = 3;
  for (int i = 1; i <= 3; ++i) {
    hit(rule, "b", 4);
    EXPECT_EQ(last().decision.verdict, i < 3 ? Verdict::kNever : Verdict::kDenied);
  }
  EXPECT_EQ(last().decision.retry_after, 5min);
}

TEST_F(AsksTest, ADenialThatStartsABlockPressesMoreThanAnother) {
  Rule blocking{.id = "blocking", .quota = quota(1)};
  blocking.denial.blocks = {5min};
  const Rule daily{.id = "daily", .quota = quota(1, 10min)};
  const auto both = [&] {
    return decide(Operation::kSpendEach,
                  {{.rule = &blocking, .key = "a"}, {.rule = &daily, .key = "a"}});
  };
  both();
  EXPECT_EQ(both(), "-0 -0 ");
  EXPECT_EQ(asks_.answer(0).decision.retry_after, 5min);
  EXPECT_EQ(asks_.answer(1).decision.retry_after, 10min);
}

TEST_F(AsksTest, ADenialBlocksAKeyOfAnyLength) {
  Rule rule{.id = "r", .quota = quota(1)};
  rule.denial.blocks = {5min};
  const std::string key(4'096, 'k');
  hit(rule, key);
  hit(rule, key);
  EXPECT_EQ(last().cause, Cause::kCounted);
  hit(rule, key);
  EXPECT_EQ(last().cause, Cause::kBlocked);
  EXPECT_EQ(last().decision.retry_after, 5min);
}

TEST_F(AsksTest, AResetLiftsTheBlock) {
  Rule rule{.id = "r", .quota = quota(1, 1h)};
  rule.denial.blocks = {5min};
  hit(rule);
  hit(rule);
  EXPECT_EQ(decide(Operation::kReset, {{.rule = &rule, .key = "a"}}), "+1 ");
  EXPECT_EQ(hit(rule), "+0 ");
}

TEST_F(AsksTest, BlocksComeAfterSeveralDenialsAndGrow) {
  Rule rule{.id = "r", .quota = quota(0, 1s)};
  rule.denial = {
      .blocks = {1min, 10min}, .block_after = 3, .block_window = 30s, .block_memory = 24h};
  const auto denials_until_blocked = [&] {
    int denials = 0;
    while (blocks_.empty() && denials < 100) {
      hit(rule);
      ++denials;
      now_ += 1s;
    }
    return denials;
  };
  const auto length = [&] {
    const Block block = blocks_.list("r", 1, now_).front();
    return block.until - block.since;
  };
  EXPECT_EQ(denials_until_blocked(), 3);
  EXPECT_EQ(length(), 1min);
  for (int i = 0; i < 3; ++i) {
    now_ += 11min;
    blocks_.expire(now_);
    EXPECT_EQ(denials_until_blocked(), 3);
    EXPECT_EQ(length(), 10min);
  }
  now_ += 25h;
  blocks_.expire(now_);
  denials_until_blocked();
  EXPECT_EQ(length(), 1min) << "forgiven";
}

TEST_F(AsksTest, WhoGoesOnIsNeverBlockedForLess) {
  Rule rule{.id = "r", .quota = quota(0, 1s)};
  rule.denial = {.blocks = {1min, 10min}, .block_memory = 30min};
  hit(rule);
  for (int i = 0; i < 100; ++i) {
    now_ = blocks_.list("r", 1, now_).front().until;
    blocks_.expire(now_);
    hit(rule);
    const Block block = blocks_.list("r", 1, now_).front();
    EXPECT_EQ(block.until - block.since, 10min) << i;
  }
}

// The store has room for 1,024 keys, and all of them have nothing left.
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

TEST_F(AsksTest, ShadowsLooksAndGivingBackBlockNobody) {
  Rule rule{.id = "r", .quota = quota(0)};
  rule.denial.blocks = {5min};
  rule.shadow = true;
  hit(rule);
  rule.shadow = false;
  decide(Operation::kLook, {{.rule = &rule, .key = "a"}});
  hit(rule, "a", 0);
  hit(rule, "a", -1);
  EXPECT_TRUE(blocks_.empty());
  hit(rule);
  EXPECT_FALSE(blocks_.empty());
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
  UnreachableStore unreachable;
  Engine engine(unreachable, hasher_, traffic_.add_core());
  Asks asks(engine, blocks_);
  const Rule rule{.id = "r", .quota = quota(1)};
  asks.begin(Operation::kSpendEach);
  asks.add({.rule = &rule, .key = "a"});
  EXPECT_EQ(asks.decide(now_), Asks::Progress::kUnavailable);
  EXPECT_EQ(traffic_.summary(now_).store_errors, 1u);
}

}  // namespace
}  // namespace weir
