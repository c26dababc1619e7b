// What must hold for every quota, cost and time, tried on random ones.
//
// The seed is fixed, so a run repeats. RC_PARAMS="seed=7 max_success=100000" tries others,
// and more; a failure prints the value of RC_PARAMS that reproduces it.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <ostream>
#include <vector>

#include "algo/testing/any_key.h"
#include "algo/testing/truth.h"
#include "algo/wide_math.h"

namespace weir::algo::testing {

// One request of a random life, as fractions of a window and a limit, so that it makes
// sense for every quota and gets simpler as its numbers get smaller.
struct Move {
  int step_kind = 0;
  int step_permille = 0;
  int cost_kind = 0;
  int cost_permille = 0;
};

std::ostream& operator<<(std::ostream& out, const Move& move) {
  return out << "{" << move.step_kind << ", " << move.step_permille << ", " << move.cost_kind
             << ", " << move.cost_permille << "}";
}

std::ostream& operator<<(std::ostream& out, const QuotaSpec& spec) {
  return out << algorithm_name(spec.algorithm) << " " << spec.limit << "/" << spec.window.count()
             << "us burst " << spec.burst;
}

namespace {

using namespace std::chrono_literals;

// Read by RapidCheck on first use.
[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=500", 0);

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'123'457);

std::int64_t part(std::int64_t whole, int permille) {
  return static_cast<std::int64_t>(Int128{whole} * permille / 1000);
}

// Forward: nothing, microseconds, parts of a window, several windows.
Duration step_of(const Quota& quota, const Move& move) {
  const std::int64_t window_us = quota.window().count();
  switch (move.step_kind) {
    case 0: return Duration{0};
    case 1: return Duration{move.step_permille % 3};
    case 2: return Duration{part(window_us, move.step_permille) / 20};
    case 3: return Duration{part(window_us, move.step_permille)};
    default: return Duration{part(window_us, move.step_permille) * 3};
  }
}

// From 0 or 1 to a bit over the capacity.
std::int64_t cost_of(const Quota& quota, const Move& move) {
  const std::int64_t capacity = quota.capacity();
  switch (move.cost_kind) {
    case 0: return 1;
    case 1: return std::max<std::int64_t>(1, part(capacity, move.cost_permille) / 10);
    case 2: return std::max<std::int64_t>(1, part(capacity, move.cost_permille));
    case 3: return std::max<std::int64_t>(1, capacity);
    default: return std::min(kCostMax, capacity + 1);
  }
}

rc::Gen<Move> any_move() {
  return rc::gen::build<Move>(rc::gen::set(&Move::step_kind, rc::gen::inRange(0, 5)),
                              rc::gen::set(&Move::step_permille, rc::gen::inRange(0, 1001)),
                              rc::gen::set(&Move::cost_kind, rc::gen::inRange(0, 5)),
                              rc::gen::set(&Move::cost_permille, rc::gen::inRange(0, 1001)));
}

std::vector<Move> any_life() { return *rc::gen::container<std::vector<Move>>(any_move()); }

// Evenly spread over the orders of magnitude.
rc::Gen<std::int64_t> any_magnitude(std::int64_t least, std::int64_t most) {
  return rc::gen::mapcat(rc::gen::inRange(0, 43), [least, most](int bits) {
    const std::int64_t top = std::clamp(std::int64_t{1} << bits, least, most);
    return rc::gen::inRange<std::int64_t>(least, top + 1);
  });
}

Quota any_quota(Algorithm algorithm) {
  QuotaSpec spec{algorithm};
  spec.limit = *any_magnitude(1, kLimitMax);
  spec.window = Duration{*any_magnitude(kWindowMin.count(), kWindowMax.count())};
  if (*rc::gen::arbitrary<bool>()) {  // as people choose them
    spec.window = *rc::gen::element<Duration>(1ms, 100ms, 1s, 10s, 1min, 1h, 24h);
  }
  if (algorithm == Algorithm::kTokenBucket && *rc::gen::arbitrary<bool>()) {
    spec.burst = *any_magnitude(1, kLimitMax);
  }
  RC_LOG() << spec << "\n";
  const Result<Quota> quota = Quota::make(spec);
  RC_PRE(quota.has_value());  // not if its bucket takes too long to fill
  return *quota;
}

void for_each_algorithm(const char* what, void (*property)(Algorithm)) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_TRUE(rc::check(what, [=] { property(algorithm); })) << algorithm_name(algorithm);
  }
}

