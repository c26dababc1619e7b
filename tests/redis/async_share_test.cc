// Rules that are proportional on several nodes in mode async, on one real Redis, in simulated time.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>

#include "engine/asks/asks.h"
#include "engine/testing/late_store.h"
#include "observe/traffic.h"
#include "redis/syncing_node.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::kInterval;
using testing::SyncingNode;

constexpr std::int64_t kLimit = 625;  // a second
constexpr Duration kTrip = 10ms;

class AsyncShare : public testing::SyncingFleet {
 protected:
  // One node, and its asks by rules.
  struct Asking {
    Asking(SyncingNode& of, const KeyHasher& hasher)
        : node(of),
          fleet(of.store, Mode::kAsync),
          engine(*of.own_counters, hasher, traffic.add_core()) {
      engine.join(fleet, [] {});
    }
    bool passes(const Rule& rule, Instant now) {
      asks.begin(Operation::kSpendEach);
      asks.add({.rule = &rule, .key = "k"});
      EXPECT_EQ(asks.decide(now), Asks::Progress::kAnswered) << "without a trip";
      return asks.answer(0).allowed();
    }

    SyncingNode& node;
    TestFleet fleet;
    Traffic traffic;
    BlockList blocks{hasher_of_blocks};
    Engine engine;
    Asks asks{engine, blocks};
    inline static const KeyHasher hasher_of_blocks{HashSecret{}};
  };

  void add_nodes(Duration interval = kInterval, Duration trip = kTrip) {
    constexpr std::size_t kKeys = 64;
    for (const Duration skew : {-10s, 0s, 10s}) {
      OwedUnits* const owed = nullptr;
      add_node(skew, kKeys, KeySpread{}, owed, interval).link.delay = trip;
      asking_.emplace_back(*nodes_.back(), hasher_);
    }
  }
  Rule rule_of(Algorithm algorithm) {
    Rule rule{.id = "r" + std::to_string(++rules_),
              .quota = *Quota::make({.algorithm = algorithm, .limit = kLimit, .window = 1s})};
    rule.is_proportional = true;
    return rule;
  }
  // So many come each millisecond, of which the nodes get six, three and one tenth.
  void offer(const Rule& rule, double each_ms, Duration time) {
    for (auto left = time / 1ms; left > 0; --left) {
      let_pass(1ms);
      for (due_ += each_ms; due_ >= 1; --due_, ++offered_) {
        const std::size_t tenth = offered_ * 7 % 10;
        const std::size_t index = tenth < 6 ? 0 : tenth < 9 ? 1 : 2;
        Asking& asking = asking_[index];
        if (asking.passes(rule, asking.node.now())) ++passed_[index];
        asking.node.run();
      }
    }
  }
  double passed() const { return static_cast<double>(passed_[0] + passed_[1] + passed_[2]); }

  const KeyHasher hasher_{HashSecret{}};
  std::deque<Asking> asking_;
  std::array<std::int64_t, 3> passed_{};
  double due_ = 0;
  std::size_t offered_ = 0;
  int rules_ = 0;
};

// By the plain algorithms a fixed window admits 42 to 70 % more than its limit here.
TEST_F(AsyncShare, TenSecondsAfterASixteenfoldStepAreWithinTwoPercent) {
  add_nodes();
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow}) {
    for (const Duration phase : {0ms, 370ms, 700ms}) {
      const Rule rule = rule_of(algorithm);
      redis_.now += 10s - (redis_.now - Instant{}) % 1s;
      offer(rule, kLimit / 1e3, 3s + phase);
      passed_ = {};
      offer(rule, 10, 1s - phase);
      const double at_the_step = passed();
      offer(rule, 10, 9s);
      EXPECT_NEAR(passed() - at_the_step, 9 * kLimit, 0.02 * 9 * kLimit);
      offer(rule, 10, phase);
      // A fixed window is over once: what arrives until the nodes hear of each other.
      const double slack = algorithm == Algorithm::kFixedWindow ? 0.04 : 0.02;
      EXPECT_NEAR(passed(), 10 * kLimit, slack * 10 * kLimit) << algorithm_name(algorithm);
    }
  }
}

// docs/reference/proportional.md says why: a tenth of the time, a fifth of the excess.
TEST_F(AsyncShare, AFixedWindowIsOverByWhatPassesUntilNodesHearOfEachOther) {
  add_nodes(20ms, 1ms);
  for (const Duration phase : {0ms, 370ms, 700ms}) {
    const Rule rule = rule_of(Algorithm::kFixedWindow);
    redis_.now += 10s - (redis_.now - Instant{}) % 1s;
    offer(rule, kLimit / 1e3, 3s + phase);
    passed_ = {};
    offer(rule, 10, 10s);
    EXPECT_NEAR(passed(), 10 * kLimit, 0.02 * 10 * kLimit) << phase / 1ms;
  }
}

// By the plain algorithms each node takes what room there is until it hears of the others.
TEST_F(AsyncShare, EachNodePassesItsShareAtAnyTime) {
  add_nodes();
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow}) {
    const Rule rule = rule_of(algorithm);
    redis_.now += 10s - (redis_.now - Instant{}) % 1s;
    offer(rule, 10, 3s);
    for (int fifth = 0; fifth < 10; ++fifth) {
      passed_ = {};
      offer(rule, 10, 200ms);
      EXPECT_NEAR(passed(), kLimit / 5.0, 12) << algorithm_name(algorithm) << " " << fifth;
      EXPECT_NEAR(static_cast<double>(passed_[0]), 0.6 * kLimit / 5.0, 8);
      EXPECT_NEAR(static_cast<double>(passed_[2]), 0.1 * kLimit / 5.0, 8);
    }
  }
}

// As the mode promises of all rules.
TEST_F(AsyncShare, NoWindowHasMoreThanTheLimitAndWhatArrivesInAnIntervalAndATrip) {
  add_nodes();
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow}) {
    const Rule rule = rule_of(algorithm);
    redis_.now += 10s - (redis_.now - Instant{}) % 1s;
    const double arriving = 10 * ((kInterval + kTrip) / 1ms);
    for (int window = 0; window < 6; ++window) {
      passed_ = {};
      offer(rule, 10, 1s);
      EXPECT_LE(passed(), kLimit + (window == 0 ? arriving : 0.03 * kLimit)) << window;
    }
  }
}

TEST_F(AsyncShare, WhileRedisIsAwayTheLimitAloneDecides) {
  add_nodes();
  const Rule rule = rule_of(Algorithm::kSlidingWindow);
  redis_.now += 10s - (redis_.now - Instant{}) % 1s;
  offer(rule, 10, 3s);
  for (Asking& asking : asking_) {
    asking.fleet.nodes = 3;
    asking.node.link.cut(asking.node.now());
  }
  offer(rule, 10, 2s);
  passed_ = {};
  offer(rule, 10, 5s);
  EXPECT_NEAR(passed(), 5 * kLimit, 5 * 0.02 * kLimit) << "a third of the limit each";
  for (Asking& asking : asking_) asking.node.link.restore();
}

}  // namespace
}  // namespace weir
