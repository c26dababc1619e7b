// The sender over a client that the test controls.

#include "store/redis/calls/redis_sender.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "proto/reactor_testing.h"
#include "store/redis/calls/calls_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);
constexpr Duration kPatience = 500ms;
using Lane = Departure::Lane;

// Notes the outcomes of errands of one charge each.
struct Journal final : ErrandOwner {
  bool pack(Errand& errand, ChargeCall& words, Instant now) override {
    if (errand.number == void_number) return false;
    const Charge charge{.key = {errand.number, errand.number}, .quota = &quota};
    errand.deadline = now + (errand.is_patient() ? kPatience : 20ms);
    words.add(ScriptOperation::kSpendEach, {&charge, 1});
    packed.push_back(errand.number);
    return true;
  }
  ChargeFailure answered(const Errand& errand, ChargeReplies& replies, Instant, Instant) override {
    if (!errand.is_lost) done.push_back(errand.number);
    return replies.skip(1);
  }
  void lost(const Errand& errand, Instant) override { gone.push_back(errand.number); }

  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 10, 1min});
  std::uint32_t void_number = 0;
  std::vector<std::uint32_t> packed;
  std::vector<std::uint32_t> done;
  std::vector<std::uint32_t> gone;
};
using Numbers = std::vector<std::uint32_t>;

class RedisSenderTest : public ::testing::Test {
 protected:
  void start(KeySpread spread) {
    sender_.emplace(RedisStoreOptions{.spread = spread}, client_, reactor_, nobody_);
  }
  // In a cluster `key` decides its slot.
  bool add(std::uint32_t number, ScriptOperation operation, const Departure& departure = {},
           std::uint64_t key = 1) {
    const Charge first{.key = {key, key}, .quota = &journal_.quota};
    return sender_->add({.owner = &journal_, .number = number, .operation = operation}, first,
                        departure, kStart);
  }
  bool lease(std::uint32_t number, const Departure& departure = {}) {
    return add(number, ScriptOperation::kLease, departure);
  }
  bool sync(std::uint32_t number, std::uint64_t key = 1) {
    return add(number, ScriptOperation::kSync, {.lane = Lane::kPatient}, key);
  }
  bool is_closed() const { return sender_->breaker().closed(); }

  ManualReactor reactor_;
  FakeClient client_;
  Nobody nobody_;
  Journal journal_;
  std::optional<RedisSender> sender_{std::in_place, RedisStoreOptions{}, client_, reactor_,
                                     nobody_};
};

TEST_F(RedisSenderTest, ErrandsOfAllModesShareACallThePromptFirst) {
  EXPECT_TRUE(sync(1));
  EXPECT_TRUE(lease(2));
  EXPECT_TRUE(add(3, ScriptOperation::kReturn));
  reactor_.run(kStart);
  EXPECT_EQ(client_.calls, 1);
  EXPECT_EQ(journal_.packed, (Numbers{2, 3, 1}));
  EXPECT_EQ(client_.sent[0].deadline, kStart + kPatience);
  client_.answer({1, 640, 50, 640, 50, 640, 50}, kStart + 1ms);
  EXPECT_EQ(journal_.done, (Numbers{2, 3, 1}));
  EXPECT_EQ(reactor_.next(), Instant::max());
  EXPECT_EQ(sender_->counts().calls, 0u) << "that decide";
}

TEST_F(RedisSenderTest, WhatIsNotDueWaitsForItOrForOthers) {
  EXPECT_TRUE(lease(1, {.due = kStart + 20ms, .latest = kStart + 20ms}));
  reactor_.run(kStart);
  EXPECT_EQ(client_.calls, 0);
  EXPECT_EQ(reactor_.next(), kStart + 20ms);
  reactor_.run(kStart + 20ms);
  EXPECT_EQ(client_.calls, 1);
  EXPECT_TRUE(lease(2, {.due = kStart + 40ms, .latest = kStart + 40ms}));
  EXPECT_TRUE(lease(3));
  reactor_.run(kStart + 21ms);
  EXPECT_EQ(journal_.packed, (Numbers{1, 2, 3}));
  EXPECT_TRUE(lease(4, {.due = kStart + 40ms, .latest = kStart + 40ms}));
  sender_->hurry();
  reactor_.run(kStart + 22ms);
  EXPECT_EQ(client_.calls, 3);
}

