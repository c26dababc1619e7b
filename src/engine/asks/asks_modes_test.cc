// Asks whose counters are shared: stores that answer late or fail, several modes at once.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/asks/asks_pool.h"
#include "engine/testing/late_store.h"
#include "rules/slots.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Progress = Asks::Progress;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

struct CountingListener final : Asks::Listener {
  void decided() noexcept override { ++decided_count; }
  int decided_count = 0;
};

Quota per_minute(std::int64_t limit) { return *Quota::make({.limit = limit, .window = 1min}); }

Rule rule_of(std::string id, std::int64_t limit, std::optional<Mode> mode = std::nullopt) {
  Rule rule;
  rule.id = std::move(id);
  rule.quota = per_minute(limit);
  rule.mode = mode;
  return rule;
}

class AsksModesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    engine_.join(fleet_, [this] { has_answers_ = true; });
  }

  // Asks all of these together; answers may take several trips.
  bool decide(Operation operation, std::initializer_list<Ask> asks) {
    asks_.begin(operation);
    for (const Ask& ask : asks) EXPECT_TRUE(asks_.add(ask));
    trips_ = 0;
    if (asks_.decide(kNow) == Progress::kWaits) {
      asks_.listen(listener_);
      while (asks_.progress() == Progress::kWaits) {
        ++trips_;
        shared_.answer_all();
        go_on();
      }
    }
    return asks_.progress() == Progress::kAnswered;
  }
  // Does what the loop does when answers have come.
  void go_on() {
    EXPECT_TRUE(std::exchange(has_answers_, false));
    engine_.go_on(kNow);
  }

  const Answer& spend(const Rule& rule, std::string_view key = "k") {
    EXPECT_TRUE(decide(Operation::kSpendEach, {{.rule = &rule, .key = key}}));
    return asks_.answer(0);
  }

  std::unique_ptr<MemoryStore> memory_ = make_memory_store({.max_keys = 1024}, kNow);
  std::unique_ptr<MemoryStore> distant_ = make_memory_store({.max_keys = 1024}, kNow);
  LateStore shared_{*distant_};
  TestFleet fleet_{shared_};
  KeyHasher hasher_{HashSecret{}};
  Traffic traffic_;
  Engine engine_{*memory_, hasher_, traffic_.add_core()};
  BlockList blocks_{hasher_};
  Asks asks_{engine_, blocks_};
  CountingListener listener_;
  bool has_answers_ = false;
  int trips_ = 0;
};

TEST_F(AsksModesTest, WhatIsWaitedForIsChargedAndCountedOnce) {
  const Rule rule = rule_of("r", 10);
  EXPECT_EQ(spend(rule).decision.remaining, 9);
  EXPECT_EQ(spend(rule).decision.remaining, 8);
  EXPECT_EQ(asks_.answer(0).mode, Mode::kStrict);
  EXPECT_EQ(shared_.asked(), 2);
  EXPECT_EQ(listener_.decided_count, 2);
  EXPECT_EQ(traffic_.summary(kNow).total_allowed(), 2u);
}

TEST_F(AsksModesTest, TheCallsModeWinsThenTheRulesThenTheNodes) {
  struct Row {
    std::optional<Mode> call;
    std::optional<Mode> rule;
    Mode decided;
  };
  for (const auto& [call, of_rule, decided] : {
           Row{std::nullopt, std::nullopt, Mode::kStrict},
           Row{std::nullopt, Mode::kLocal, Mode::kLocal},
           Row{std::nullopt, Mode::kAsync, Mode::kAsync},
           Row{Mode::kLocal, Mode::kAsync, Mode::kLocal},
           Row{Mode::kLeased, Mode::kLocal, Mode::kLeased},
       }) {
    const Rule rule = rule_of("r", 10, of_rule);
    ASSERT_TRUE(decide(Operation::kSpendEach, {{.rule = &rule, .key = "k", .mode = call}}));
    EXPECT_EQ(asks_.answer(0).mode, decided);
  }
}