// ---- bounds ----------------------------------------------------------------------------

struct Admitted {
  std::int64_t at_us;
  std::int64_t units;
};

// What a key was admitted over a life in which time only moves forward.
std::vector<Admitted> live(const Quota& quota, const std::vector<Move>& life) {
  AnyKey key(quota.algorithm());
  std::vector<Admitted> admitted;
  Instant now = kStart;
  for (const Move& move : life) {
    now += step_of(quota, move);
    const std::int64_t cost = cost_of(quota, move);
    if (key.decide(quota, cost, now).allowed()) admitted.push_back({epoch_us(now), cost});
  }
  return admitted;
}

Int128 units_between(const std::vector<Admitted>& all, std::int64_t after_us, std::int64_t to_us) {
  Int128 units = 0;
  for (const Admitted& one : all) {
    if (one.at_us > after_us && one.at_us <= to_us) units += one.units;
  }
  return units;
}

// Units in the window since the epoch that `us` lies in.
Int128 units_in_window_of(const std::vector<Admitted>& all, const Quota& quota, std::int64_t us) {
  const std::int64_t window_us = quota.window().count();
  const std::int64_t start_us = us / window_us * window_us;
  return units_between(all, start_us - 1, start_us + window_us - 1);
}

TEST(Property, AWindowSinceTheEpochAdmitsTheLimit) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow,
                                    Algorithm::kSlidingLog, Algorithm::kExponentialBackoff}) {
    EXPECT_TRUE(rc::check([=] {
      const Quota quota = any_quota(algorithm);
      const auto admitted = live(quota, any_life());
      for (const Admitted& one : admitted) {
        RC_ASSERT(units_in_window_of(admitted, quota, one.at_us) <= quota.limit());
      }
    })) << algorithm_name(algorithm);
  }
}

TEST(Property, AnyWindowOfALogAdmitsTheLimit) {
  EXPECT_TRUE(rc::check([] {
    const Quota quota = any_quota(Algorithm::kSlidingLog);
    const auto admitted = live(quota, any_life());
    for (const Admitted& one : admitted) {
      const std::int64_t after_us = one.at_us - quota.window().count();
      RC_ASSERT(units_between(admitted, after_us, one.at_us) <= quota.limit());
    }
  }));
}

TEST(Property, AnyWindowOfASlidingWindowAdmitsTwiceTheLimit) {
  EXPECT_TRUE(rc::check([] {
    const Quota quota = any_quota(Algorithm::kSlidingWindow);
    const auto admitted = live(quota, any_life());
    for (const Admitted& one : admitted) {
      const std::int64_t after_us = one.at_us - quota.window().count();
      RC_ASSERT(units_between(admitted, after_us, one.at_us) <= 2 * Int128{quota.limit()});
    }
  }));
}

// previous * (W - e) + current * W <= limit * W, with counts taken from what was admitted.
TEST(Property, ASlidingWindowKeepsToItsFormula) {
  EXPECT_TRUE(rc::check([] {
    const Quota quota = any_quota(Algorithm::kSlidingWindow);
    const std::int64_t window_us = quota.window().count();
    std::vector<Admitted> so_far;
    for (const Admitted& one : live(quota, any_life())) {
      so_far.push_back(one);
      const Int128 previous = units_in_window_of(so_far, quota, one.at_us - window_us);
      const Int128 current = units_in_window_of(so_far, quota, one.at_us);
      const Int128 overlap_us = window_us - one.at_us % window_us;
      RC_ASSERT(previous * overlap_us + current * window_us <= Int128{quota.limit()} * window_us);
    }
  }));
}

