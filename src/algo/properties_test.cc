// Properties of all quotas, costs and times, tried on random ones.
//
// The seed is fixed, so a run can be repeated. RC_PARAMS="seed=7 max_success=100000" tries others,
// and more. A failure prints the RC_PARAMS that reproduce it.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "algo/testing/admitted.h"
#include "algo/testing/any_key.h"
#include "algo/testing/random_life.h"
#include "algo/testing/truth.h"
#include "algo/wide_math.h"

namespace weir::algo::testing {
namespace {

using namespace std::chrono_literals;

// Read by RapidCheck on first use.
[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=500", 0);

template <typename Property>
void for_each_algorithm(const char* what, Property property) {
  for (int i = 0; i <= static_cast<int>(Algorithm::kStrictWindow); ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_TRUE(rc::check(what, [=] { property(algorithm); })) << algorithm_name(algorithm);
  }
}

// A request to a key.
struct Moment {
  const Quota& quota;
  AnyKey& key;
  const Move& move;
  std::int64_t cost;
  Instant now;
};

template <typename Property>
void for_each_moment(const char* what, Property property) {
  for_each_algorithm(what, [property](Algorithm algorithm) {
    const Quota quota = any_quota(algorithm);
    AnyKey key(algorithm);
    Instant now = kStart;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      property(Moment{quota, key, move, cost_of(quota, move), now});
    }
  });
}

// ---- bounds ----------------------------------------------------------------------------

// Over lives in which time only moves forward.
TEST(Property, NoKeyIsAdmittedMoreThanItsBound) {
  for_each_algorithm("is within its bound", [](Algorithm algorithm) {
    const Quota quota = any_quota(algorithm);
    AnyKey key(algorithm);
    std::vector<Admitted> admitted;
    Instant now = kStart;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      const std::int64_t cost = cost_of(quota, move);
      if (!key.decide(quota, cost, now).allowed()) continue;
      admitted.push_back({epoch_us(now), cost});
      RC_ASSERT(is_within_bound(quota, admitted));
    }
  });
}

// ---- promises --------------------------------------------------------------------------

// Spending, giving back, clocks stepping back a little and a lot, limits changing.
TEST(Property, EveryDecisionIsTruthful) {
  for_each_algorithm("decisions are truthful", [](Algorithm algorithm) {
    Quota quota = any_quota(algorithm);
    const Duration window = quota.window();
    AnyKey key(algorithm);
    Instant now = kStart;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      const int event = *rc::gen::inRange(0, 12);
      if (event == 0) now -= std::min(5 * step_of(quota, move), now - Instant{} - 3 * window);
      if (event == 1) now -= Duration{move.step_permille};
      if (event == 2) key.decide(quota, -cost_of(quota, move), now);
      if (event == 3) {
        const std::int64_t limit =
            std::max<std::int64_t>(1, part(quota.limit(), move.cost_permille));
        const std::int64_t burst = algorithm == Algorithm::kTokenBucket ? quota.capacity() : 0;
        if (const auto changed = Quota::make({algorithm, limit, window, burst})) quota = *changed;
      }
      RC_PRE(now > Instant{});
      const std::int64_t cost = cost_of(quota, move);
      const Decision decision = key.decide(quota, cost, now);
      RC_ASSERT(untruth(key, quota, cost, decision, now) == "");
    }
  });
}

TEST(Property, LookingTellsWhatSpendingWould) {
  for_each_moment("looks are truthful", [](const Moment& moment) {
    const auto& [quota, key, move, cost, now] = moment;
    const AnyKey before = key;
    const Decision seen = key.look(quota, cost, now);
    RC_ASSERT(key == before);
    RC_ASSERT(key.decide(quota, cost, now) == seen);
  });
}

TEST(Property, ManyUnitsAtOnceAreAsManyOneByOne) {
  for_each_algorithm("costs add up", [](Algorithm algorithm) {
    const Quota quota = any_quota(algorithm);
    AnyKey at_once(algorithm);
    AnyKey one_by_one(algorithm);
    Instant now = kStart;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      const std::int64_t cost = std::min<std::int64_t>(30, cost_of(quota, move));
      if (!at_once.look(quota, cost, now).allowed()) continue;
      at_once.decide(quota, cost, now);
      for (std::int64_t i = 0; i < cost; ++i) RC_ASSERT(one_by_one.decide(quota, 1, now).allowed());
      RC_ASSERT(at_once == one_by_one);
    }
  });
}

TEST(Property, AnUndoneChargeLeavesNoTrace) {
  for_each_moment("undo is exact", [](const Moment& moment) {
    const auto& [quota, key, move, cost, now] = moment;
    const AnyKey before = key;
    if (!key.decide(quota, cost, now).allowed()) return;
    AnyKey undone = key;
    undone.undo(quota, cost, now, undone.recorded_us());
    for (const Duration later : {0 * quota.window(), quota.window() / 3, quota.window()}) {
      RC_ASSERT(undone.look(quota, 0, now + later).remaining ==
                before.look(quota, 0, now + later).remaining);
    }
  });
}

TEST(Property, GivingBackNeverFreesMoreThanWasGivenBack) {
  for_each_moment("giving back is bounded", [](const Moment& moment) {
    const auto& [quota, key, move, cost, now] = moment;
    key.decide(quota, cost, now);
    const std::int64_t before = key.look(quota, 0, now).remaining;
    const std::int64_t units = *rc::gen::inRange<std::int64_t>(1, 20);
    AnyKey given = key;
    const Decision decision = given.decide(quota, -units, now);
    RC_ASSERT(decision.allowed());
    RC_ASSERT(decision.remaining >= before);
    RC_ASSERT(decision.remaining <= before + units);
  });
}