TEST_F(AsksModesTest, ANodeThatIsAloneDecidesEverythingItself) {
  Engine alone(*memory_, hasher_, traffic_.add_core());
  Asks asks(alone, blocks_);
  const Rule rule = rule_of("r", 10, Mode::kStrict);
  asks.begin(Operation::kSpendEach);
  asks.add({.rule = &rule, .key = "k"});
  EXPECT_EQ(asks.decide(kNow), Progress::kAnswered);
  EXPECT_EQ(asks.answer(0).mode, Mode::kLocal);
  EXPECT_EQ(shared_.asked(), 0);
}

TEST_F(AsksModesTest, WhenTheStoreFailsTheNodeHasItsShare) {
  const Rule rule = rule_of("r", 10);
  fleet_.nodes = 5;
  spend(rule);
  shared_.break_down();
  EXPECT_EQ(spend(rule).decision.remaining, 1);
  EXPECT_EQ(asks_.answer(0).mode, Mode::kLocal);
  EXPECT_TRUE(spend(rule).allowed());
  EXPECT_FALSE(spend(rule).allowed());
  EXPECT_EQ(traffic_.summary(kNow).fallbacks, 3u);
  shared_.recover();
  EXPECT_EQ(spend(rule).decision.remaining, 8);  // the store knows its own
}

TEST_F(AsksModesTest, EveryLimitHasAShareOfAtLeastOne) {
  const Rule rule = rule_of("r", 2);
  fleet_.nodes = 5;
  shared_.break_down();
  EXPECT_TRUE(spend(rule).allowed());
  EXPECT_FALSE(spend(rule).allowed());
}

TEST_F(AsksModesTest, ARuleSaysWhatAFailureMeans) {
  Rule open = rule_of("open", 1);
  open.on_store_failure = OnStoreFailure::kAllow;
  Rule closed = rule_of("closed", 10);
  closed.on_store_failure = OnStoreFailure::kDeny;
  shared_.break_down();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(spend(open).allowed());
  EXPECT_EQ(asks_.answer(0).cause, Answer::Cause::kStoreFailed);
  EXPECT_FALSE(spend(closed).allowed());
  EXPECT_EQ(asks_.answer(0).decision.retry_after, 1s);
}

TEST_F(AsksModesTest, OneRuleThatFailsClosedLeavesTheOthersUncharged) {
  const Rule counted = rule_of("counted", 10);
  Rule closed = rule_of("closed", 10);
  closed.on_store_failure = OnStoreFailure::kDeny;
  shared_.break_down();
  ASSERT_TRUE(decide(Operation::kSpendAll,
                     {{.rule = &counted, .key = "k"}, {.rule = &closed, .key = "k"}}));
  EXPECT_EQ(spend(counted).decision.remaining, 9);
}

TEST_F(AsksModesTest, ADenialInOneModeGivesBackWhatAnotherCharged) {
  const Rule local = rule_of("local", 10, Mode::kLocal);
  const Rule leased = rule_of("leased", 10, Mode::kLeased);
  const Rule strict = rule_of("strict", 0, Mode::kStrict);
  ASSERT_TRUE(decide(Operation::kSpendAll, {{.rule = &strict, .key = "k"},
                                            {.rule = &leased, .key = "k"},
                                            {.rule = &local, .key = "k"}}));
  EXPECT_FALSE(asks_.answer(0).allowed());
  EXPECT_EQ(asks_.answer(1).decision.remaining, 10);
  EXPECT_EQ(asks_.answer(2).decision.remaining, 10);
  EXPECT_EQ(spend(local).decision.remaining, 9);
  EXPECT_EQ(spend(leased).decision.remaining, 9);
}