TEST_F(RedisSenderTest, WhatHasNothingToAskIsLeftOut) {
  journal_.void_number = 1;
  EXPECT_TRUE(lease(1));
  reactor_.run(kStart);
  EXPECT_EQ(client_.calls, 0);
  EXPECT_TRUE(lease(1));
  EXPECT_TRUE(lease(2));
  reactor_.run(kStart);
  client_.answer({1, 640, 50}, kStart);
  EXPECT_EQ(journal_.done, Numbers{2});
}

TEST_F(RedisSenderTest, InAClusterErrandsOfOneKeyKeepTheirOrder) {
  start(KeySpread::kCluster);
  Numbers in_order;
  for (std::uint32_t number = 0; number < 100; ++number) {
    EXPECT_TRUE(sync(1 + number, 1));
    EXPECT_TRUE(sync(1000, 2 + number % 8));
    in_order.push_back(1 + number);
  }
  reactor_.run(kStart);
  EXPECT_EQ(client_.calls, 9);
  std::erase(journal_.packed, 1000u);
  EXPECT_EQ(journal_.packed, in_order);
}

// A master that hangs keeps the calls of syncs out for long.
TEST_F(RedisSenderTest, SyncsLeaveHalfOfTheCallsToOthers) {
  start(KeySpread::kCluster);
  for (std::uint32_t key = 1; key <= 2 * RedisSender::kCallsMax; ++key) EXPECT_TRUE(sync(key, key));
  reactor_.run(kStart);
  EXPECT_EQ(static_cast<std::size_t>(client_.calls), RedisSender::kCallsMax / 2);
  EXPECT_TRUE(lease(7000));
  reactor_.run(kStart);
  EXPECT_EQ(journal_.packed.back(), 7000u);
  const int calls = client_.calls;
  client_.answer({1, 640, 50}, kStart);
  client_.answer({1, 640, 50}, kStart);
  reactor_.run(kStart);
  EXPECT_EQ(client_.calls, calls + 1) << "one of the two makes room for the lease's";
}

TEST_F(RedisSenderTest, WhoWaitsForALeaseIsNotHeldUpByASync) {
  EXPECT_TRUE(lease(1));
  EXPECT_TRUE(sync(2));
  reactor_.run(kStart);
  EXPECT_EQ(reactor_.next(), kStart + 20ms);
  reactor_.run(kStart + 20ms);
  EXPECT_EQ(journal_.gone, Numbers{1});
  client_.answer({1, 640, 50, 640, 50}, kStart + 30ms);
  EXPECT_EQ(journal_.done, Numbers{2});
  EXPECT_EQ(journal_.gone, Numbers{1});
}

// Else checks would wait for a Redis that hangs for as long as syncs do.
TEST_F(RedisSenderTest, CallsThatOnlySyncsStillWaitForHaveFailed) {
  for (int i = 0; i < Breaker::kFailuresMax; ++i) {
    EXPECT_TRUE(is_closed());
    EXPECT_TRUE(lease(1));
    EXPECT_TRUE(sync(2));
    const Instant at = kStart + i * 1ms;
    reactor_.run(at);
    sender_->flush(at);
  }
  for (int i = 0; i < Breaker::kFailuresMax; ++i) reactor_.run(kStart + 20ms + i * 1ms);
  EXPECT_FALSE(is_closed());
  EXPECT_EQ(journal_.gone, (Numbers{1, 1, 1, 1}));
}

TEST_F(RedisSenderTest, OneServerThatAnswersNoSyncIsAway) {
  EXPECT_TRUE(sync(1));
  reactor_.run(kStart);
  reactor_.run(kStart + kPatience);
  EXPECT_EQ(journal_.gone, Numbers{1});
  EXPECT_TRUE(sender_->is_away());
  EXPECT_FALSE(sync(2));
  start(KeySpread::kCluster);
  EXPECT_TRUE(sync(1));
  reactor_.run(kStart);
  reactor_.run(kStart + kPatience);
  EXPECT_FALSE(sender_->is_away()) << "other masters may answer";
}

TEST_F(RedisSenderTest, WhatWaitsWhenRedisGoesIsLost) {
  EXPECT_TRUE(lease(1));
  client_.link.phase = LinkState::Phase::kDisconnected;
  reactor_.run(kStart);
  EXPECT_EQ(journal_.gone, Numbers{1});
  EXPECT_FALSE(lease(2));
  EXPECT_EQ(journal_.gone, Numbers{1});
}

}  // namespace
}  // namespace weir
