// Asks of rules that count over all places, with their own fleet and their own names of keys, next
// to rules of the place.

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/asks/asks_pool.h"
#include "engine/tenants/tenant_table.h"
#include "engine/testing/late_store.h"
#include "rules/time/time_zone.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Progress = Asks::Progress;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

Rule rule_of(std::string id, std::int64_t limit, Mode mode) {
  Rule rule;
  rule.id = std::move(id);
  rule.quota = *Quota::make({.limit = limit, .window = 1min});
  rule.mode = mode;
  return rule;
}

HashSecret secret_of_all() {
  HashSecret secret;
  for (std::size_t i = 0; i < secret.bytes.size(); ++i) secret.bytes[i] = std::byte(i * i % 251);
  return secret;
}

class AsksWorldTest : public ::testing::Test {
 protected:
  void SetUp() override {
    engine_.join(here_, [] {});
    engine_.world = &everywhere_;
    everywhere_.own_hasher = &hasher_of_all_;
    far_.answer_at_once();
  }

  bool decide(Operation operation, std::initializer_list<Ask> asks) {
    asks_.begin(operation);
    for (const Ask& ask : asks) EXPECT_TRUE(asks_.add(ask));
    asks_.decide(kNow);
    while (asks_.progress() == Progress::kWaits) {
      near_.answer_all();
      engine_.go_on(kNow);
    }
    return asks_.progress() == Progress::kAnswered;
  }
  bool passes(std::initializer_list<Ask> asks) {
    EXPECT_TRUE(decide(Operation::kSpendAll, asks));
    bool all = true;
    for (std::size_t i = 0; i < asks.size(); ++i) all = all && asks_.answer(i).allowed();
    return all;
  }
  std::int64_t left(const Rule& rule) {
    EXPECT_TRUE(decide(Operation::kLook, {{.rule = &rule, .key = "k", .cost = 0}}));
    return asks_.answer(0).decision.remaining;
  }
  std::int64_t left_far(const KeyHasher& hasher, const Rule& rule) {
    PromptBatch batch;
    batch.begin(Operation::kLook);
    batch.add(hasher.hash({.rule = rule.id, .bucket = {}, .key = "k"}, rule.quota), rule.quota, 0);
    EXPECT_TRUE(batch.decide(*far_memory_, kNow));
    return batch.decisions().front().remaining;
  }

  std::unique_ptr<MemoryStore> memory_ = make_memory_store({.max_keys = 1024}, kNow);
  std::unique_ptr<MemoryStore> near_memory_ = make_memory_store({.max_keys = 1024}, kNow);
  std::unique_ptr<MemoryStore> far_memory_ = make_memory_store({.max_keys = 1024}, kNow);
  LateStore near_{*near_memory_};
  LateStore far_{*far_memory_};
  TestFleet here_{near_};
  TestFleet everywhere_{far_, Mode::kWorld};
  KeyHasher hasher_{HashSecret{}};
  KeyHasher hasher_of_all_{secret_of_all()};
  Traffic traffic_;
  Engine engine_{*memory_, hasher_, traffic_.add_core()};
  BlockList blocks_{hasher_};
  Asks asks_{engine_, blocks_};
  const Rule world_ = rule_of("world", 10, Mode::kWorld);
  const Rule place_ = rule_of("place", 10, Mode::kStrict);
  const Rule local_ = rule_of("local", 10, Mode::kLocal);
};

TEST_F(AsksWorldTest, ARuleOfAllPlacesIsCountedThereAndUnderItsNamesAlone) {
  ASSERT_TRUE(passes({{.rule = &world_, .key = "k", .cost = 3}}));
  EXPECT_EQ(asks_.answer(0).mode, Mode::kWorld);
  EXPECT_EQ(left_far(hasher_of_all_, world_), 7);
  EXPECT_EQ(left_far(hasher_, world_), 10);
  EXPECT_EQ(near_.asked(), 0);
}

TEST_F(AsksWorldTest, ACallChoosesNoOtherModeForIt) {
  ASSERT_TRUE(passes({{.rule = &world_, .key = "k", .mode = Mode::kStrict}}));
  EXPECT_EQ(left_far(hasher_of_all_, world_), 9);
}

// In any order.
TEST_F(AsksWorldTest, WhatOneOfThemDeniesTheOthersDoNotCharge) {
  const auto ask = [](const Rule& rule) { return Ask{.rule = &rule, .key = "k", .cost = 4}; };
  for (const Rule* const denying : {&world_, &place_, &local_}) {
    for (const Rule* const rule : {&world_, &place_, &local_}) {
      ASSERT_TRUE(decide(Operation::kReset, {{.rule = rule, .key = "k"}}));
    }
    ASSERT_TRUE(passes({{.rule = denying, .key = "k", .cost = 3}}));
    ASSERT_TRUE(passes({ask(world_), ask(place_), ask(local_)}));
    ASSERT_FALSE(passes({ask(place_), ask(local_), ask(world_)})) << denying->id;
    for (const Rule* const rule : {&world_, &place_, &local_}) {
      EXPECT_EQ(left(*rule), rule == denying ? 3 : 6) << denying->id << " " << rule->id;
    }
    ASSERT_FALSE(passes({{.rule = denying, .key = "k", .cost = 4}, ask(world_), ask(place_)}));
    EXPECT_EQ(left(world_), denying == &world_ ? 3 : 6);
  }
}