TEST_F(AsksModesTest, WhatIsGivenBackInOneModeWaitsForTheOthers) {
  const Rule local = rule_of("local", 10, Mode::kLocal);
  const Rule strict = rule_of("strict", 0, Mode::kStrict);
  for (int i = 0; i < 5; ++i) spend(local);
  ASSERT_TRUE(decide(Operation::kSpendAll,
                     {{.rule = &local, .key = "k", .cost = -5}, {.rule = &strict, .key = "k"}}));
  EXPECT_EQ(spend(local).decision.remaining, 4);
  const Rule open = rule_of("open", 10, Mode::kStrict);
  ASSERT_TRUE(decide(Operation::kSpendAll,
                     {{.rule = &local, .key = "k", .cost = -5}, {.rule = &open, .key = "k"}}));
  EXPECT_EQ(spend(local).decision.remaining, 8);
}

TEST_F(AsksModesTest, WhatAFailingStoreLetPassIsNotGivenBack) {
  Rule lenient = rule_of("lenient", 10, Mode::kAsync);
  const Rule local = rule_of("lenient", 10, Mode::kLocal);  // uses the same counter on this node
  lenient.on_store_failure = OnStoreFailure::kAllow;
  Rule closed = rule_of("closed", 10, Mode::kStrict);
  closed.on_store_failure = OnStoreFailure::kDeny;
  spend(local);
  shared_.break_down();
  ASSERT_TRUE(decide(Operation::kSpendAll,
                     {{.rule = &lenient, .key = "k"}, {.rule = &closed, .key = "k"}}));
  EXPECT_EQ(spend(local).decision.remaining, 8);
}

TEST_F(AsksModesTest, ALocalDenialTakesNoTripThatCharges) {
  const Rule local = rule_of("local", 0, Mode::kLocal);
  const Rule strict = rule_of("strict", 10, Mode::kStrict);
  ASSERT_TRUE(
      decide(Operation::kSpendAll, {{.rule = &strict, .key = "k"}, {.rule = &local, .key = "k"}}));
  EXPECT_FALSE(asks_.answer(1).allowed());
  EXPECT_EQ(spend(strict).decision.remaining, 9);
}

TEST_F(AsksModesTest, SeveralLimitsOfARuleAreOneBatchInOnePlace) {
  Rule rule = rule_of("r", 10);
  rule.limits = {per_minute(10), *Quota::make({.limit = 2, .window = 1h})};
  EXPECT_TRUE(spend(rule).allowed());
  EXPECT_TRUE(spend(rule).allowed());
  EXPECT_FALSE(spend(rule).allowed());
  EXPECT_EQ(shared_.asked(), 3);
}

TEST_F(AsksModesTest, LeasedAsksAreOneBatchIfMemoryKnowsOfAll) {
  const Rule rule = rule_of("r", 10, Mode::kLeased);
  const Ask ask{.rule = &rule, .key = "k"};
  ASSERT_TRUE(decide(Operation::kSpendEach, {ask, ask, ask}));
  EXPECT_EQ(shared_.asked(), 3);
  fleet_.at_hand = &*distant_;
  ASSERT_TRUE(decide(Operation::kSpendEach, {ask, ask, ask}));
  EXPECT_EQ(shared_.asked(), 3);
  EXPECT_EQ(asks_.answer(2).decision.remaining, 4);
}

TEST_F(AsksModesTest, ALateDenialBlocksOnce) {
  Rule rule = rule_of("r", 0);
  rule.denial.blocks = {1min, 1h};
  spend(rule);
  EXPECT_EQ(blocks_.until("r", "k", kNow), kNow + 1min);
}

