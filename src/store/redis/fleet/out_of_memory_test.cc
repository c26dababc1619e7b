// Stores without memory answer that they cannot decide, each batch once. All is well again when
// there is memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/allocation_testing.h"
#include "observe/recent_traffic.h"
#include "proto/reactor_testing.h"
#include "proto/resp/reply_reader.h"
#include "store/redis/async/async_store.h"
#include "store/redis/calls/calls_testing.h"
#include "store/redis/client/conversation.h"
#include "store/redis/fleet/fleet_testing.h"
#include "store/redis/leased/leased_store.h"
#include "store/redis/strict/redis_store.h"
#include "store/redis/strict/split_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// More keys than the errands that have room from the start.
constexpr std::uint64_t kKeys = 4 * ChargeCall::kChargesMax + 1000;

// Its message takes memory.
struct Talker final : RedisListener {
  void redis_failed(RedisFailure, std::string_view, Instant) override { say(); }
  void breaker_changed(Instant) override { say(); }
  void say() { said += std::string(100, '.').size() / 100; }
  std::size_t said = 0;
};

class OutOfMemory : public ManyChecks {
 protected:
  OutOfMemory() : ManyChecks(kKeys) {}

  ManualReactor reactor_;
  SilentClient client_;
  Talker listener_;
  RedisSender sender_{{}, client_, reactor_, listener_};
  GenerousStore strict_;
};

TEST_F(OutOfMemory, ABatchOfManySlotsFails) {
  SplitStore store(std::make_unique<GenerousStore>(), reactor_);
  batches_[0].charges = {charges_.data(), 2};
  batches_[0].decisions = {decisions_.data(), 2};
  {
    const NoMemory none;
    ask(store, 1);
  }
  EXPECT_EQ(failed_, 1u);
  ask(store, 1);
  EXPECT_EQ(decided_, 1u);
}

TEST_F(OutOfMemory, ASecondOfTheFleetThatFindsNoRoomIsHeardAgain) {
  Traffic traffic;
  RecentTraffic recent(traffic, now_);
  const auto second = [](std::int64_t number, std::uint64_t requests) {
    return RecentTraffic::FleetSecond{
        .second = number, .nodes = {{"me", {.all = {requests, 0}}, {}}}, .has_self = true};
  };
  recent.hear(second(500, 1), now_);
  auto next = second(501, 2);
  {
    const NoMemory none;
    EXPECT_THROW(recent.hear(std::move(next), now_), std::bad_alloc);
  }
  EXPECT_EQ(recent.snapshot()->newest, 500);
  recent.hear(second(501, 2), now_);
  EXPECT_EQ(recent.snapshot()->sum.all(1).requests, 2u);
  EXPECT_EQ(recent.snapshot()->sum.all(2).requests, 3u);
  EXPECT_EQ(recent.snapshot()->nodes[0].window.all(2).requests, 3u);
}

TEST_F(OutOfMemory, WhatNoCallCanTakeFails) {
  RedisStore store({}, sender_);
  {
    const NoMemory none;
    ask(store, 3);
    reactor_.run(now_);
  }
  EXPECT_EQ(failed_, 3u);
  EXPECT_EQ(listener_.said, 0u);
  ask(store, 3);
  reactor_.run(now_);
  EXPECT_EQ(client_.calls(), 1u);
  client_.fail_all(now_);
  EXPECT_EQ(failed_, 6u);
  EXPECT_EQ(listener_.said, 1u);
}

TEST_F(OutOfMemory, AFailureIsToldWhenThereIsMemory) {
  RedisStore store({}, sender_);
  for (int i = 0; i < 2; ++i) {
    ask(store, 1);
    reactor_.run(now_);
    if (i == 0) {
      const NoMemory none;
      client_.fail_all(now_);
      EXPECT_EQ(listener_.said, 0u);
    } else {
      client_.fail_all(now_);
      EXPECT_EQ(listener_.said, 1u);
    }
  }
  EXPECT_EQ(failed_, 2u);
}

TEST_F(OutOfMemory, WhoWouldWaitForALeaseFails) {
  LeasedStore store({.redis = {}, .share = [] { return 2; }}, strict_, sender_, reactor_);
  {
    const NoMemory none;
    ask(store, kKeys);
    EXPECT_EQ(failed_, 1000u);
    reactor_.run(now_);  // there is no memory for a trip, either
    EXPECT_EQ(failed_, kKeys);
  }
  ask(store, kKeys);
  reactor_.run(now_);
  EXPECT_GT(client_.calls(), 0u);
  client_.fail_all(now_);
  EXPECT_EQ(failed_, 2 * kKeys);
}