// Two requests look before the place's Redis has answered.
TEST_F(AsksWorldTest, WhatComesBetweenItsLookAndItsChargeExceedsTheLimitAndDeniesNobody) {
  Asks other(engine_, blocks_);
  const auto begin = [&](Asks& asks) {
    asks.begin(Operation::kSpendAll);
    ASSERT_TRUE(asks.add({.rule = &world_, .key = "k", .cost = 6}));
    ASSERT_TRUE(asks.add({.rule = &place_, .key = "k", .cost = 1}));
    ASSERT_EQ(asks.decide(kNow), Progress::kWaits);
  };
  begin(asks_);
  begin(other);
  near_.answer_all();
  engine_.go_on(kNow);
  for (const Asks* const asks : {&asks_, &other}) {
    ASSERT_EQ(asks->progress(), Progress::kAnswered);
    EXPECT_TRUE(asks->answer(0).allowed() && asks->answer(1).allowed());
  }
  EXPECT_FALSE(passes({{.rule = &world_, .key = "k"}}));
  EXPECT_EQ(left(place_), 8);
}

// Nodes of other places cannot be seen, or were not seen yet.
TEST_F(AsksWorldTest, APlaceThatIsCutOffDecidesByItsShareAndTellsLater) {
  far_.break_down();
  here_.nodes = 2;
  everywhere_.nodes = 5;
  ASSERT_TRUE(passes({{.rule = &world_, .key = "k", .cost = 2}}));
  EXPECT_TRUE(asks_.answer(0).is_alone);
  EXPECT_FALSE(passes({{.rule = &world_, .key = "k", .cost = 1}}));
  EXPECT_EQ(everywhere_.alone, 2);
  EXPECT_EQ(here_.alone, 0);
  everywhere_.nodes = 1;
  EXPECT_TRUE(passes({{.rule = &world_, .key = "other", .cost = 5}}));
  EXPECT_FALSE(passes({{.rule = &world_, .key = "other", .cost = 1}}));
  Rule strict = world_;
  strict.on_store_failure = OnStoreFailure::kDeny;
  EXPECT_FALSE(passes({{.rule = &strict, .key = "third"}}));
}

TEST_F(AsksWorldTest, LimitsOfTenantsAreSharedByAllPlaces) {
  const TenantTable none{HashSecret{}};
  engine_.tenants = none.edited({.rows = {{.key = none.hash("k"), .limit = 50}}}).table;
  Rule rule = world_;
  rule.has_tenants = true;
  ASSERT_TRUE(passes({{.rule = &rule, .key = "k", .cost = 30}}));
  EXPECT_EQ(left(rule), 20);
  far_.break_down();
  everywhere_.nodes = 5;
  EXPECT_TRUE(passes({{.rule = &rule, .key = "k", .cost = 10}}));
  EXPECT_FALSE(passes({{.rule = &rule, .key = "k"}}));
}

// kNow is midnight in UTC.
TEST_F(AsksWorldTest, WindowsOfCalendarsAreSharedByAllPlaces) {
  Rule rule = world_;
  rule.quota = *Quota::make({Algorithm::kCalendarWindow, 10, 24h});
  rule.calendar = {.zone = find_zone("America/New_York"), .resets_at = 0min};
  ASSERT_TRUE(passes({{.rule = &rule, .key = "k", .cost = 8}}));
  EXPECT_EQ(left(rule), 2);
  EXPECT_EQ(asks_.answer(0).decision.reset_after, 5h);
  EXPECT_EQ(near_.asked(), 0);
  far_.break_down();
  everywhere_.nodes = 5;
  EXPECT_TRUE(passes({{.rule = &rule, .key = "k", .cost = 2}}));
  EXPECT_FALSE(passes({{.rule = &rule, .key = "k"}}));
}

TEST_F(AsksWorldTest, OverdraftsCountThereWhetherOrNotTheyFit) {
  Rule rule = world_;
  rule.overdraft = Rule::Overdraft::kAll;
  ASSERT_TRUE(passes({{.rule = &rule, .key = "k", .cost = 8}, {.rule = &place_, .key = "k"}}));
  EXPECT_EQ(left(rule), 2);
  EXPECT_EQ(left(place_), 9);
  EXPECT_FALSE(passes({{.rule = &rule, .key = "k", .cost = 3}}));
  EXPECT_EQ(left(rule), 0);
}

TEST_F(AsksWorldTest, WhatIsAdmittedBeforeItsNamesAreKnownIsToldByTheTextOfTheKey) {
  far_.break_down();
  everywhere_.is_nameless = true;
  ASSERT_TRUE(passes({{.rule = &world_, .key = "k", .cost = 2}, {.rule = &place_, .key = "k"}}));
  EXPECT_EQ(everywhere_.early, std::vector<std::string>{"world//k 1x2"});
  EXPECT_TRUE(here_.early.empty());
  EXPECT_EQ(everywhere_.alone, 0);
}

TEST_F(AsksWorldTest, ABlockedKeyIsBlockedUnderWhateverName) {
  blocks_.add({.rule = "world", .key = "k", .since = kNow, .until = kNow + 1min}, kNow);
  EXPECT_FALSE(passes({{.rule = &world_, .key = "k"}}));
  EXPECT_EQ(asks_.answer(0).cause, Answer::Cause::kBlocked);
}

}  // namespace
}  // namespace weir