TEST_F(AsksModesTest, WhatIsAdmittedWhileTheStoreFailsIsToldOnce) {
  Rule several = rule_of("several", 10);
  several.limits = {per_minute(10), *Quota::make({.limit = 2, .window = 1h})};
  Rule lenient = rule_of("lenient", 10);
  lenient.on_store_failure = OnStoreFailure::kAllow;
  const Rule none = rule_of("none", 0);
  EXPECT_TRUE(spend(several).allowed());
  EXPECT_EQ(fleet_.alone, 0);
  shared_.break_down();
  EXPECT_TRUE(spend(several).allowed());
  EXPECT_EQ(fleet_.alone, 2);  // one of each limit
  EXPECT_TRUE(spend(several).allowed());
  EXPECT_FALSE(spend(several).allowed());
  EXPECT_EQ(fleet_.alone, 4);
  EXPECT_TRUE(spend(lenient).allowed());  // nothing is counted
  EXPECT_EQ(fleet_.alone, 4);
  ASSERT_TRUE(decide(Operation::kLook, {{.rule = &lenient, .key = "k"}}));
  ASSERT_TRUE(
      decide(Operation::kSpendAll, {{.rule = &lenient, .key = "k"}, {.rule = &none, .key = "k"}}));
  EXPECT_EQ(fleet_.alone, 4);
}

// Regression: units admitted before the node knew the common names were charged to nobody.
TEST_F(AsksModesTest, WhatIsAdmittedBeforeKeysHaveCommonNamesIsToldByItsTexts) {
  Rule several = rule_of("several", 10);
  several.limits = {per_minute(10), *Quota::make({.limit = 2, .window = 1h})};
  shared_.break_down();
  engine_.await_hasher();
  EXPECT_TRUE(spend(several).allowed());
  std::string key = "anybody";
  asks_.begin(Operation::kSpendEach);
  asks_.add({.quota = per_minute(5),
             .bucket = "b",
             .key = key,
             .cost = 7,
             .counting = Ask::Counting::kAlways});
  key = "another";  // texts of asks may change once they are added
  ASSERT_EQ(asks_.decide(kNow), Asks::Progress::kAnswered);
  EXPECT_FALSE(asks_.answer(0).allowed());
  EXPECT_EQ(fleet_.early, (std::vector<std::string>{"several//k 2x1", "/b/anybody 1x7"}));
  EXPECT_EQ(fleet_.alone, 0);
  engine_.use_hasher(hasher_);
  EXPECT_TRUE(spend(several).allowed());
  EXPECT_EQ(fleet_.early.size(), 2u);
  EXPECT_EQ(fleet_.alone, 2);
}

TEST_F(AsksModesTest, OneThatFailsHasTheOthersChargedOnce) {
  const Rule rule = rule_of("r", 10, Mode::kLeased);
  asks_.begin(Operation::kSpendEach);
  for (const auto* key : {"bad", "a", "worse", "b"}) asks_.add({.rule = &rule, .key = key});
  ASSERT_EQ(asks_.decide(kNow), Progress::kWaits);
  for (int i = 0; i < 2; ++i) {
    shared_.fail_one();
    shared_.answer_one();
  }
  go_on();
  ASSERT_EQ(asks_.progress(), Progress::kAnswered);
  EXPECT_EQ(shared_.asked(), 4);
  EXPECT_EQ(asks_.answer(0).mode, Mode::kLocal);
  EXPECT_EQ(asks_.answer(1).decision.remaining, 9);
  EXPECT_EQ(asks_.answer(3).mode, Mode::kLeased);
}

TEST_F(AsksModesTest, WhereOneMachineMayFailTheOthersDecideTheirOwn) {
  const Rule rule = rule_of("r", 10);
  fleet_.spread = true;
  asks_.begin(Operation::kSpendEach);
  for (const std::string_view key : {"a", "b"}) asks_.add({.rule = &rule, .key = key});
  ASSERT_EQ(asks_.decide(kNow), Progress::kWaits);
  shared_.fail_one();
  shared_.answer_one();
  go_on();
  ASSERT_EQ(asks_.progress(), Progress::kAnswered);
  EXPECT_EQ(asks_.answer(0).mode, Mode::kLocal);
  EXPECT_EQ(asks_.answer(1).mode, Mode::kStrict);
}

