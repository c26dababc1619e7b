#include "store/redis/async/async_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);  // a minute begins
constexpr Duration kInterval = 100ms;
constexpr Duration kRedisAhead = 3s;
constexpr auto kWhole = AsyncKey::IsWhole::kYes;
using Trust = AsyncKey::Trust;

const Quota kQuota =
    *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = 100, .window = 1min});

// The state if Redis has counted so many units in the current window.
SyncedState counted(std::int64_t units) {
  return {epoch_us(kNow + kRedisAhead) / 60'000'000 * 60'000'000, units, 0, 0};
}

struct Step {
  std::string_view what;
  std::int64_t units = 0;
  std::int64_t left;         // by the copy, after the step
  AsyncKey::Owed owed = {};  // likewise
};

using Units = std::int64_t;
const std::map<std::string_view, std::function<void(AsyncKey&, Units)>> kSteps = {
    {"spend", [](auto& key, Units units) { key.spend(Operation::kSpendEach, units, kNow); }},
    {"charge", [](auto& key, Units units) { key.spend(Operation::kCharge, units, kNow); }},
    {"drain", [](auto& key, Units units) { key.spend(Operation::kDrain, units, kNow); }},
    {"alone", [](auto& key, Units units) { key.admit(units, units, kNow); }},
    {"enter", [](auto& key, Units units) { EXPECT_EQ(key.enter(), units); }},
    {"take back", [](auto& key, Units units) { EXPECT_TRUE(key.take_back(-units, kNow)); }},
    {"cannot take back", [](auto& key, Units units) { EXPECT_FALSE(key.take_back(-units, kNow)); }},
    {"give back", [](auto& key, Units units) { key.give_back(-units, kNow); }},
    {"forget", [](auto& key, Units) { key.forget(); }},
    {"set out", [](auto& key, Units) { key.set_out(kNow); }},
    {"leave", [](auto& key, Units units) { EXPECT_EQ(key.leave(), units); }},
    {"receive",
     [](auto& key, Units units) { EXPECT_TRUE(key.receive(counted(units), kRedisAhead, kNow)); }},
    {"receive in vain",
     [](auto& key, Units units) { EXPECT_FALSE(key.receive(counted(units), kRedisAhead, kNow)); }},
    {"lose", [](auto& key, Units) { key.lose(AsyncKey::IsThere::kNo, kNow); }},
};

// All ways of units through a key.
TEST(AsyncKey, KnowsWhatIsLeftAndWhatItOwes) {
  const std::vector<std::vector<Step>> lives = {
      {{"spend", 10, 90, {10, 0}},
       {"set out", 0, 90, {10, 0}},
       {"spend", 1, 89, {11, 0}},  // before it leaves
       {"enter", 11, 89, {11, 11}},
       {"leave", 11, 89, {11, 11}},
       {"spend", 2, 87, {13, 11}},
       {"receive", 40, 58, {2, 0}},
       {"spend", 59, 58, {2, 0}},
       {"drain", 59, 0, {60, 0}},
       {"charge", 7, 0, {67, 0}}},
      // Nobody knows whether Redis has charged the sync: it is pushed again.
      {{"spend", 10, 90, {10, 0}},
       {"set out", 0, 90, {10, 0}},
       {"enter", 10, 90, {10, 10}},
       {"leave", 10, 90, {10, 10}},
       {"spend", 5, 85, {15, 10}},
       {"lose", 0, 85, {15, 10}},
       {"set out", 0, 85, {15, 10}},
       {"enter", 5, 85, {15, 15}},
       {"leave", 15, 85, {15, 15}}},
      // Refunds of units that Redis has not charged need no trip.
      {{"spend", 10, 90, {10, 0}},
       {"take back", 4, 94, {6, 0}},
       {"cannot take back", 7, 94, {6, 0}},
       {"set out", 0, 94, {6, 0}},
       {"enter", 6, 94, {6, 6}},
       {"leave", 6, 94, {6, 6}},
       {"cannot take back", 1, 94, {6, 6}},
       {"give back", 1, 95, {6, 6}},
       {"receive in vain", 6, 95, {0, 0}}},
      // A reset voids everything.
      {{"spend", 10, 90, {10, 0}},
       {"set out", 0, 90, {10, 0}},
       {"enter", 10, 90, {10, 10}},
       {"leave", 10, 90, {10, 10}},
       {"spend", 5, 85, {15, 10}},
       {"forget", 0, 100, {0, 0}},
       {"spend", 1, 99, {1, 0}},
       {"receive in vain", 60, 99, {1, 0}}},
      // This node's counters have the units that it admitted alone.
      {{"alone", 30, 70, {30, 30}}, {"spend", 1, 69, {31, 30}}, {"enter", 1, 69, {31, 31}}},
  };
  for (std::size_t life = 0; life < lives.size(); ++life) {
    AsyncKey key(kQuota, kRedisAhead);
    for (const Step& step : lives[life]) {
      SCOPED_TRACE("life " + std::to_string(life) + ": " + std::string(step.what));
      kSteps.at(step.what)(key, step.units);
      EXPECT_EQ(key.look(kQuota, 0, kNow).remaining, step.left);
      EXPECT_EQ(key.owed().units, step.owed.units);
      EXPECT_EQ(key.owed().entered, step.owed.entered);
    }
  }
}

