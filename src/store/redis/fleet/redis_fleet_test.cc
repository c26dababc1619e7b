#include "store/redis/fleet/redis_fleet.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/redis/client/client_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

struct NotedFleet final : FleetListener {
  void health_changed(const FleetHealth& health) override {
    said.push_back(health.is_healthy ? "healthy" : "ill: " + health.reason);
  }
  void fleet_warned(const std::string& sentence) override { said.push_back(sentence); }
  void secret_found(const HashSecret& secret, Instant) override { secrets.push_back(secret); }

  std::vector<std::string> said;
  std::vector<HashSecret> secrets;
};

class RedisFleetTest : public ::testing::Test {
 protected:
  RedisFleetOptions options() {
    RedisFleetOptions options;
    options.url = std::get<RedisUrl>(RedisUrl::parse("redis://a:1"));
    options.node = "me";
    return options;
  }

  void make_fleet() {
    fleet_.emplace(
        options(),
        RedisFleet::Core{.number = 0,
                         .surroundings = {.reactor = reactor_, .dialer = dialer_, .seed = 1},
                         .blocks = blocks_,
                         .state = state_,
                         .listener = listener_},
        reactor_.now());
  }

  void connect() {
    server_.emplace(dialer_.accept("a:1"), reactor_);
    server_->welcome("standalone", "master");
  }

  // As the script answers.
  void answer_beat(int nodes, const std::vector<std::string>& told = {}) {
    std::vector<std::string> lines = {"*4",    ":" + std::to_string(nodes),
                                      "$192",  std::string(192, 's'),
                                      ":5000", "*" + std::to_string(told.size())};
    for (const std::string& text : told) {
      lines.push_back("$" + std::to_string(text.size()));
      lines.push_back(text);
    }
    server_->say(lines);
  }

  // kNone: it waits.
  StoreError ask(Store& store) {
    batch_.charges = {&charge_, 1};
    batch_.decisions = {&decision_, 1};
    batch_.on_done = [](Batch&) noexcept {};
    store.decide(batch_, reactor_.now());
    return batch_.error;
  }

  const Quota quota_ = *Quota::make({.limit = 1, .window = 1min});
  const Charge charge_{.key = {1, 2}, .quota = &quota_};
  Decision decision_;
  Batch batch_;
  FakeReactor reactor_;
  FakeDialer dialer_{reactor_};
  KeyHasher hasher_{HashSecret{}};
  BlockList blocks_{hasher_};
  FleetState state_{1, reactor_.now()};
  NotedFleet listener_;
  std::optional<RedisFleet> fleet_;
  std::optional<Server> server_;
};

TEST_F(RedisFleetTest, SharesNothingBeforeTheSecretIsKnown) {
  make_fleet();
  connect();
  EXPECT_EQ(ask(fleet_->store(Mode::kStrict)), StoreError::kUnavailable);
  reactor_.advance(100ms);
  EXPECT_NE(server_->hear().find("weir:{fleet}:secret"), std::string::npos);
  answer_beat(3);
  ASSERT_EQ(listener_.secrets.size(), 1u);
  EXPECT_EQ(listener_.secrets[0].bytes[0], std::byte{'s'});
  EXPECT_EQ(fleet_->live_nodes(), 3);
  fleet_->use_secret(reactor_.now());
  EXPECT_TRUE(state_.health().is_healthy);
  EXPECT_EQ(ask(fleet_->store(Mode::kStrict)), StoreError::kNone);
}

TEST_F(RedisFleetTest, BringsBackTheSecretThatARedisHasLost) {
  make_fleet();
  connect();
  reactor_.advance(100ms);
  EXPECT_EQ(server_->hear().find(std::string(192, 's')), std::string::npos);
  answer_beat(1);
  reactor_.advance(100ms);
  EXPECT_NE(server_->hear().find(std::string(192, 's')), std::string::npos);
  answer_beat(1);
  EXPECT_EQ(listener_.secrets.size(), 1u);
}

TEST_F(RedisFleetTest, TellsBlocksAndLearnsThoseOfOthers) {
  make_fleet();
  connect();
  const Instant now = reactor_.now();
  blocks_.add({.rule = "r", .key = "mine", .since = now, .until = now + 1h}, now);
  reactor_.advance(100ms);
  EXPECT_NE(server_->hear().find("denied r mine"), std::string::npos);
  const std::string block = "weir blocks 1\n9 1 denied r theirs\nend 1\n";
  answer_beat(2, {"4000-0", "other", block, "60000", "4500-1", "me", block, "90000"});
  // A minute when it was told, at 4 s; by the Redis it is 5 s now.
  EXPECT_EQ(blocks_.until("r", "theirs", reactor_.now()), reactor_.now() + 59s);
  reactor_.advance(100ms);
  EXPECT_EQ(server_->hear().find("denied r"), std::string::npos);  // told once, and no echo
  answer_beat(2, {"4600-0", "other", block, "0"});
  EXPECT_FALSE(blocks_.until("r", "theirs", reactor_.now()));
}

TEST_F(RedisFleetTest, WhatWasNotHeardIsToldAgain) {
  make_fleet();
  connect();
  const Instant now = reactor_.now();
  blocks_.add({.rule = "r", .key = "mine", .since = now, .until = now + 1h}, now);
  reactor_.advance(100ms);
  server_->hear();
  server_->hang_up();
  reactor_.advance(100ms);
  connect();
  reactor_.advance(100ms);
  EXPECT_NE(server_->hear().find("denied r mine"), std::string::npos);
}

TEST_F(RedisFleetTest, NonsenseIsNamedOnce) {
  make_fleet();
  connect();
  for (int i = 0; i < 3; ++i) {
    reactor_.advance(100ms);
    server_->hear();
    server_->say({"-NOPERM this user has no permissions"});
  }
  EXPECT_EQ(listener_.said,
            std::vector<std::string>{"this node and the others do not hear of each other: "
                                     "NOPERM this user has no permissions"});
  EXPECT_EQ(state_.beat_failure(), listener_.said.front());
  EXPECT_EQ(state_.health().reason, "the fleet's secret is not known yet");
}

TEST_F(RedisFleetTest, ASecretThatIsNoneIsNamedOnceUntilItIsOne) {
  make_fleet();
  connect();
  for (int i = 0; i < 3; ++i) {
    reactor_.advance(100ms);
    server_->hear();
    server_->say({"*4", ":2", "$5", "short", ":5000", "*0"});
  }
  EXPECT_EQ(listener_.said.size(), 1u);
  EXPECT_TRUE(listener_.secrets.empty());
  reactor_.advance(100ms);
  server_->hear();
  answer_beat(2);
  EXPECT_EQ(state_.beat_failure(), "");
}

TEST_F(RedisFleetTest, SaysOfChangesThatLast) {
  make_fleet();
  connect();
  reactor_.advance(100ms);
  server_->hear();
  answer_beat(1);
  fleet_->use_secret(reactor_.now());
  reactor_.advance(1s);
  server_->hang_up();
  reactor_.advance(100ms);
  connect();  // within a moment
  reactor_.advance(1s);
  EXPECT_EQ(listener_.said, std::vector<std::string>{"healthy"});
  server_->hang_up();
  reactor_.advance(1s);
  ASSERT_EQ(listener_.said.size(), 2u);
  EXPECT_TRUE(listener_.said[1].starts_with("ill: ")) << listener_.said[1];
}

}  // namespace
}  // namespace weir
