#include "store/memory/fine_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "algo/sliding_window.h"
#include "base/prng.h"
#include "rules/promise.h"
#include "store/memory/memory_testing.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// The units in the last window, each with its time.
class Log {
 public:
  explicit Log(Duration window) : window_(window) {}

  void add(std::int64_t units, Instant now) { entries_.push_back({now, units}); }
  // Units in the last window, made longer by `longer`.
  std::int64_t held(Instant now, Duration longer = {}) const {
    std::int64_t units = 0;
    for (const Entry& entry : entries_) {
      if (entry.at > now - window_ - longer) units += entry.units;
    }
    return units;
  }
  void forget(Instant before) {
    while (!entries_.empty() && entries_.front().at < before) entries_.pop_front();
  }

 private:
  struct Entry {
    Instant at;
    std::int64_t units;
  };
  const Duration window_;
  std::deque<Entry> entries_;
};

// One key with its own place.
struct Key {
  algo::SlidingWindowState state;
  FinePlace place;

  explicit Key(const Quota& quota) { place.take(quota, state, kNow); }

  Decision look(const Quota& quota, std::int64_t cost, Instant now) const {
    Key copy = *this;
    return copy.decide(quota, cost, now);
  }
  Decision decide(const Quota& quota, std::int64_t cost, Instant now) {
    place.touch(quota, algo::roll(quota, state, now), now);
    const auto step = algo::decide(quota, state, cost, now, FineCounts::Past{&place});
    if (step.changed) place.note(step.state.current);
    state = step.state;
    return step.decision;
  }
};

// Checks that a decision tells the truth about the future.
void expect_truth(const Key& key, const Quota& quota, std::int64_t cost, const Decision& decision,
                  Instant now) {
  EXPECT_TRUE(decision.remaining == 0 || key.look(quota, decision.remaining, now).allowed());
  EXPECT_FALSE(key.look(quota, decision.remaining + 1, now).allowed());
  EXPECT_EQ(key.look(quota, 0, now + decision.reset_after).remaining, quota.limit());
  if (decision.verdict == Verdict::kDenied) {
    const Instant retry = now + decision.retry_after;
    EXPECT_TRUE(key.look(quota, cost, retry).allowed());
    EXPECT_FALSE(key.look(quota, cost, retry - Duration{1}).allowed());
  }
  if (decision.remaining < quota.limit()) {
    const Instant more = now + decision.more_after;
    EXPECT_GT(key.look(quota, 0, more).remaining, decision.remaining);
    EXPECT_LE(key.look(quota, 0, more - Duration{1}).remaining, decision.remaining);
  }
}

// Checks that an exact log, with a window one count longer or shorter at most, decides alike.
void expect_like_log(const Log& log, const Quota& quota, std::int64_t cost,
                     const Decision& decision, Instant now) {
  const Duration count = quota.window() / 256 + Duration{1};
  if (decision.allowed()) {
    EXPECT_LE(log.held(now, -count) + cost, quota.limit());
  } else {
    EXPECT_GT(log.held(now, count) + cost, quota.limit());
  }
}

class SmallWorld {
 public:
  explicit SmallWorld(std::int64_t limit)
      : quota_(quota_of({Algorithm::kSlidingWindow, limit, 1ms})) {}

  int explore(const Key& key, const Log& log, Instant now, int length) {
    int decisions = 0;
    if (length == 0 || testing::Test::HasFailure()) return decisions;
    for (const int step_us : {0, 1, 3, 4, 496, 996, 1000, 2000}) {
      for (const std::int64_t cost : {0, 1, 2, 4}) {
        Key next = key;
        Log next_log = log;
        const Instant then = now + Duration{step_us};
        const Decision decision = next.decide(quota_, cost, then);
        if (cost <= quota_.limit()) expect_like_log(log, quota_, cost, decision, then);
        EXPECT_EQ(decision.verdict == Verdict::kNever, cost > quota_.limit());
        expect_truth(next, quota_, cost, decision, then);
        if (decision.allowed()) next_log.add(cost, then);
        decisions += 1 + explore(next, next_log, then, length - 1);
      }
    }
    return decisions;
  }

