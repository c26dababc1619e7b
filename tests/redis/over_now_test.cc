// over_now(), held to what several nodes in mode async have really admitted, on one real Redis, in
// simulated time. Trips are slow, links are cut, Redis hangs, keys are calm, and some nodes did not
// use the key for long.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "algo/quota_share.h"
#include "algo/testing/any_key.h"
#include "base/prng.h"
#include "redis/syncing_node.h"
#include "rules/promise.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using algo::testing::AnyKey;
using testing::Asked;
using testing::SimulatedNode;

struct Node : SimulatedNode {
  static constexpr Duration kStep = 1ms;

  Node(testing::SimulatedRedis& of, Duration clock_skew, std::int64_t stores)
      : SimulatedNode(of, clock_skew),
        store({.redis = options,
               .interval = testing::kInterval,
               .stores = [stores] { return stores; },
               .keys = 64,
               .waiting_since = &waiting_since},
              strict, sender, reactor) {
    mode = &store;
  }

  std::atomic<Instant> waiting_since = Instant::max();
  AsyncStore store;
  bool is_cut() const { return link.link.phase != LinkState::Phase::kConnected; }

  Instant word{};     // the last one that Redis has, by its clock
  Instant back{};     // when the link was last restored
  bool asks = false;  // the key is in use here
};

// Units that come, and when.
class Demand {
 public:
  void note(Instant at) { asked_.push_back(at); }
  // In any period, at most.
  std::int64_t within(Duration period) const {
    std::size_t first = 0;
    std::size_t most = 0;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      while (asked_[first] <= asked_[i] - period) ++first;
      most = std::max(most, i + 1 - first);
    }
    return static_cast<std::int64_t>(most);
  }

 private:
  std::vector<Instant> asked_;
};

std::int64_t held(const Quota& quota, AnyKey& key, Instant now) {
  if (quota.algorithm() == Algorithm::kFixedWindow) {
    return algo::roll(quota, key.state<algo::FixedWindowState>(), now).count;
  }
  if (quota.algorithm() == Algorithm::kTokenBucket) {
    const auto debt = algo::debt_ticks(quota, key.state<algo::TokenBucketState>(), now);
    return static_cast<std::int64_t>(algo::ceil_div<algo::Int128>(debt, quota.ticks_per_unit()));
  }
  const auto rolled = algo::roll(quota, key.state<algo::SlidingWindowState>(), now);
  return rolled.current + algo::previous_weight(quota, rolled, now);
}

class OverNow : public testing::SimulatedFleet<Node> {
 protected:
  // If the store has failed, this node's share of the limit decides.
  bool is_admitted(Node& node, const Asked& check) {
    if (!check.has_failed()) return check.is_allowed();
    const Quota share = share_of(*check.charges[0].quota, static_cast<std::int64_t>(nodes_.size()));
    Charge alone = check.charges[0];
    alone.quota = &share;
    Asked own({alone});
    node.own_counters->decide(own.batch, node.now());
    if (own.is_allowed()) node.store.note_admitted(check.charges[0], node.now());
    return own.is_allowed();
  }
};

// A key of some nodes, as chance has it.
class OverNowByChance : public OverNow {
 protected:
  void live(std::uint64_t seed) {
    random_ = Prng(seed);
    begin();
    for (int ms = 0; ms < 3'000; ++ms) {
      let_pass(1ms);
      let_happen();
      hear();
      std::erase_if(waiting_, [&](const Waiting& one) {
        if (!one.check->is_answered()) return false;
        take(*one.node, *one.check);
        return true;
      });
      // Some come evenly, some by chance.
      due_ += is_even_ ? in_second_ : within(0, 2 * in_second_);
      for (; due_ >= 1'000; due_ -= 1'000) ask();
    }
    judge(seed);
  }

  std::size_t moments_ = 0;
  double nearest_ = 0;

