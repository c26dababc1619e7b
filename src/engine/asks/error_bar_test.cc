#include "engine/asks/error_bar.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "algo/sliding_window.h"
#include "base/prng.h"
#include "engine/testing/asks_fixture.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kBegin = instant_from_epoch_us(1'700'006'400'000'000);  // a day begins
constexpr KeyHash kWatched{.high = 7, .low = 0};

// A request, and what two counters made of it.
struct Request {
  Instant at;
  bool was_admitted;
  bool was_untouched;
};

// The life of a key, decided by two counters; and recounted by the times of what was admitted.
struct Life {
  std::vector<Request> requests;
  // Counts the first request in each part of a window.
  std::uint64_t judged = 0;
  std::uint64_t misjudged = 0;

  Life(const Quota& quota, const std::vector<Instant>& times) {
    algo::SlidingWindowState state;
    std::deque<Instant> admitted;
    std::int64_t part = 0;
    for (const Instant now : times) {
      const auto step = algo::decide(quota, state, 1, now);
      state = step.state;
      while (!admitted.empty() && admitted.front() <= now - quota.window()) admitted.pop_front();
      const bool fits = static_cast<std::int64_t>(admitted.size()) < quota.limit();
      const bool was_admitted = step.decision.allowed();
      requests.push_back({now, was_admitted, step.decision.remaining + 1 == quota.limit()});
      const std::int64_t part_now = epoch_us(now) / (quota.window().count() / ErrorBar::kParts);
      if (std::exchange(part, part_now) != part_now) {
        ++judged;
        if (fits != was_admitted) ++misjudged;
      }
      if (was_admitted) admitted.push_back(now);
    }
  }
};

struct Bar {
  std::unique_ptr<MemoryStore> logs = make_memory_store(ErrorBar::kLogs, kBegin);
  ErrorBar bar{*logs};

  void judge(const Quota& quota, const KeyHash& key, const Life& life) {
    for (const auto& [at, was_admitted, was_untouched] : life.requests) {
      bar.judge({.rule = 1,
                 .charge = {.key = key, .quota = &quota, .cost = 1},
                 .was_admitted = was_admitted,
                 .was_charged = was_admitted,
                 .was_untouched = was_admitted && was_untouched},
                at);
    }
  }
};

Quota quota_of(std::int64_t limit) {
  return *Quota::make({.algorithm = Algorithm::kSlidingWindow, .limit = limit, .window = 1min});
}

TEST(ErrorBar, CountsBothKinds) {
  const Quota quota = quota_of(3);
  Bar early;
  early.judge(quota, kWatched, Life(quota, {kBegin, kBegin, kBegin, kBegin + 1min, kBegin + 1min}));
  EXPECT_EQ(early.bar.of(1).denied_early, 1u);
  EXPECT_EQ(early.bar.of(1).admitted_over, 0u);
  EXPECT_EQ(early.bar.of(1).requests, 2u);  // one in a sixteenth
  Bar over;
  const Instant late = kBegin + 1min - 1us;
  over.judge(quota, kWatched, Life(quota, {late, late, late, late + 50s}));
  EXPECT_EQ(over.bar.of(1).denied_early, 0u);
  EXPECT_EQ(over.bar.of(1).admitted_over, 1u);
  EXPECT_EQ(over.bar.of(2).requests, 0u);
}

TEST(ErrorBar, JudgesNobodyWhoseLogIsNotExact) {
  const Quota quota = quota_of(3);
  Bar bar;
  // Its counters hold something that the log has not seen: no verdict for a window.
  const auto ask = [&](Instant now) {
    bar.bar.judge({1, {.key = kWatched, .quota = &quota, .cost = 1}, false, false, false}, now);
  };
  ask(kBegin);
  ask(kBegin + 59s);
  EXPECT_EQ(bar.bar.of_all().requests, 0u);
  ask(kBegin + 60s);
  EXPECT_EQ(bar.bar.of_all().denied_early, 1u);
  bar.bar.forget(kWatched, kBegin + 60s);
  ask(kBegin + 61s);
  EXPECT_EQ(bar.bar.of_all().requests, 1u);
}

TEST(ErrorBar, KeepsNoMoreThanItsLogs) {
  const Quota quota = quota_of(ErrorBar::kUnitsMax);
  Bar bar;
  Prng random(7);
  std::vector<Instant> times;
  for (int i = 0; i < 20; ++i) times.push_back(kBegin + Duration{i});
  for (std::uint64_t key = 0; key < 20'000; ++key) {
    bar.judge(quota, {.high = random.next(), .low = random.next()}, Life(quota, times));
  }
  EXPECT_EQ(bar.bar.of_all().requests, ErrorBar::kKeysMax);  // all places are taken
  EXPECT_LE(bar.logs->stats().log_entries, ErrorBar::kKeysMax * ErrorBar::kKeysMax);
  EXPECT_EQ(bar.logs->stats().evictions, 0u);
}