class AsyncKeyTest : public ::testing::Test {
 protected:
  void sync(std::int64_t units_in_redis, Instant now = kNow) {
    key_.set_out(now);
    key_.enter();
    key_.leave();
    key_.receive(counted(units_in_redis), kRedisAhead, now);
  }
  Trust trust(Operation operation, Duration later, AsyncKey::IsWhole is_whole = kWhole) const {
    return key_.trust(operation, is_whole, kInterval, kNow + later);
  }

  AsyncKey key_{kQuota, kRedisAhead};
};

TEST_F(AsyncKeyTest, ANewKeyIsTakenForUntouchedIfRedisIsWhole) {
  EXPECT_EQ(trust(Operation::kSpendEach, 0s), Trust::kYes);
  EXPECT_EQ(trust(Operation::kSpendEach, 0s, AsyncKey::IsWhole::kNo), Trust::kNo);
  EXPECT_EQ(trust(Operation::kLook, 0s), Trust::kNo);
}

TEST_F(AsyncKeyTest, LooksAndDenialsWantACopyOfThisInterval) {
  sync(100);
  EXPECT_EQ(trust(Operation::kLook, kInterval - 1us), Trust::kYes);
  EXPECT_EQ(trust(Operation::kLook, kInterval), Trust::kNo);
  EXPECT_EQ(trust(Operation::kSpendEach, kInterval), Trust::kYes);
  EXPECT_FALSE(key_.spend(Operation::kSpendEach, 1, kNow).allowed());
  EXPECT_EQ(trust(Operation::kSpendEach, kInterval - 1us), Trust::kYes);
  EXPECT_EQ(trust(Operation::kSpendEach, kInterval), Trust::kNo);
}

TEST_F(AsyncKeyTest, AKeyIsLostUntilASyncSucceeds) {
  sync(1);
  key_.set_out(kNow);
  key_.lose(AsyncKey::IsThere::kNo, kNow);
  EXPECT_EQ(trust(Operation::kSpendEach, 0s), Trust::kYes) << "all are, and the store knows";
  key_.lose(AsyncKey::IsThere::kYes, kNow);
  EXPECT_EQ(trust(Operation::kSpendEach, AsyncKey::kLostFor - 1us), Trust::kLost);
  EXPECT_EQ(trust(Operation::kSpendEach, AsyncKey::kLostFor), Trust::kNo);
  sync(1);
  EXPECT_EQ(trust(Operation::kSpendEach, 0s), Trust::kYes);
}

TEST_F(AsyncKeyTest, IsCalmWhileLittleIsUsedAndAlmostNothingIsPending) {
  const auto is_calm = [&](std::int64_t untold_part, Duration later) {
    return key_.is_calm(key_.look(kQuota, 0, kNow), untold_part, kInterval, kNow + later);
  };
  EXPECT_FALSE(is_calm(10, 0s)) << "no copy yet";
  sync(40);
  key_.spend(Operation::kSpendEach, 9, kNow);
  EXPECT_TRUE(is_calm(10, 0s));
  EXPECT_FALSE(is_calm(11, 0s));
  EXPECT_FALSE(is_calm(10, 30s)) << "half of the window";
  EXPECT_EQ(key_.calm_until(kInterval, 0), kNow + 22'500ms);
  EXPECT_EQ(key_.calm_until(kInterval, 8), kNow + 26'250ms);
  key_.spend(Operation::kSpendEach, 2, kNow);
  EXPECT_FALSE(is_calm(8, 0s)) << "less than half is left";
  sync(40);
  key_.admit(1, 1, kNow);
  EXPECT_FALSE(is_calm(10, 0s));
}

TEST_F(AsyncKeyTest, WhatWasAdmittedAloneIsPushedAsFarAsItStillCounts) {
  key_.admit(30, 30, kNow);
  EXPECT_EQ(key_.drop_expired(kNow + 56s), 0);
  EXPECT_EQ(key_.drop_expired(kNow + 57s), 30) << "by Redis's clock the window is over";
  EXPECT_EQ(key_.owed().units, 0);
  EXPECT_FALSE(key_.is_alone());
}

TEST_F(AsyncKeyTest, FollowsAnotherQuota) {
  const Quota more =
      *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = 200, .window = 1min});
  key_.spend(Operation::kSpendEach, 10, kNow);
  EXPECT_FALSE(key_.follow(kQuota));
  EXPECT_TRUE(key_.follow(more));
  EXPECT_EQ(key_.spend(Operation::kSpendEach, 1, kNow).remaining, 189);
}

TEST_F(AsyncKeyTest, AGroupThatDoesNotFitIsUndone) {
  key_.spend(Operation::kSpendAll, 10, kNow);
  const AsyncKey::Mark mark = key_.mark();
  key_.spend(Operation::kSpendAll, 80, kNow);
  key_.undo(mark);
  EXPECT_EQ(key_.look(kQuota, 0, kNow).remaining, 90);
  EXPECT_EQ(key_.owed().units, 10);
}

}  // namespace
}  // namespace weir
