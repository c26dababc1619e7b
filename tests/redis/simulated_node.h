// A simulated fleet on a real Redis. Time is the test's, also in Redis, whose calls bring it. Each
// node has a clock of its own and a link that can be slow or cut.
//
// Thread rule: one thread. Tested by leased_fleet_test.cc, which uses it.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/testing/asked.h"
#include "proto/reactor_testing.h"
#include "proto/resp/reply_reader.h"
#include "redis/redis_server.h"
#include "store/redis/client/redis_client.h"
#include "store/redis/strict/redis_store.h"
#include "weir/memory_store.h"

namespace weir::testing {

struct SimulatedRedis {
  RedisServer server;
  RedisConnection connection{server};
  Instant now = instant_from_epoch_us(1'700'000'040'000'000);  // a minute begins
  bool is_hanging = false;
};

class SimulatedLink final : public RedisClient {
 public:
  SimulatedLink(SimulatedRedis& redis, Duration skew) : redis_(redis), skew_(skew) {}

  std::optional<RedisFailure> send(std::span<const std::string_view> words, std::uint16_t slot,
                                   Instant deadline, RedisCall& call, Instant) override {
    const bool is_there = link.phase == LinkState::Phase::kConnected && slot != lost_slot;
    if (!is_there) return RedisFailure::kDisconnected;
    flights_.push_back({{words.begin(), words.end()}, "", &call, redis_.now + delay / 2, deadline});
    ++calls;
    return std::nullopt;
  }
  void forget(RedisCall& call) override {
    for (Flight& flight : flights_) {
      if (flight.call == &call) flight.call = nullptr;
    }
  }
  const LinkState& state() const override { return lost_slot ? not_whole_ : link; }

  // Cut, what is under way is lost.
  void cut(Instant now) {
    link.phase = LinkState::Phase::kDisconnected;
    for (Flight& flight : std::exchange(flights_, {})) {
      if (flight.call != nullptr) flight.call->failed(RedisFailure::kDisconnected, now);
    }
  }
  void restore() { link.phase = LinkState::Phase::kConnected; }

  // Moves on what is due. True if something was.
  bool run() {
    const Instant node_now = redis_.now + skew_;
    bool moved = false;
    for (std::size_t i = 0; i < flights_.size() && !redis_.is_hanging; ++i) {
      Flight& flight = flights_[i];
      if (!flight.reply.empty()) continue;
      if (std::max(flight.due, busy_until_) > redis_.now) break;  // those behind cannot overtake
      flight.reply = executed(flight.words);
      busy_until_ = redis_.now + work * std::stoi(flight.words[kKeysWord]);
      flight.due = busy_until_ + delay / 2;
      moved = true;
    }
    for (std::size_t i = 0; i < flights_.size(); ++i) {
      if (flights_[i].deadline > node_now || !flights_[i].reply.empty()) continue;
      RedisCall* const call = std::exchange(flights_[i].call, nullptr);
      if (call != nullptr) call->failed(RedisFailure::kTimedOut, node_now);
    }
    while (!flights_.empty() && !flights_.front().reply.empty() &&
           flights_.front().due <= redis_.now) {
      const Flight flight = std::move(flights_.front());
      flights_.pop_front();
      resp::ReplyReader reader;
      EXPECT_EQ(reader.read(flight.reply), resp::ReplyReader::Status::kReply);
      if (flight.call != nullptr) flight.call->replied(reader.reply(), node_now);
      moved = true;
    }
    return moved;
  }

  LinkState link{LinkState::Phase::kConnected, "", {}};
  Duration delay{0};                       // there and back
  Duration work{0};                        // of Redis, for each key of a call
  std::optional<std::uint16_t> lost_slot;  // of a cluster, whose master is away
  int calls = 0;

 private:
  static constexpr std::size_t kKeysWord = 2;  // of EVALSHA: their number
  struct Flight {
    std::vector<std::string> words;
    std::string reply;  // empty: it has not been carried out
    RedisCall* call;
    Instant due;
    Instant deadline;
  };

  // The reply as bytes. The word before the last is the time.
  std::string executed(const std::vector<std::string>& words) {
    const std::string time = std::to_string(epoch_us(redis_.now));
    std::vector<std::string_view> timed(words.begin(), words.end());
    timed[timed.size() - 2] = time;
    const resp::Reply& reply = redis_.connection.call(timed);
    if (reply.is_error()) return "-" + std::string(reply.text()) + "\r\n";
    std::string numbers;
    int count = 0;
    for (const resp::Reply& number : reply) {
      numbers += ":" + std::to_string(number.integer().value_or(-1)) + "\r\n";
      ++count;
    }
    return "*" + std::to_string(count) + "\r\n" + numbers;
  }

  const LinkState not_whole_{LinkState::Phase::kDisconnected, "a master is away", {}};
  SimulatedRedis& redis_;
  const Duration skew_;
  std::deque<Flight> flights_;
  Instant busy_until_;
};

struct FailuresAreFine final : RedisListener {};

// What every node has; a mode's store comes on top.
struct SimulatedNode {
  SimulatedNode(SimulatedRedis& of, Duration clock_skew, KeySpread key_spread = {})
      : redis(of), skew(clock_skew), spread(key_spread) {}

  Instant now() const { return redis.now + skew; }
  // By this node's own counters.
  std::int64_t own_remaining(const Charge& charge) {
    Asked look({charge}, Operation::kLook);
    own_counters->decide(look.batch, now());
    return look.decisions[0].remaining;
  }
  // Rounds of the loop, until there is nothing more to do now.
  void run() {
    do {
      reactor.run(now());
    } while (link.run() || reactor.next() <= now());
  }
  // In this node's mode.
  void ask(Asked& check) {
    mode->decide(check.batch, now());
    run();
  }
  // Of one charge that is answered at once.
  Decision decide(Operation operation, const Charge& charge) {
    Asked check({charge}, operation);
    ask(check);
    EXPECT_TRUE(check.is_answered() && !check.has_failed());
    return check.decisions[0];
  }

  SimulatedRedis& redis;
  const Duration skew;
  const KeySpread spread;
  ManualReactor reactor;
  SimulatedLink link{redis, skew};
  FailuresAreFine listener;
  std::unique_ptr<MemoryStore> own_counters = make_memory_store({.max_keys = 1024}, now());
  const RedisStoreOptions options{.spread = spread, .own_counters = own_counters.get()};
  RedisSender sender{options, link, reactor, listener};
  RedisStore strict{options, sender};
  Store* mode = &strict;
};

// Nodes of one mode on one Redis. Time goes on by Node::kStep at most.
template <typename Node>
class SimulatedFleet : public ::testing::Test {
 protected:
  static KeyHash fresh_key() {
    static std::uint64_t made = 0;
    return {++made, made * 0x9e3779b97f4a7c15};
  }
  template <typename... More>
  Node& add_node(Duration skew, More... more) {
    return *nodes_.emplace_back(std::make_unique<Node>(redis_, skew, more...));
  }
  void let_pass(Duration time) {
    for (const Instant end = redis_.now + time; redis_.now < end;) {
      redis_.now = std::min(end, redis_.now + Node::kStep);
      for (const auto& node : nodes_) node->run();
    }
  }
  // What Redis says is left of a key.
  std::int64_t left_in_redis(const Charge& charge) {
    return SimulatedNode(redis_, Duration{0})
        .decide(Operation::kLook, {charge.key, charge.quota, 0, charge.tag})
        .remaining;
  }

  SimulatedRedis redis_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace weir::testing