// ---- clocks ----------------------------------------------------------------------------

// A clock that steps back, however far, never leaves more to spend than before. Except for the
// previous count of a sliding window, which may fade more when it is moved.
TEST(Property, AClockSteppingBackFreesNothing) {
  for_each_moment("stepping back frees nothing", [](const Moment& moment) {
    const auto& [quota, key, move, cost, now] = moment;
    key.decide(quota, cost, now);
    const std::int64_t before = key.look(quota, 0, now).remaining;
    const Duration back{part(quota.window().count(), *rc::gen::inRange(0, 1001))};
    RC_ASSERT(key.look(quota, 0, now - back).remaining <= before);
    if (quota.active() == Algorithm::kSlidingWindow) return;
    RC_PRE(now - Instant{} > 4 * quota.window());
    RC_ASSERT(key.look(quota, 0, now - 4 * back).remaining <= before);
  });
}

// The window that a key counts in.
std::int64_t start_us(AnyKey& key, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kFixedWindow: return key.state<FixedWindowState>().start_us;
    case Algorithm::kSlidingWindow: return key.state<SlidingWindowState>().start_us;
    default: return key.state<ExponentialBackoffState>().start_us;
  }
}

// Threads read their clocks up to a window apart. In whatever order they come, a window admits at
// most the limit of the units counted in it.
TEST(Property, LaggingClocksAdmitNoMoreThanTheLimit) {
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingWindow, Algorithm::kExponentialBackoff}) {
    EXPECT_TRUE(rc::check([=] {
      const Quota quota = any_quota(algorithm);
      AnyKey key(algorithm);
      std::map<std::int64_t, Int128> units;  // by window
      Instant now = kStart;
      for (const Move& move : any_life()) {
        now += step_of(quota, move);
        const Duration lag{part(quota.window().count(), *rc::gen::inRange(0, 1001))};
        const std::int64_t cost = cost_of(quota, move);
        if (!key.decide(quota, cost, now - lag).allowed()) continue;
        const std::int64_t window = start_us(key, algorithm);
        const std::int64_t latest = units.empty() ? window : units.rbegin()->first;
        RC_ASSERT(window >= latest);
        units[window] += cost;
        RC_ASSERT(units[window] <= quota.limit());
      }
    })) << algorithm_name(algorithm);
  }
}

TEST(Property, LaggingClocksRefillNoBucketTwice) {
  EXPECT_TRUE(rc::check([] {
    const Quota quota = any_quota(Algorithm::kTokenBucket);
    AnyKey key(Algorithm::kTokenBucket);
    Int128 units = 0;
    Instant now = kStart;
    Instant first = Instant::max();
    Instant last{};
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      const Duration lag{part(quota.window().count(), *rc::gen::inRange(0, 1001))};
      const std::int64_t cost = cost_of(quota, move);
      if (!key.decide(quota, cost, now - lag).allowed()) continue;
      units += cost;
      first = std::min(first, now - lag);
      last = std::max(last, now - lag);
      const Int128 length_us = (last - first).count();
      RC_ASSERT((units - quota.capacity()) * quota.window().count() <= length_us * quota.limit());
    }
  }));
}

// ---- when there is more ----------------------------------------------------------------

// A client that waits this long finds more than is left now; a client that comes earlier does not.
// A bucket's wait may be a microsecond too long.
void tells_when_there_is_more(const AnyKey& key, const Quota& quota, const Decision& decision,
                              Instant now) {
  const auto left_after = [&](Duration wait) { return key.look(quota, 0, now + wait).remaining; };
  const Duration more_after = decision.more_after;
  if (more_after == Duration{0}) {
    RC_ASSERT(left_after(Duration{0}) == quota.capacity() || quota.limit() == 0);
    return;
  }
  RC_ASSERT(more_after > Duration{0});
  RC_ASSERT(more_after <= decision.reset_after);
  RC_ASSERT(left_after(more_after) > decision.remaining);
  const Duration grain{quota.active() == Algorithm::kTokenBucket ? 2 : 1};
  RC_ASSERT(left_after(std::max(Duration{0}, more_after - grain)) == decision.remaining);
  const Duration told = std::chrono::ceil<std::chrono::seconds>(more_after);
  RC_ASSERT(left_after(told) > decision.remaining);
}

TEST(Property, ADecisionTellsWhenThereIsMore) {
  for_each_moment("in any life", [](const Moment& moment) {
    const auto& [quota, key, move, cost, now] = moment;
    const bool always = move.step_permille % 5 == 0;
    const Decision decision = always ? key.charge(quota, cost, now) : key.decide(quota, cost, now);
    tells_when_there_is_more(key, quota, decision, now);
    tells_when_there_is_more(key, quota, key.look(quota, 0, now), now);
  });
}

TEST(MoreAfter, OfABucketOfAnHourIsAMinute) {
  const Quota quota =
      *Quota::make({.algorithm = Algorithm::kTokenBucket, .limit = 60, .window = 1h});
  AnyKey key(Algorithm::kTokenBucket);
  EXPECT_EQ(key.decide(quota, 60, kStart).more_after, 1min);
  EXPECT_EQ(key.decide(quota, 7, kStart).more_after, 1min);  // denied
  EXPECT_EQ(key.decide(quota, 0, kStart + 59s).more_after, 1s);
}

}  // namespace
}  // namespace weir::algo::testing
