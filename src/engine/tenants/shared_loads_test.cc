// Large loads, which Redis puts aside for one node at a time.

#include <gtest/gtest.h>

#include "engine/tenants/shared_tenants_testing.h"

namespace weir {
namespace {

using namespace testing;

TEST_F(SharedTenantsTest, ALargeOneIsPutAsideAndHoldsAtOnce) {
  ASSERT_EQ(one_.put({&one_}, "old", 1, 1), Outcome::kTaken);
  settle(both_);
  auto outcome = std::async(std::launch::async, [&] { return one_.put("k", 3000, 2); });
  int beats = 0;
  while (outcome.wait_for(1us) != std::future_status::ready) {
    one_.shared.hear(redis_.answer(one_.shared.say(), &one_), Instant{});
    two_.beat();
    ++beats;
    EXPECT_TRUE(two_.table().size() <= 1 || two_.table().size() == 3001) << "all or nothing";
  }
  EXPECT_EQ(outcome.get(), Outcome::kTaken);
  settle(both_);
  EXPECT_EQ(two_.table().size(), 3001u);
  EXPECT_GT(beats, 3000 / 512) << "a beat carries so many buckets";
}

TEST_F(SharedTenantsTest, WhoIsOvertakenTakesItsPagesAway) {
  settle(both_);
  auto outcome = begin_to_put_aside();
  EXPECT_EQ(two_.put({&two_}, "ann", 1, 5), Outcome::kTaken);
  one_.shared.hear(redis_.answer(one_.shared.say(), &one_), Instant{});
  EXPECT_EQ(outcome.get(), Outcome::kOutdated);
  for (int i = 0; i < 2; ++i) one_.beat();
  EXPECT_EQ(redis_.who_puts_aside, nullptr) << "others would wait for nothing";
  EXPECT_TRUE(redis_.aside.empty());
  settle(both_);
  EXPECT_EQ(two_.put({&two_}, "k", 3000, 3), Outcome::kTaken);
}

TEST_F(SharedTenantsTest, AnOutdatedTableIsNotPutAside) {
  settle(both_);
  auto outcome = std::async(std::launch::async, [&] { return one_.put("k", 3000, 2); });
  SharedTenants::Said said;
  while (!said.step) said = one_.shared.say();
  EXPECT_EQ(two_.put({&two_}, "ann", 1, 5), Outcome::kTaken);
  one_.shared.hear(redis_.answer(said, &one_), Instant{});
  EXPECT_EQ(outcome.get(), Outcome::kOutdated);
  EXPECT_EQ(redis_.who_puts_aside, nullptr);
}

TEST_F(SharedTenantsTest, ALargeOneWaitsForItsTurn) {
  settle(both_);
  auto killed = begin_to_put_aside();
  EXPECT_EQ(two_.put({&two_}, "t", 3000, 3), Outcome::kTaken) << "the first is silent";
  settle(both_);
  EXPECT_EQ(killed.get(), Outcome::kOutdated);
  EXPECT_EQ(one_.limit("t2999"), 3);
  EXPECT_EQ(one_.limit("k0"), -1);
}

TEST_F(SharedTenantsTest, WhoDoesNotGetItsTurnHoldsNothingAlone) {
  settle(both_);
  const int stranger = 0;
  redis_.who_puts_aside = &stranger;
  redis_.refused_max = 1'000'000'000;
  auto outcome = std::async(std::launch::async, [&] { return one_.put("k", 3000, 2, 2ms); });
  while (outcome.wait_for(1us) != std::future_status::ready) {
    one_.shared.hear(redis_.answer(one_.shared.say(), &one_), Instant{});
  }
  EXPECT_EQ(outcome.get(), Outcome::kBusy);
  EXPECT_EQ(one_.shared.known().number, 0u);
  EXPECT_EQ(one_.shared.since(), std::nullopt);
  EXPECT_EQ(one_.table().size(), 0u);
  EXPECT_EQ(one_.put({&one_}, "ann", 1, 5), Outcome::kTaken) << "a small one needs no turn";
}

TEST_F(SharedTenantsTest, ASlowNodeHoldsNothingAlone) {
  settle(both_);
  EXPECT_EQ(one_.put("ann", 1, 5, 1us), Outcome::kBusy) << "Redis has not failed";
  EXPECT_EQ(one_.shared.known().number, 0u);
  EXPECT_EQ(one_.put("ann", 1, 5, 0s), Outcome::kAway);
}

TEST_F(SharedTenantsTest, WhatARedisGetsAgainOvertakesNoChange) {
  ASSERT_EQ(one_.put(both_, "ann", 1, 5), Outcome::kTaken);
  settle(both_);
  redis_ = ModelRedis();
  one_.beat();
  auto outcome = std::async(std::launch::async, [&] { return one_.put("bob", 1, 6); });
  while (redis_.head.number == 0) two_.beat();
  while (outcome.wait_for(1us) != std::future_status::ready) {
    one_.shared.hear(redis_.answer(one_.shared.say(), &one_), Instant{});
  }
  EXPECT_EQ(outcome.get(), Outcome::kTaken) << "the other node has put back what it is made on";
}

TEST_F(SharedTenantsTest, ALargeOneWhileAnotherNodeReadsIsReadAgain) {
  ASSERT_EQ(one_.put({&one_}, "k", 3000, 2), Outcome::kTaken);
  two_.beat();
  two_.beat();
  ASSERT_EQ(two_.table().size(), 0u) << "it has read some pages";
  ASSERT_EQ(one_.put({&one_}, "k", 2000, TenantTable::kGone), Outcome::kTaken);
  settle(both_);
  EXPECT_EQ(two_.table().size(), 1000u);
  EXPECT_EQ(two_.put(both_, "bob", 1, 7), Outcome::kTaken);
}

}  // namespace
}  // namespace weir