class JudgedAsks : public AsksFixture {
 protected:
  JudgedAsks() { engine_.error_bar = &bar_.bar; }

  // Of many keys, so that some are watched.
  ErrorBar::Tally ask(const Rule& rule, std::int64_t cost = 1,
                      Operation operation = Operation::kSpendEach) {
    for (int key = 0; key < 500; ++key) {
      decide(operation, {{.rule = &rule, .key = std::to_string(key), .cost = cost}});
    }
    return bar_.bar.of(rule.number);
  }

  Bar bar_;
};

TEST_F(JudgedAsks, AreThoseOfOneSlidingWindowOfThisNode) {
  const Rule rule{.id = "r", .quota = quota_of(3), .number = 7};
  const std::uint64_t watched = ask(rule, 3).requests;
  EXPECT_GT(watched, 5u);
  EXPECT_LT(watched, 40u);
  now_ += 1min;
  ErrorBar::Tally tally = ask(rule);
  EXPECT_EQ(tally.requests, 2 * watched);
  EXPECT_EQ(tally.denied_early, watched);  // what was spent a minute ago weighs all
  now_ += 1min;
  tally = ask(rule, 1, Operation::kLook);
  EXPECT_EQ(tally.requests, 2 * watched);
  ask(rule, 1, Operation::kReset);
  tally = ask(rule);
  EXPECT_EQ(tally.requests, 3 * watched);
  EXPECT_EQ(tally.denied_early, watched);
}

TEST_F(JudgedAsks, AreNotThoseOfOthers) {
  const auto of = [](Algorithm algorithm, std::int64_t limit) {
    return Rule{.id = "r", .quota = *Quota::make({algorithm, limit, 1min}), .number = 7};
  };
  EXPECT_EQ(ask(of(Algorithm::kTokenBucket, 3)).requests, 0u);
  EXPECT_EQ(ask(of(Algorithm::kSlidingWindow, ErrorBar::kUnitsMax + 1)).requests, 0u);
  EXPECT_GT(ask(of(Algorithm::kStrictWindow, 3)).requests, 0u);
}

// Heavy-tailed sources that come in bursts, limited to 20 a minute, for ten minutes.
std::vector<Life> population(const Quota& quota) {
  Prng random(20171114);
  std::vector<Life> lives;
  constexpr int kKeys = 20'000;
  for (int key = 0; key < kKeys; ++key) {
    const double rate = 0.5 * std::pow((key + 0.5) / kKeys, -1 / 1.2);  // a minute; Pareto
    std::vector<Instant> times;
    for (double at = 0; at < 10;) {
      at += -std::log(1 - random.unit()) * 8 / rate;  // a burst of 8 on average
      Instant now = kBegin + Duration(static_cast<std::int64_t>(at * 60e6));
      for (auto left = random.below(16) + 1; left > 0 && times.size() < 20'000; --left) {
        now += Duration{static_cast<std::int64_t>(random.below(400'000))};
        times.push_back(now);
      }
      at = std::chrono::duration<double>(now - kBegin).count() / 60;
    }
    lives.emplace_back(quota, times);
  }
  return lives;
}

// Chance draws the keys. In 95 of 100 draws the bounds hold what a recount of all finds.
TEST(ErrorBar, AgreesWithTheRecountInNinetyFiveOfAHundredDraws) {
  const Quota quota = quota_of(20);
  const std::vector<Life> lives = population(quota);
  double requests = 0;
  double misjudged = 0;
  for (const Life& life : lives) {
    requests += static_cast<double>(life.judged);
    misjudged += static_cast<double>(life.misjudged);
  }
  const double truth = misjudged / requests;
  ASSERT_GT(truth, 0.002);
  int agreed = 0;
  double width = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Prng secret(seed);
    Bar bar;
    for (const Life& life : lives) {
      const KeyHash key{.high = secret.next(), .low = secret.next()};
      if (ErrorBar::watches(key)) bar.judge(quota, key, life);
    }
    const ErrorBar::Estimate estimate = bar.bar.of_all().estimate();
    agreed += estimate.least <= truth && truth <= estimate.most ? 1 : 0;
    width += (estimate.most - estimate.least) / 100;
  }
  EXPECT_GE(agreed, 95);
  EXPECT_LT(width, 3 * truth);  // it says something
}

}  // namespace
}  // namespace weir