 private:
  // As a node admitted something: what it said of the others then, and what was true.
  struct Said {
    SharingFacts facts;
    std::int64_t over;
  };
  struct Waiting {
    Node* node;
    std::unique_ptr<Asked> check;
  };

  std::int64_t within(std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(random_.below(static_cast<std::uint32_t>(high - low + 1)));
  }

  void begin() {
    for (const auto& node : nodes_) node->sender.give_up();
    nodes_.clear();
    waiting_.clear();
    said_.clear();
    demand_ = {};
    const std::int64_t count = within(2, 4);
    const Duration trip = within(0, 3) > 0 ? within(0, 20) * 1ms : within(50, 90) * 1ms;
    facts_ = {.nodes = count, .stores = count, .period = testing::kInterval / 2, .trip = trip};
    if (trip > facts_.period) facts_.period += trip;
    for (std::int64_t i = 0; i < count; ++i) {
      Node& node = add_node(within(-10, 10) * 1s, count);
      node.link.delay = trip;
      node.word = redis_.now;
    }
    constexpr std::array kAlgorithms{Algorithm::kFixedWindow, Algorithm::kSlidingWindow,
                                     Algorithm::kTokenBucket};
    const std::int64_t window_s = within(1, 3);
    in_second_ = within(0, 2) > 0 ? within(20, 300) : within(300, 3'000);
    const std::int64_t limit = std::max<std::int64_t>(5, window_s * in_second_ * within(2, 9) / 10);
    quota_ = *Quota::make({kAlgorithms[random_.below(3)], limit, window_s * 1s});
    charge_ = {fresh_key(), &quota_, 1};
    truth_ = AnyKey(quota_.algorithm());
    is_even_ = within(0, 3) > 0;
    favourite_ = 0;
    due_ = 0;
    hangs_until_ = {};
    silence_ = {};
  }

  // Redis hangs, links are cut and come back, the key comes to other nodes.
  void let_happen() {
    if (within(0, 1'499) == 0) hangs_until_ = redis_.now + within(50, 450) * 1ms;
    redis_.is_hanging = redis_.now < hangs_until_;
    if (within(0, 999) == 0) favourite_ = random_.below(static_cast<std::uint32_t>(nodes_.size()));
    for (const auto& node : nodes_) {
      if (within(0, 1'499) == 0) {
        node->link.cut(node->now());
        favourite_ = random_.below(static_cast<std::uint32_t>(nodes_.size()));
      } else if (node->is_cut() && within(0, 299) == 0) {
        node->link.restore();
        node->store.catch_up(node->now());
        node->back = redis_.now;
      }
      if (within(0, 399) == 0) node->asks = !node->asks;
    }
  }

  // A word follows what is told before it.
  void hear() {
    Instant word = redis_.now;
    for (const auto& node : nodes_) {
      const bool is_heard = !node->is_cut() && !redis_.is_hanging;
      if (is_heard && redis_.now > node->back + facts_.trip) node->word = redis_.now - facts_.trip;
      word = std::min(word, node->word);
    }
    facts_.silence = redis_.now - word;
    silence_.note(facts_.silence, redis_.now);
    facts_.silence_before = silence_.of(redis_.now);
  }

  void ask() {
    const bool is_there = within(0, 9) < 8;
    Node& node =
        *nodes_[is_there ? favourite_ : random_.below(static_cast<std::uint32_t>(nodes_.size()))];
    if (!node.asks && !is_there) return;
    demand_.note(redis_.now);
    auto check = std::make_unique<Asked>(std::vector<Charge>{charge_});
    node.ask(*check);
    if (check->is_answered()) return take(node, *check);
    waiting_.push_back({&node, std::move(check)});
  }

  void take(Node& node, const Asked& check) {
    if (!is_admitted(node, check)) return;
    truth_.charge(quota_, 1, redis_.now);
    if (node.sender.is_away()) return;  // it says what each node alone may admit
    facts_.late = node.now() - std::min(node.now(), node.waiting_since.load());
    said_.push_back({facts_, held(quota_, truth_, redis_.now) - quota_.limit()});
  }

  void judge(std::uint64_t seed) {
    const std::int64_t busiest = demand_.within(facts_.period);
    for (Said& one : said_) {
      one.facts.busiest = busiest;
      const auto bound = over_now(quota_, Mode::kAsync, OnStoreFailure::kLocal, one.facts);
      ASSERT_TRUE(bound.has_value());
      ASSERT_LE(one.over, *bound) << "seed " << seed << ", " << algorithm_name(quota_.algorithm());
      if (one.over <= 0) continue;
      nearest_ = std::max(nearest_, static_cast<double>(one.over) / static_cast<double>(*bound));
    }
    moments_ += said_.size();
  }

  Prng random_{0};
  SharingFacts facts_;
  Quota quota_;
  Charge charge_{};
  AnyKey truth_{Algorithm::kFixedWindow};
  Demand demand_;
  std::int64_t in_second_ = 0;  // units that come
  std::int64_t due_ = 0;        // thousandths of a unit
  bool is_even_ = false;
  std::size_t favourite_ = 0;  // the node to which most come
  Instant hangs_until_{};
  RecentMost<Duration, 1> silence_;
  std::vector<Said> said_;
  std::vector<Waiting> waiting_;
};

TEST_F(OverNowByChance, NoNodeAdmitsMoreThanItSaysThen) {
  for (std::uint64_t seed = 1; seed <= 300 && !HasFatalFailure(); ++seed) live(seed);
  EXPECT_GT(moments_, 200'000u);
  EXPECT_GE(nearest_, 0.25);  // so that less than a quarter of it would be broken
}

// Every 5 ms three units come to one node, and one to another, which is cut off: it admits 400.
TEST_F(OverNow, WhatANodeThatIsCutOffAdmitsIsInIt) {
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1'600, 1h});
  const KeyHash key = fresh_key();
  Node& node = add_node(0s, 2);
  Node& other = add_node(3s, 2);
  EXPECT_TRUE(node.decide(Operation::kSpendEach, {key, &quota, 398}).allowed());
  EXPECT_TRUE(other.decide(Operation::kSpendEach, {key, &quota, 2}).allowed());
  let_pass(100ms);
  other.link.cut(other.now());
  const Instant cut_at = redis_.now;
  std::int64_t over = 400 - quota.limit();
  while (redis_.now < cut_at + 3s) {
    let_pass(5ms);
    Asked check({{key, &quota, 3}});
    node.ask(check);
    over += is_admitted(node, check) ? 3 : 0;
    Asked alone({{key, &quota, 1}});
    other.ask(alone);
    over += is_admitted(other, alone) ? 1 : 0;
  }
  EXPECT_EQ(over, 400);
  SharingFacts facts{.nodes = 2, .stores = 2, .period = 50ms, .busiest = 40};
  EXPECT_EQ(over_now(quota, Mode::kAsync, OnStoreFailure::kLocal, facts), (3 + 2) * 40 + 2);
  facts.silence = redis_.now - cut_at;
  EXPECT_GT(over_now(quota, Mode::kAsync, OnStoreFailure::kLocal, facts), over);
}

TEST_F(OverNow, SyncsShowHowFastAKeyGrowsAndHowLongTheyTake) {
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 1'000'000, 1h});
  const Quota other = *Quota::make({Algorithm::kSlidingWindow, 1'000'000, 2h});
  const Charge charge{fresh_key(), &quota, 1};
  Node& node = add_node(0s, 2);
  for (Duration skew : {-5s, 5s}) add_node(skew, 2);
  for (const auto& each : nodes_) each->link.delay = 8ms;
  const auto units = [&](const Quota& of) { return node.store.peaks().units(of, node.now()); };
  EXPECT_EQ(units(quota), std::nullopt);
  Duration latest_sync{0};
  const auto live = [&](Duration time, std::int64_t each_ms) {
    for (Duration passed{0}; passed < time; passed += 1ms) {
      let_pass(1ms);
      for (const auto& each : nodes_) {
        each->decide(Operation::kSpendEach, {charge.key, &quota, each_ms});
      }
      const Instant since = std::min(node.now(), node.waiting_since.load());
      latest_sync = std::max(latest_sync, node.now() - since);
    }
  };
  live(3s, 4);
  EXPECT_EQ(node.store.peaks().trip(node.now()), 2 * 8ms);  // the first also loads the script
  ASSERT_TRUE(units(quota));
  EXPECT_GE(*units(quota), 3 * 4 * 50);
  EXPECT_LE(*units(quota), 2 * 3 * 4 * 50);
  EXPECT_EQ(units(other), std::nullopt);
  EXPECT_LE(latest_sync, 2 * 8ms);
  EXPECT_GT(latest_sync, 0ms);
  live(21s, 1);
  EXPECT_LE(*units(quota), 2 * 3 * 50);  // what was long ago is forgotten
  let_pass(21s);
  EXPECT_EQ(units(quota), std::nullopt);
  EXPECT_EQ(node.waiting_since.load(), Instant::max());
}

// ---- what the function says ---------------------------------------------------------------

TEST(OverNowOf, WhatNoCopiesDecideIsNotOver) {
  const Quota quota = *Quota::make({Algorithm::kSlidingLog, 100, 1min});
  SharingFacts facts{.nodes = 3, .stores = 12};
  for (const Mode mode : {Mode::kAsync, Mode::kLeased, Mode::kStrict}) {
    EXPECT_EQ(over_now(quota, mode, OnStoreFailure::kAllow, facts), 0);
  }
  facts.is_whole = false;  // each node counts by itself
  EXPECT_EQ(over_now(quota, Mode::kStrict, OnStoreFailure::kLocal, facts), 200);
  EXPECT_EQ(over_now(quota, Mode::kStrict, OnStoreFailure::kDeny, facts), 0);
  EXPECT_EQ(over_now(quota, Mode::kStrict, OnStoreFailure::kAllow, facts), std::nullopt);
  facts = {.is_whole = false, .silence = Duration::max()};  // nobody has been heard yet
  EXPECT_EQ(over_now(quota, Mode::kStrict, OnStoreFailure::kLocal, facts), std::nullopt);
  EXPECT_EQ(over_now(quota, Mode::kStrict, OnStoreFailure::kDeny, facts), 0);
}

TEST(OverNowOf, WhatIsNotKnownIsWhatTheModePromises) {
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 100, 1min});
  SharingFacts facts{.nodes = 3, .stores = 3};
  const auto all =
      promise_of(quota, Mode::kAsync, 3).over - promise_of(quota, Mode::kAsync, 1).over;
  EXPECT_EQ(over_now(quota, Mode::kAsync, OnStoreFailure::kLocal, facts), all);
  facts.busiest = 0;
  EXPECT_EQ(over_now(quota, Mode::kAsync, OnStoreFailure::kLocal, facts), all);
  facts.busiest = 1'000'000;
  EXPECT_EQ(over_now(quota, Mode::kAsync, OnStoreFailure::kLocal, facts), all);
  facts = {.nodes = 1, .stores = 1, .busiest = 5};
  EXPECT_EQ(over_now(quota, Mode::kAsync, OnStoreFailure::kLocal, facts), 0);
  const Quota most = *Quota::make({Algorithm::kFixedWindow, kLimitMax, kWindowMax});
  facts = {.nodes = 1'000'000, .stores = 256'000'000, .silence = kWindowMax, .busiest = kCostMax};
  EXPECT_GE(over_now(most, Mode::kAsync, OnStoreFailure::kLocal, facts), kLimitMax);
}

}  // namespace
}  // namespace weir