// capacity + t / T in any interval of length t.
TEST(Property, AnyIntervalOfATokenBucketAdmitsTheBurstAndWhatIsRefilled) {
  EXPECT_TRUE(rc::check([] {
    const Quota quota = any_quota(Algorithm::kTokenBucket);
    const auto admitted = live(quota, any_life());
    for (std::size_t first = 0; first < admitted.size(); ++first) {
      Int128 units = 0;
      for (std::size_t last = first; last < admitted.size(); ++last) {
        units += admitted[last].units;
        const Int128 length_us = admitted[last].at_us - admitted[first].at_us;
        // units <= capacity + length * limit / window, without dividing.
        RC_ASSERT((units - quota.capacity()) * quota.window().count() <= length_us * quota.limit());
      }
    }
  }));
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
  for_each_algorithm("looks are truthful", [](Algorithm algorithm) {
    const Quota quota = any_quota(algorithm);
    AnyKey key(algorithm);
    Instant now = kStart;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      const AnyKey before = key;
      const Decision seen = key.look(quota, cost_of(quota, move), now);
      RC_ASSERT(key == before);
      RC_ASSERT(key.decide(quota, cost_of(quota, move), now) == seen);
    }
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
  for_each_algorithm("undo is exact", [](Algorithm algorithm) {
    const Quota quota = any_quota(algorithm);
    AnyKey key(algorithm);
    Instant now = kStart;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      const AnyKey before = key;
      const std::int64_t cost = cost_of(quota, move);
      if (!key.decide(quota, cost, now).allowed()) continue;
      AnyKey undone = key;
      undone.undo(quota, cost, now, undone.recorded_us());
      for (const Duration later : {0 * quota.window(), quota.window() / 3, quota.window()}) {
        RC_ASSERT(undone.look(quota, 0, now + later).remaining ==
                  before.look(quota, 0, now + later).remaining);
      }
    }
  });
}

TEST(Property, GivingBackNeverFreesMoreThanWasGivenBack) {
  for_each_algorithm("giving back is bounded", [](Algorithm algorithm) {
    const Quota quota = any_quota(algorithm);
    AnyKey key(algorithm);
    Instant now = kStart;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      key.decide(quota, cost_of(quota, move), now);
      const std::int64_t before = key.look(quota, 0, now).remaining;
      const std::int64_t units = *rc::gen::inRange<std::int64_t>(1, 20);
      AnyKey given = key;
      const Decision decision = given.decide(quota, -units, now);
      RC_ASSERT(decision.allowed());
      RC_ASSERT(decision.remaining >= before);
      RC_ASSERT(decision.remaining <= before + units);
    }
  });
}

// ---- clocks ----------------------------------------------------------------------------

// However far: a clock that steps back never leaves more to spend than there was. But for
// the previous count of a sliding window, which may fade more when it is moved.
TEST(Property, AClockSteppingBackFreesNothing) {
  for_each_algorithm("stepping back frees nothing", [](Algorithm algorithm) {
    const Quota quota = any_quota(algorithm);
    AnyKey key(algorithm);
    Instant now = kStart;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      key.decide(quota, cost_of(quota, move), now);
      const std::int64_t before = key.look(quota, 0, now).remaining;
      const Duration back{part(quota.window().count(), *rc::gen::inRange(0, 1001))};
      RC_ASSERT(key.look(quota, 0, now - back).remaining <= before);
      if (quota.active() == Algorithm::kSlidingWindow) continue;
      RC_PRE(now - Instant{} > 4 * quota.window());
      RC_ASSERT(key.look(quota, 0, now - 4 * back).remaining <= before);
    }
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

// Threads that read their clocks up to a window apart: whatever the order in which they
// come, a window admits the limit, counting what is put down to it.
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

}  // namespace
}  // namespace weir::algo::testing