TEST_F(OutOfMemory, WhatRedisIsToBeToldWaits) {
  AsyncStore store({}, strict_, sender_, reactor_);
  {
    const NoMemory none;
    ask(store, kKeys);
    reactor_.run(now_);
  }
  EXPECT_EQ(decided_, kKeys);
  EXPECT_EQ(client_.calls(), 0u);
  const Instant later = now_ + 100ms;
  reactor_.run(later);  // keys whose trips failed are tried again,
  reactor_.run(later);  // and set out at the end of a round
  EXPECT_EQ(static_cast<std::uint64_t>(store.counts()[kAsyncPushes]), kKeys);
}

struct NotedCall final : RedisCall {
  void replied(const resp::Reply&, Instant) noexcept override {}
  void failed(RedisFailure, Instant) noexcept override { ++failures; }
  int failures = 0;
};

struct Opened final : ConversationListener {
  void opened(Instant) override { is_open = true; }
  void ended(const Ending&, Instant) override {}
  bool takes_error(RedisCall&, const resp::Reply&, Instant) override { return false; }
  bool is_open = false;
};

TEST_F(OutOfMemory, ACommandThatFindsNoRoomIsRefusedAndCanBeSentAgain) {
  const Login login;
  Opened opened;
  Conversation conversation(login, reactor_, opened, now_);
  const auto say = [&](std::string_view text) {
    conversation.sent(conversation.output().size(), now_);
    std::ranges::copy(text, conversation.input_space().begin());
    conversation.received(text.size(), now_);
  };
  for (int i = 0; i < 8 && !opened.is_open; ++i) {
    say(i == 0 ? "*4\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
               : "+OK\r\n");
  }
  ASSERT_TRUE(opened.is_open);
  const std::string much(std::size_t{1} << 20, 'x');
  const std::vector<std::string_view> words = {"ECHO", much};
  NotedCall call;
  {
    const NoMemory none;
    EXPECT_EQ(conversation.send(words, now_ + 1s, call, now_), RedisFailure::kOverloaded);
  }
  EXPECT_TRUE(conversation.output().empty());
  EXPECT_EQ(conversation.send(words, now_ + 1s, call, now_), std::nullopt);
  EXPECT_EQ(call.failures, 0);
}

// ---- the first core's own work, once a second --------------------------------------------
//
// Each allocation fails in turn. An exception would end the process, as nobody catches it there.

TEST(OutOfMemoryOnce, ASecondThatLacksMemoryIsCountedWithTheNext) {
  try_each_shortage(1, [](auto lacking) {
    Traffic traffic;
    CoreTraffic& core = traffic.add_core();
    const Instant start = instant_from_epoch_us(1'700'000'000'000'000);
    RecentTraffic recent(traffic, start);
    const RuleNumber rule = traffic.rules().number_of("login");
    for (int i = 0; i < 5; ++i) {
      core.record({}, Algorithm::kSlidingWindow, start);
      core.record_rule(rule, RuleOutcome::kDenied, 1, start);
    }
    lacking([&] { recent.tick(recent.next_tick()); });
    recent.tick(recent.next_tick() + 1s);
    const TrafficWindow& window = recent.snapshot()->own.window;
    EXPECT_EQ(window.all().requests, 5u);
    EXPECT_EQ(window.of(rule).denied, 5u);
  });
}

TEST(OutOfMemoryOnce, ASwitchThatLacksMemoryComesWithTheNextSecond) {
  using namespace weir::testing;
  try_each_shortage(1, [](auto lacking) {
    Switching node;
    node.pass(10, {});
    node.use_rules({{.id = "search", .quota = quota(Algorithm::kAdaptive), .number = kSearch},
                    {.id = "login", .quota = quota(Algorithm::kAdaptive), .number = kLogin}});
    auto burst = std::make_shared<TrafficSecond>();
    burst->rules = {{.rule = kLogin, .counts = {.requests = 100}}};
    node.recent.sum.push(burst);
    node.recent.nodes[0].window.push(burst);
    node.recent.newest += 1;
    lacking([&] { node.decide(); });
    node.recent.newest += 1;
    node.decide();
    EXPECT_EQ(node.active(kLogin), kBursting);
  });
}

TEST(OutOfMemoryOnce, ABeatThatLacksMemoryIsSentWithTheNext) {
  try_each_shortage(1, [](auto lacking) {
    Instant now = instant_from_epoch_us(1'700'000'000'000'000);
    ManualReactor reactor;
    SilentClient client;
    testing::FleetNode node(now);
    FleetBeat beat({.prefix = "weir:", .interval = 1s, .node = "me", .secret = {}},
                   node.world(client, reactor), now);
    lacking([&] { reactor.run(now); });
    now += 1s;
    reactor.run(now);
    EXPECT_EQ(client.calls(), 1u);
  });
}

}  // namespace
}  // namespace weir
