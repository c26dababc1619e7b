// Tries to break each promise with random lives of a key on several nodes, checked with a log of
// what was admitted. Other lives come as near to each number as possible.

#include "rules/promise.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "algo/testing/admitted.h"
#include "algo/testing/any_key.h"
#include "algo/testing/random_life.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using algo::Int128;
using algo::testing::Admitted;
using algo::testing::AnyKey;

[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=500", 0);

constexpr Instant kDay = instant_from_epoch_us(1'700'006'400'000'000);  // a day begins
constexpr int kAlgorithms = static_cast<int>(Algorithm::kStrictWindow) + 1;

std::string name_of(const Quota& quota) {
  return std::string(algorithm_name(quota.algorithm())) +
         (quota.is_never_over() ? ", never over" : "");
}

// A key on several nodes, each with its own counter, and a log of what all have admitted.
class Nodes {
 public:
  Nodes(const Quota& quota, Mode mode, std::int64_t nodes)
      : quota_(quota),
        promise_(promise_of(quota, mode, nodes)),
        keys_(static_cast<std::size_t>(nodes), AnyKey(quota.algorithm())),
        pending_(keys_.size()) {}

  // Returns false if this broke the promise.
  bool ask(std::size_t node, std::int64_t cost, Instant now) {
    const Int128 before = held(now);
    const Decision decision = keys_[node].decide(quota_, cost, now);
    if (decision.verdict == Verdict::kNever || cost == 0) return true;
    if (!decision.allowed()) {
      fewest_ = std::min(fewest_, before + cost - 1);
      return before + cost > quota_.limit() - promise_.under;
    }
    all_.push_back({epoch_us(now), cost});
    pending_[node] += cost;
    most_ = std::max(most_, before + cost);
    return before + cost <= quota_.limit() + promise_.over;
  }

  // Mode async: charges the shared counter with what the node has admitted, and copies it.
  void sync(std::size_t node, Instant now) {
    shared_.charge(quota_, std::exchange(pending_[node], 0), now);
    keys_[node] = shared_;
  }

  void follow(Algorithm active, std::uint32_t number) { quota_.follow({active, number}); }
  const Promise& promise() const { return promise_; }
  // How near this life came to breaking the promise.
  Int128 over() const { return most_ - quota_.limit(); }
  Int128 under() const { return quota_.limit() - fewest_; }

 private:
  Int128 held(Instant now) const {
    return units_between(all_, epoch_us(now - quota_.window()), epoch_us(now));
  }

  Quota quota_;
  const Promise promise_;
  std::vector<AnyKey> keys_;
  std::vector<std::int64_t> pending_;
  AnyKey shared_{quota_.algorithm()};
  std::vector<Admitted> all_;
  Int128 most_ = 0;
  Int128 fewest_ = quota_.limit();
};

void live(Algorithm algorithm, Mode mode) {
  const Quota quota = algo::testing::any_quota(algorithm);
  const std::int64_t count = mode == Mode::kStrict ? 1 : algo::testing::within(1, 4);
  Nodes nodes(quota, mode, count);
  Instant now = algo::testing::kStart;
  std::uint32_t switches = 0;
  for (const auto& move : algo::testing::any_life()) {
    now += algo::testing::step_of(quota, move);
    const auto node = static_cast<std::size_t>(algo::testing::within(0, count - 1));
    if (quota.switches() && move.step_permille % 4 == 0) {
      nodes.follow(algo::testing::any_active(), ++switches);
    }
    if (mode == Mode::kAsync && move.step_permille % 3 == 0) nodes.sync(node, now);
    RC_ASSERT(nodes.ask(node, algo::testing::cost_of(quota, move), now));
  }
}

TEST(Promise, NoLifeIsWorse) {
  for (int i = 0; i < kAlgorithms; ++i) {
    for (const Mode mode : {Mode::kLocal, Mode::kStrict}) {
      EXPECT_TRUE(rc::check([=] { live(static_cast<Algorithm>(i), mode); })) << i;
    }
  }
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
    EXPECT_TRUE(rc::check([=] { live(algorithm, Mode::kAsync); })) << algorithm_name(algorithm);
  }
}

// ---- as near as any life comes ----------------------------------------------------------

Quota quota_of(Algorithm algorithm, std::int64_t burst = 0) {
  return *Quota::make({algorithm, 60, 1min, burst});
}

// As much as fits at the end of a minute, and again at each moment until that is a window old.
TEST(Promise, IsReachedAbove) {
  for (int i = 0; i < kAlgorithms; ++i) {
    for (const std::int64_t count : {1, 3}) {
      const Quota quota = quota_of(static_cast<Algorithm>(i));
      Nodes nodes(quota, Mode::kLocal, count);
      if (quota.switches()) nodes.follow(Algorithm::kTokenBucket, 1);
      for (const Duration at :
           std::initializer_list<Duration>{1min - 1us, 1min, 90s, 2min - 1s - 1us, 2min - 2us}) {
        for (std::size_t node = 0; node < static_cast<std::size_t>(count); ++node) {
          for (int unit = 0; unit < 60; ++unit) EXPECT_TRUE(nodes.ask(node, 1, kDay + at));
        }
      }
      // A sliding window loses half of its bound to the moments in between.
      EXPECT_LE(nodes.over(), nodes.promise().over) << name_of(quota);
      EXPECT_GE(nodes.over(), nodes.promise().over - 2 * count) << name_of(quota) << count;
    }
  }
}

// All at once at the beginning of a minute, and one more when that should not count any more.
TEST(Promise, IsReachedBelow) {
  for (const auto& [quota, later] : {std::pair(quota_of(Algorithm::kFixedWindow), Duration{0}),
                                     std::pair(quota_of(Algorithm::kSlidingLog), 1min - 1us),
                                     std::pair(quota_of(Algorithm::kSlidingWindow), Duration{1min}),
                                     std::pair(quota_of(Algorithm::kStrictWindow), 75s - 1us),
                                     std::pair(quota_of(Algorithm::kTokenBucket, 5), Duration{0}),
                                     std::pair(quota_of(Algorithm::kTokenBucket, 90), Duration{0}),
                                     std::pair(quota_of(Algorithm::kAdaptive), Duration{1min})}) {
    Nodes nodes(quota, Mode::kLocal, 1);
    for (int unit = 0; unit < 90; ++unit) nodes.ask(0, 1, kDay);
    EXPECT_TRUE(nodes.ask(0, 1, kDay + later));
    EXPECT_EQ(nodes.under(), nodes.promise().under) << name_of(quota);
  }
  // A cooldown denies everything.
  Nodes backoff(*Quota::make({Algorithm::kExponentialBackoff, 60, 1s}), Mode::kLocal, 1);
  for (int time = 0; time < 100; ++time) backoff.ask(0, 60, kDay);
  EXPECT_TRUE(backoff.ask(0, 1, kDay + 2s));
  EXPECT_EQ(backoff.under(), backoff.promise().under);
}

TEST(Promise, OfNodesThatCopyIsThatOfNodesThatDoNot) {
  for (const Mode mode : {Mode::kLocal, Mode::kAsync}) {
    EXPECT_EQ(promise_of(quota_of(Algorithm::kFixedWindow), mode, 3).over, 5 * 60);
    EXPECT_EQ(promise_of(quota_of(Algorithm::kSlidingWindow), mode, 3).over, 3 * 119 - 60);
  }
  EXPECT_EQ(promise_of(quota_of(Algorithm::kSlidingLog), Mode::kAsync, 3), (Promise{0, 0}));
  EXPECT_EQ(promise_of(quota_of(Algorithm::kSlidingLog), Mode::kLeased, 3), (Promise{0, 60}));
  EXPECT_EQ(promise_of(quota_of(Algorithm::kSlidingLog), Mode::kLocal, 3), (Promise{120, 0}));
  EXPECT_EQ(promise_of(quota_of(Algorithm::kStrictWindow), Mode::kStrict, 3), (Promise{120, 60}));
}

// The table of docs/reference/promises.md: an hour of a minute's windows.
TEST(NeverOver, CostsAFifthOfWhoAlwaysAsksAndHalfOfTheBatches) {
  for (const std::int64_t limit : {100, 1'000, 1'000'000}) {
    const Quota quota = *Quota::make({Algorithm::kStrictWindow, limit, 1min});
    const auto admitted = [&](Duration step, std::int64_t asked) {
      AnyKey key(quota.algorithm());
      std::int64_t units = 0;
      for (Duration at{0}; at < 1h; at += step) {
        const std::int64_t left = key.look(quota, 0, kDay + at).remaining;
        const std::int64_t cost = asked > 0 ? asked : std::max<std::int64_t>(1, left);
        if (key.decide(quota, cost, kDay + at).allowed()) units += cost;
      }
      return units;
    };
    EXPECT_EQ(steady_units(quota), limit * 4 / 5);
    EXPECT_EQ(admitted(1s, 0), 60 * steady_units(quota));
    EXPECT_EQ(admitted(1min, limit), 30 * limit);
    EXPECT_EQ(admitted(750ms, limit / 100), 4'800 * (limit / 100));  // 80 % of it, evenly: all
  }
}

TEST(Promise, HoldsAtTheEdges) {
  for (int i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_EQ(promise_of(*Quota::make({algorithm, 0, 1ms}), Mode::kLocal, 9), Promise{});
    const Quota most = *Quota::make({algorithm, kLimitMax, kWindowMax});
    EXPECT_EQ(promise_of(most, Mode::kLocal, std::int64_t{1} << 40).over >= kLimitMax, true);
  }
}

}  // namespace
}  // namespace weir