TEST_F(AsksModesTest, ALongListIsAskedBeforeAnythingIsWaitedFor) {
  const Rule rule = rule_of("r", 1);
  asks_.begin(Operation::kSpendEach);
  for (std::size_t i = 0; i < Asks::kAsksMax; ++i) {
    ASSERT_TRUE(asks_.add({.rule = &rule, .key = "k" + std::to_string(i)}));
  }
  EXPECT_FALSE(asks_.add({.rule = &rule, .key = "one too many"}));
  ASSERT_EQ(asks_.decide(kNow), Progress::kWaits);
  EXPECT_EQ(shared_.waiting(), Asks::kAsksMax / Batch::kChargesMax);
  shared_.answer_all();
  go_on();
  ASSERT_EQ(asks_.progress(), Progress::kAnswered);
  for (std::size_t i = 0; i < Asks::kAsksMax; ++i) EXPECT_TRUE(asks_.answer(i).allowed());
}

TEST_F(AsksModesTest, WhatAShadowWouldHaveSaidTakesASecondTrip) {
  const Rule strict = rule_of("strict", 10, Mode::kStrict);
  Rule shadow = rule_of("shadow", 0, Mode::kStrict);
  shadow.shadow = true;
  ASSERT_TRUE(
      decide(Operation::kSpendAll, {{.rule = &shadow, .key = "k"}, {.rule = &strict, .key = "k"}}));
  EXPECT_EQ(trips_, 2);
  EXPECT_TRUE(asks_.answer(0).allowed());
  EXPECT_TRUE(asks_.answer(0).over);
}

TEST_F(AsksModesTest, WhatIsAskedForARequestThatWentAwayIsDecidedToItsEnd) {
  const Rule local = rule_of("local", 10, Mode::kLocal);
  const Rule none = rule_of("none", 0, Mode::kStrict);
  AsksPool pool(engine_, blocks_, nullptr, DenialDoor::kHttp);
  AsksPtr asks = pool.take(Operation::kSpendAll);
  for (const Rule* rule : {&local, &none}) asks->add({.rule = rule, .key = "k"});
  ASSERT_EQ(asks->decide(kNow), Progress::kWaits);
  asks->listen(listener_);
  asks.reset();
  shared_.answer_all();
  go_on();
  EXPECT_EQ(listener_.decided_count, 0);
  EXPECT_EQ(spend(local).decision.remaining, 9);  // the denial has given it back
  EXPECT_EQ(traffic_.summary(kNow).total_denied(), 1u);
}

TEST_F(AsksModesTest, ADenialIsRememberedWithTheRequestThatHasGoneMeanwhile) {
  traffic_.keep_key_texts();
  Engine engine(*memory_, hasher_, traffic_.add_core());
  engine.join(fleet_, [this] { has_answers_ = true; });
  AsksPool pool(engine, blocks_, nullptr, DenialDoor::kNginx);
  const Rule none = rule_of("none", 0);
  AsksPtr asks = pool.take(Operation::kSpendAll);
  {
    const std::string path = "/login/" + std::string(100, 'x');
    const std::string country = "nl";
    std::string key(40, 'k');
    asks->describe({.path = path, .country = country});
    asks->add({.rule = &none, .key = key, .client = IpAddress::parse("192.0.2.1")});
    asks->add({.quota = per_minute(0), .key = key});
    ASSERT_EQ(asks->decide(kNow), Progress::kWaits);
    key.assign(40, '!');  // the next request's
  }
  asks.reset();
  shared_.answer_all();
  engine.go_on(kNow);
  std::vector<DenialRecord> denials;
  traffic_.each_denial(0, CoreDenials::second_of(kNow),
                       [&](const DenialRecord& one) { denials.push_back(one); });
  ASSERT_EQ(denials.size(), 2u);
  for (const DenialRecord& denial : denials) EXPECT_EQ(denial.key, std::string(40, 'k'));
  EXPECT_EQ(denials.front().path, "/login/" + std::string(57, 'x'));
  EXPECT_EQ(denials.front().country, (std::array{'N', 'L'}));
  EXPECT_EQ(denials.front().client.to_string(), "192.0.2.1");
  EXPECT_EQ(denials.front().door, DenialDoor::kNginx);
}