  const Quota& quota() const { return quota_; }

 private:
  const Quota quota_;
};

TEST(FinePlace, DecidesEveryShortLifeAsAnExactLogOfAWindowOneCountLongerOrShorter) {
  for (const std::int64_t limit : {1, 2, 3}) {
    SmallWorld world(limit);
    EXPECT_GT(world.explore(Key(world.quota()), Log(1ms), kNow, 3), 30'000);
  }
}

// Tries limits at the edges of the packed counts, and windows from the shortest to the longest.
TEST(FinePlace, DecidesLongLivesSo) {
  for (const std::int64_t limit : {7, 100, 32'767, 32'768, 400'000}) {
    for (const Duration window : {Duration(1ms), Duration(1min), Duration(24h * 366)}) {
      const Quota quota = quota_of({Algorithm::kSlidingWindow, limit, window});
      const std::int64_t rounded = limit > 32'767 ? limit / 8'192 : 0;
      Key key(quota);
      Log log(window);
      Prng prng(static_cast<std::uint64_t>(limit));
      Instant now = kNow;
      for (int i = 0; i < 600 && !testing::Test::HasFailure(); ++i) {
        now += window * prng.below(1000) / (i % 7 == 0 ? 1'500 : 20'000);
        const std::int64_t cost = 1 + prng.below(static_cast<std::uint32_t>(limit / 5 + 1));
        const Decision decision = key.decide(quota, cost, now);
        if (rounded == 0) {
          expect_like_log(log, quota, cost, decision, now);
          expect_truth(key, quota, cost, decision, now);
        } else if (decision.allowed()) {
          EXPECT_LE(log.held(now, -window / 256) + cost, limit + rounded);
        }
        if (decision.allowed()) log.add(cost, now);
        log.forget(now - 2 * window);
      }
      ASSERT_FALSE(testing::Test::HasFailure()) << limit << " in " << window.count() << " us";
    }
  }
}

// After the limit is raised, its units do not fit into the counts.
TEST(FinePlace, CountsAnewWhenTheLimitChanges) {
  const Quota low = quota_of({Algorithm::kSlidingWindow, 100, 1min});
  const Quota high = quota_of({Algorithm::kSlidingWindow, 1'000'000, 1min});
  Key key(low);
  EXPECT_TRUE(key.decide(low, 100, kNow).allowed());
  EXPECT_TRUE(key.decide(high, 999'900, kNow).allowed());
  EXPECT_FALSE(key.decide(high, 1, kNow + 30s).allowed());
  EXPECT_FALSE(key.decide(high, 100'000, kNow + 59s).allowed());
  EXPECT_FALSE(key.decide(high, 1'000'000, kNow + 60s).allowed());
  EXPECT_TRUE(key.decide(high, 1'000'000, kNow + 61s).allowed());
}

// Clocks step back by up to an hour, units are given back, charges exceed the limit. No window
// since the epoch admits more than its limit, and decisions tell the future truly.
TEST(FinePlace, SurvivesWhatTheSlotGoesThrough) {
  const Quota quota = quota_of({Algorithm::kSlidingWindow, 50, 1min});
  for (std::uint64_t seed = 0; seed < 50 && !testing::Test::HasFailure(); ++seed) {
    Prng prng(seed);
    Key key(quota);
    Instant now = kNow + 24h;
    for (int i = 0; i < 300; ++i) {
      now += Duration(1s) * (prng.below(20) == 0 ? -static_cast<int>(prng.below(3'600))
                                                 : static_cast<int>(prng.below(9)));
      const std::int64_t cost = static_cast<std::int64_t>(prng.below(20)) - 4;
      if (prng.below(10) == 0) {
        key.state = algo::charge(quota, key.state, std::max<std::int64_t>(0, cost), now).state;
        continue;
      }
      const auto held_before = key.state.current;
      const Decision decision = key.decide(quota, cost, now);
      if (cost > 0 && decision.allowed()) {
        EXPECT_LE(key.state.current, quota.limit());
      } else if (cost >= 0) {
        EXPECT_LE(key.state.current, held_before);
      }
      // Two counters answer after refunds.
      if (cost > 0) expect_truth(key, quota, cost, decision, now);
    }
  }
}

// A place's word on the next unit equals its own answers, as long as the word holds.
TEST(FinePlace, SaysHowItsNextUnitFades) {
  using Count = algo::EvenPast::Count;
  for (const std::int64_t limit : {7, 100, 400'000}) {
    for (const Duration window : {Duration(1ms), Duration(1min), Duration(24h * 366)}) {
      const Quota quota = quota_of({Algorithm::kSlidingWindow, limit, window});
      Key key(quota);
      Prng prng(static_cast<std::uint64_t>(limit));
      Instant now = kNow;
      for (int i = 0; i < 2'000; ++i) {
        now += window * prng.below(1000) / (i % 7 == 0 ? 1'500 : 40'000);
        key.decide(quota, 1 + prng.below(static_cast<std::uint32_t>(limit / 5 + 1)), now);
        const algo::SlidingWindowState state = key.state;
        const FineFading said = key.place.fading(quota);
        const std::int64_t left_us = said.until_us - epoch_us(now);
        ASSERT_FALSE(said.covers(quota, now + Duration{left_us}));
        for (const std::int64_t later_us : {std::int64_t{0}, left_us / 2, left_us - 1}) {
          const Instant then = now + Duration{later_us};
          if (algo::roll(quota, state, then) != state) continue;
          const std::int64_t weight = key.place.weight(quota, state, then);
          const std::int64_t held = state.current + weight;
          ASSERT_TRUE(said.covers(quota, then));
          ASSERT_EQ(said.weight(quota, state, then), weight);
          if (held == 0) continue;
          const std::int64_t faded_us =
              weight > 0 ? key.place.faded_at_us(quota, state, Count::kPrevious, weight - 1)
                         : key.place.faded_at_us(quota, state, Count::kCurrent, held - 1);
          ASSERT_EQ(said.more_after(quota, state, weight, held, then),
                    instant_from_epoch_us(state.start_us + faded_us) - then);
        }
      }
    }
  }
}

struct Life {
  const Quota quota;
  const std::unique_ptr<MemoryStore> store;

  Life(std::int64_t limit, Duration window, std::size_t precise_keys)
      : quota(quota_of({Algorithm::kSlidingWindow, limit, window})),
        store(make_memory_store({.max_keys = 4096, .precise_keys = precise_keys}, kStart)) {}

  Decision ask(std::int64_t cost, Instant now, Operation operation = Operation::kSpendEach,
               std::uint64_t key = 1) const {
    return store->decide_one(operation, {.key = key_of(key), .quota = &quota, .cost = cost}, now);
  }
};

// How many decisions about a key with bursts differ from those of an exact log of the admitted
// requests.
int misjudged(std::int64_t limit, Duration window, std::size_t precise_keys) {
  const Life life(limit, window, precise_keys);
  Log log(window);
  Prng prng(1);
  Instant now = kStart;
  int wrong = 0;
  for (int burst = 0; burst < (window > 24h ? 15 : 100); ++burst) {
    now += window * prng.below(1000) / 1500;
    for (std::uint32_t left = prng.below(static_cast<std::uint32_t>(limit)); left > 0; --left) {
      now += window * prng.below(1000) / (2'000 * limit);
      log.forget(now - window);
      const bool fits = log.held(now) < limit;
      const Decision decision = life.ask(1, now);
      wrong += decision.allowed() == fits ? 0 : 1;
      if (decision.allowed()) log.add(1, now);
    }
  }
  return wrong;
}

TEST(PreciseWindows, MisjudgeSeveralTimesLess) {
  for (const std::int64_t limit : {20, 100, 500}) {
    for (const Duration window : {Duration(1ms), Duration(1min), Duration(24h * 366)}) {
      const int two = misjudged(limit, window, 0);
      EXPECT_GT(two, 0);
      EXPECT_LE(4 * misjudged(limit, window, 16), two) << limit << " in " << window.count();
    }
  }
}

// A key whose place learns of each hit at once.
struct ToldAtOnce {
  const Quota& quota;
  algo::SlidingWindowState state;
  FinePlace place;
  bool has_place = false;

  Decision ask(std::int64_t cost, Instant now) {
    const auto rolled = algo::roll(quota, state, now);
    const bool is_near = FineCounts::is_near(quota, rolled, cost);
    if (is_near && !has_place) place.take(quota, rolled, now);
    has_place = has_place || is_near;
    if (is_near) place.touch(quota, rolled, now);
    const auto step = is_near ? algo::decide(quota, state, cost, now, FineCounts::Past{&place})
                              : algo::decide(quota, state, cost, now);
    if (is_near && step.changed) place.note(step.state.current);
    state = step.state;
    return step.decision;
  }
};

// Most hits take no lock, and leave the slot's units for the place.
TEST(PreciseWindows, HitsWithoutALockAreThoseWithOne) {
  for (const std::int64_t limit : {5, 100, 5'000, 400'000}) {
    for (const Duration window : {Duration(1s), Duration(1min), Duration(24h * 30)}) {
      const Life life(limit, window, 16);
      ToldAtOnce told{life.quota, {}, {}};
      Prng prng(static_cast<std::uint64_t>(limit));
      Instant now = kNow;
      for (int i = 0; i < 20'000; ++i) {
        const int pause = i % 1'000 == 0 ? 2'000 : i % 50 == 0 ? 40 : 1;  // in counts
        now += window * prng.below(500) * pause / (256 * 1'000);
        const std::int64_t cost = 1 + prng.below(static_cast<std::uint32_t>(limit / 100 + 1));
        ASSERT_EQ(life.ask(cost, now), told.ask(cost, now)) << limit << " " << i;
      }
    }
  }
}

TEST(PreciseWindows, LooksSayWhatAHitWouldBeTold) {
  const Life life(100, 1min, 16);
  Prng prng(3);
  Instant now = kNow;
  for (int i = 0; i < 2'000; ++i) {
    now += Duration(1ms) * prng.below(1'000);
    const std::int64_t cost = 1 + prng.below(5);
    const Decision look = life.ask(cost, now, Operation::kLook);
    const Decision hit = life.ask(cost, now);
    ASSERT_EQ(look.verdict, hit.verdict);
    ASSERT_EQ(look.remaining, hit.remaining + (hit.allowed() ? cost : 0));
    ASSERT_EQ(look.retry_after, hit.retry_after);
  }
}

// Four places, and a flood of keys that each want one.
TEST(PreciseWindows, AFloodOfKeysNearTheirLimitsFreesNobody) {
  const Life life(100, 1h, 4);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(life.ask(1, kNow).allowed());
  ASSERT_FALSE(life.ask(1, kNow).allowed());
  for (std::uint64_t key = 2; key < 1'000; ++key) {
    for (int i = 0; i < 30; ++i) life.ask(3, kNow + 1s, Operation::kSpendEach, key);
    ASSERT_FALSE(life.ask(1, kNow + 1s).allowed()) << "after " << key << " keys";
  }
  // An hour later, by the log give or take what two counters may miss: a quarter of the limit.
  EXPECT_FALSE(life.ask(80, kNow + 30min).allowed());
}

// Meanwhile counts end, and other keys take each other's places.
TEST(PreciseWindows, ThreadsAdmitTheLimitOfOneKey) {
  constexpr int kThreads = 4;
  const Life life(1'000, 1h, 4);
  std::atomic<int> admitted{0};
  std::atomic<int> ticks{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 2'000; ++i) {
        const Instant now = kNow + ticks++ * 400ms;  // within the hour; 35 hits or so in a count
        admitted += life.ask(1, now).allowed() ? 1 : 0;
        life.ask(40, now, Operation::kSpendEach, 2 + static_cast<std::uint64_t>(i + thread) % 8);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(admitted.load(), 1'000);
}

// ---- the promise of a precise key (rules/promise.h) ----------------------------------------

// A store with one key, and the log of the key's admissions.
struct PreciseKey {
  Quota quota;
  std::unique_ptr<MemoryStore> store =
      make_memory_store({.max_keys = 1024, .precise_keys = 4}, kNow);
  Promise promise = precise_promise_of(quota);
  Duration grain = precise_grain(quota);
  Log log{quota.window()};
  std::int64_t most_over = 0;
  std::int64_t most_under = 0;

  void ask(std::int64_t cost, Instant now) {
    const Charge charge{key_of(1), &quota, cost};
    const bool is_allowed = store->decide_one(Operation::kSpendEach, charge, now).allowed();
    if (is_allowed) {
      log.add(cost, now);
      most_over = std::max(most_over, log.held(now, -grain) - quota.limit());
    } else if (cost <= quota.limit()) {
      const std::int64_t fewest = log.held(now, grain) + cost - 1;
      most_under = std::max(most_under, quota.limit() - fewest);
    }
    log.forget(now - 3 * quota.window());
  }
};

TEST(FineCounts, NoLifeBreaksThePromiseOfAPreciseKey) {
  static_assert(kGrains == kFineCounts);
  Prng random(26);
  const auto below = [&](std::int64_t bound) {
    return std::int64_t{random.below(static_cast<std::uint32_t>(bound))};
  };
  for (int life = 0; life < 400; ++life) {
    const std::int64_t limit = life % 5 == 0 ? 40'000 + below(1'000'000) : 4 + below(300);
    const Duration window{limit > 304 ? 60'000'000 + below(1'000) : 1'000 + below(1'000'000)};
    PreciseKey key{.quota = *Quota::make({.limit = limit, .window = window})};
    ASSERT_TRUE(Packing::fits(key.quota)) << "only such keys can be precise";
    Instant now = kNow;
    for (int move = 0; move < 300; ++move) {
      const std::array<Duration, 7> steps = {Duration{0},
                                             Duration{1},
                                             key.grain,
                                             window - key.grain,
                                             window / 3,
                                             window * below(3),
                                             window * below(1000) / 1000};
      now += steps[static_cast<std::size_t>(below(7))] + Duration{below(3)};
      const std::array<std::int64_t, 4> costs = {1, 1 + below(limit), limit / 4, limit / 2};
      key.ask(std::max<std::int64_t>(1, costs[static_cast<std::size_t>(below(4))]), now);
    }
    ASSERT_LE(key.most_over, key.promise.over) << life << " " << limit << " " << window.count();
    ASSERT_LE(key.most_under, key.promise.under) << life << " " << limit << " " << window.count();
  }
}

// A quarter comes before the key is precise: all of it at the end or at the beginning of a window.
TEST(FineCounts, ThePromiseOfAPreciseKeyIsReached) {
  PreciseKey late{.quota = *Quota::make({.limit = 100, .window = 1min})};
  const Instant begin = kNow - Duration{epoch_us(kNow) % 60'000'000} + 1min;
  const auto ask_all = [](PreciseKey& key, Instant now) {
    for (int unit = 0; unit < 100; ++unit) key.ask(1, now);
  };
  for (int unit = 0; unit < 25; ++unit) late.ask(1, begin + 1min - 1us);
  ask_all(late, begin + 2min - late.grain - 2us);
  EXPECT_GE(late.most_over, late.promise.over - 1);
  EXPECT_LE(late.most_over, late.promise.over);

  PreciseKey early{.quota = *Quota::make({.limit = 100, .window = 1min})};
  for (int unit = 0; unit < 25; ++unit) early.ask(1, begin);
  ask_all(early, begin + 1min + early.grain);
  EXPECT_GE(early.most_under, early.promise.under - 2);
  EXPECT_LE(early.most_under, early.promise.under);
}

}  // namespace
}  // namespace weir