TEST_F(AsksModesTest, AReloadDoesNotTakeTheRulesFromWhatWaits) {
  auto rules = std::make_shared<const RuleSet>(std::vector<Rule>{rule_of("r", 0)});
  AsksPool pool(engine_, blocks_, nullptr, DenialDoor::kHttp);
  pool.use_rules(rules);
  AsksPtr asks = pool.take(Operation::kSpendEach);
  asks->add({.rule = rules->find("r"), .key = "k"});
  ASSERT_EQ(asks->decide(kNow), Progress::kWaits);
  pool.use_rules(nullptr);
  const std::weak_ptr<const RuleSet> gone = rules;
  rules.reset();
  asks.reset();  // the client leaves
  EXPECT_FALSE(gone.expired());
  shared_.answer_all();
  go_on();
  EXPECT_TRUE(gone.expired());
}

TEST_F(AsksModesTest, ARuleInNoSetStaysWhileItsAsksWait) {
  AsksPool pool(engine_, blocks_, nullptr, DenialDoor::kHttp);
  auto rule = ruleless_holds(per_minute(10), Mode::kStrict);
  AsksPtr asks = pool.take(Operation::kSpendEach);
  asks->add({.rule = rule.get(), .key = "k"});
  asks->keep_rule(rule);
  const std::weak_ptr<const Rule> gone = std::exchange(rule, nullptr);
  ASSERT_EQ(asks->decide(kNow), Progress::kWaits);
  asks.reset();  // the client leaves
  EXPECT_FALSE(gone.expired());
  shared_.answer_all();
  go_on();
  EXPECT_TRUE(gone.expired());
}

TEST_F(AsksModesTest, AsksThatWaitAreNotTakenAgain) {
  auto rules = std::make_shared<const RuleSet>(std::vector<Rule>{rule_of("r", 10)});
  AsksPool pool(engine_, blocks_, rules, DenialDoor::kHttp);
  AsksPtr asks = pool.take(Operation::kSpendEach);
  asks->add({.rule = rules->find("r"), .key = "k"});
  ASSERT_EQ(asks->decide(kNow), Progress::kWaits);
  const Asks* const waiting = asks.get();
  pool.take_again(asks, Operation::kSpendEach);
  EXPECT_NE(asks.get(), waiting);
  shared_.answer_all();
  go_on();
  EXPECT_EQ(traffic_.summary(kNow).total_allowed(), 1u);
}

TEST_F(AsksModesTest, NothingIsFreedWhileTheStoreFails) {
  Rule rule = rule_of("r", 10);
  rule.on_store_failure = OnStoreFailure::kAllow;
  shared_.break_down();
  EXPECT_FALSE(decide(Operation::kReset, {{.rule = &rule, .key = "k"}}));
  ASSERT_TRUE(decide(Operation::kSpendEach, {{.rule = &rule, .key = "k", .cost = -3}}));
  EXPECT_FALSE(asks_.answer(0).allowed());
}

TEST_F(AsksModesTest, ANodeThatDecidesAloneBlocksNobody) {
  Rule rule = rule_of("r", 0);
  rule.denial.blocks = {1min};
  shared_.break_down();
  EXPECT_FALSE(spend(rule).allowed());
  EXPECT_FALSE(blocks_.until("r", "k", kNow));
}

TEST_F(AsksModesTest, WhatCountsAlwaysIsPushedWhateverANodeAloneHasSaid) {
  Rule rule = rule_of("r", 10);
  rule.overdraft = Rule::Overdraft::kAll;
  shared_.break_down();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(decide(Operation::kSpendEach, {{.rule = &rule, .key = "k", .cost = 7}}));
  }
  EXPECT_FALSE(asks_.answer(0).allowed());
  EXPECT_EQ(fleet_.alone, 14);
}

}  // namespace
}  // namespace weir
