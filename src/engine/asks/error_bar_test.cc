#include "engine/asks/error_bar.h"

#include <gtest/gtest.h>

#include <algorithm>
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

// A watched key whose spell begins at `begin`.
KeyHash watched_from(Instant begin) {
  return {.high = 0 - static_cast<std::uint64_t>(epoch_us(begin))};
}

// A request, and the decision of two counters.
struct Request {
  Instant at;
  bool was_admitted;
};

// The life of a key, decided by two counters, and counted again by the times of admitted requests.
struct Life {
  std::vector<Request> requests;
  std::uint64_t misjudged = 0;

  Life(const Quota& quota, const std::vector<Instant>& times) {
    algo::SlidingWindowState state;
    std::deque<Instant> admitted;
    for (const Instant now : times) {
      const auto step = algo::decide(quota, state, 1, now);
      state = step.state;
      while (!admitted.empty() && admitted.front() <= now - quota.window()) admitted.pop_front();
      const bool fits = static_cast<std::int64_t>(admitted.size()) < quota.limit();
      const bool was_admitted = step.decision.allowed();
      requests.push_back({now, was_admitted});
      if (fits != was_admitted) ++misjudged;
      if (was_admitted) admitted.push_back(now);
    }
  }
};

struct Bar {
  std::unique_ptr<MemoryStore> logs = make_memory_store(ErrorBar::kLogs, kBegin);
  ErrorBar bar{*logs, Instant{}};

  void judge(const Quota& quota, const KeyHash& key, const Request& request) {
    bar.judge({.rule = 1,
               .charge = {.key = key, .quota = &quota, .cost = 1},
               .was_admitted = request.was_admitted,
               .was_charged = request.was_admitted},
              request.at);
  }
};

Quota quota_of(std::int64_t limit) {
  return *Quota::make({.algorithm = Algorithm::kSlidingWindow, .limit = limit, .window = 1min});
}

TEST(ErrorBar, CountsBothKinds) {
  const Quota quota = quota_of(3);
  const auto judge = [&](Instant begin, const std::vector<Instant>& times) {
    Bar bar;
    for (const Request& request : Life(quota, times).requests) {
      bar.judge(quota, watched_from(begin), request);
    }
    return bar.bar.of(1);
  };
  const ErrorBar::Tally early =
      judge(kBegin - 1min, {kBegin, kBegin, kBegin, kBegin, kBegin + 1min, kBegin + 1min});
  EXPECT_EQ(early.requests, 6u);
  EXPECT_EQ(early.denied_early, 2u);
  EXPECT_EQ(early.admitted_over, 0u);
  const Instant late = kBegin + 1min - 1us;
  const ErrorBar::Tally over = judge(kBegin, {late, late, late, late + 50s});
  EXPECT_EQ(over.requests, 1u);  // the others came before the spell was a window old
  EXPECT_EQ(over.denied_early, 0u);
  EXPECT_EQ(over.admitted_over, 1u);
}

TEST(ErrorBar, JudgesNobodyWhoseLogIsNotExact) {
  const Quota quota = quota_of(3);
  Bar bar;
  const auto judged_at = [&](const KeyHash& key, Instant now) {
    bar.bar.judge({1, {.key = key, .quota = &quota, .cost = 1}, false, false}, now);
    return bar.bar.of_all().requests;
  };
  const KeyHash key = watched_from(kBegin);
  EXPECT_EQ(judged_at(key, kBegin), 0u);
  EXPECT_EQ(judged_at(key, kBegin + 59s), 0u);
  EXPECT_EQ(judged_at(key, kBegin + 60s), 1u);
  bar.bar.forget(key, 1min, kBegin + 60s);
  EXPECT_EQ(judged_at(key, kBegin + 61s), 1u);
  const KeyHash other{.high = key.high, .low = 1};
  bar.bar.forget(other, 1min, kBegin);  // before any request of it
  EXPECT_EQ(judged_at(other, kBegin + 60s), 1u);

  ErrorBar later(*bar.logs, kBegin + 1us);
  later.judge({1, {.key = key, .quota = &quota, .cost = 1}, false, false}, kBegin + 60s);
  EXPECT_EQ(later.of_all().requests, 0u);
}

TEST(ErrorBar, FollowsWhatIsGivenBackAndReset) {
  const Quota quota = quota_of(3);
  const KeyHash key = watched_from(kBegin - 1min);
  Bar bar;
  const auto early = [&] {
    bar.judge(quota, key, {kBegin, false});
    return bar.bar.of_all().denied_early;
  };
  for (int i = 0; i < 3; ++i) bar.judge(quota, key, {kBegin, true});
  EXPECT_EQ(early(), 0u);  // the log is full
  bar.bar.follow(Operation::kCharge, {.key = key, .quota = &quota, .cost = -1}, kBegin);
  EXPECT_EQ(early(), 1u);
  bar.judge(quota, key, {kBegin, true});
  EXPECT_EQ(early(), 1u);
  bar.bar.follow(Operation::kReset, {.key = key, .quota = &quota}, kBegin);
  EXPECT_EQ(early(), 2u);
  EXPECT_EQ(bar.bar.of_all().admitted_over, 0u);
}

TEST(ErrorBar, KeepsNoMoreThanItsLogs) {
  const Quota quota = quota_of(ErrorBar::kUnitsMax);
  Bar bar;
  Prng random(7);
  // How many of `keys` keys are judged, in spells that are a window old.
  const auto judged = [&](Instant now, int keys) {
    const std::uint64_t before = bar.bar.of_all().requests / 20;
    const Life life(quota, std::vector<Instant>(20, now));
    while (keys > 0) {
      const KeyHash key{.high = random.next(), .low = random.next()};
      const ErrorBar::Spell spell = ErrorBar::spell_of(key, 1min, now);
      if (spell.number % ErrorBar::kShare != 0 || spell.age < 1min) continue;
      for (const Request& request : life.requests) bar.judge(quota, key, request);
      --keys;
    }
    EXPECT_LE(bar.logs->stats().log_entries, ErrorBar::kKeysMax * ErrorBar::kKeysMax);
    return bar.bar.of_all().requests / 20 - before;
  };
  EXPECT_EQ(judged(kBegin, 300), 300u);
  EXPECT_LT(judged(kBegin, 20'000), 2 * ErrorBar::kKeysMax);
  EXPECT_EQ(bar.logs->stats().evictions, 0u);
  // After the crowd has gone, all keys are watched again.
  for (int hour = 1; hour <= 10; ++hour) judged(kBegin + hour * 1h, 300);
  EXPECT_EQ(judged(kBegin + 24h, 300), 300u);
}

class JudgedAsks : public AsksFixture {
 protected:
  JudgedAsks() { engine_.error_bar = &bar_.bar; }

  // Asks for many keys, so that some are watched.
  ErrorBar::Tally ask(const Rule& rule, std::int64_t cost = 1,
                      Operation operation = Operation::kSpendEach) {
    for (int key = 0; key < 1'000; ++key) {
      decide(operation, {{.rule = &rule, .key = std::to_string(key), .cost = cost}});
    }
    return bar_.bar.of(rule.number);
  }

  Bar bar_;
};

TEST_F(JudgedAsks, AreThoseOfOneSlidingWindowOfThisNode) {
  const Rule rule{.id = "r", .quota = quota_of(3), .number = 7};
  const ErrorBar::Tally before = ask(rule, 3);
  EXPECT_GT(before.requests, 0u);
  EXPECT_LT(before.requests, 40u);
  EXPECT_EQ(before.denied_early, 0u);
  now_ += 1min;
  const ErrorBar::Tally early = ask(rule);
  EXPECT_GT(early.denied_early, 0u);  // what was spent a minute ago still weighs fully
  EXPECT_EQ(early.denied_early, early.requests - before.requests);
  EXPECT_EQ(ask(rule, 1, Operation::kLook).requests, early.requests);
  ask(rule, 1, Operation::kReset);
  const ErrorBar::Tally after = ask(rule);
  EXPECT_GT(after.requests, early.requests);
  EXPECT_EQ(after.denied_early, early.denied_early);
  EXPECT_EQ(ask(rule, -1).requests, after.requests);
  EXPECT_GT(ask(rule).requests, after.requests);
  EXPECT_EQ(bar_.bar.of(rule.number).denied_early, early.denied_early);
  const ErrorBar::Tally before_charge = ask(rule, 1, Operation::kCharge);
  EXPECT_EQ(ask(rule).requests, before_charge.requests);  // the rest of the spell is not judged
}

TEST_F(JudgedAsks, AreNotThoseOfOthers) {
  const auto of = [](Algorithm algorithm, std::int64_t limit) {
    return Rule{.id = "r", .quota = *Quota::make({algorithm, limit, 1min}), .number = 7};
  };
  EXPECT_EQ(ask(of(Algorithm::kTokenBucket, 3)).requests, 0u);
  EXPECT_EQ(ask(of(Algorithm::kSlidingWindow, ErrorBar::kUnitsMax + 1)).requests, 0u);
  EXPECT_GT(ask(of(Algorithm::kStrictWindow, 3)).requests, 0u);
}

constexpr Duration kTurn = 5h;  // each key is watched once in it; windows are a minute

// Sources with bursts of 8 on average and a limit of 20 a minute; and how many pass rightly.
struct Population {
  explicit Population(const Quota& limit) : quota(limit) {}

  void add(double a_minute, Duration length) {
    std::vector<Instant> times;
    for (Instant now = kBegin; now < kBegin + length;) {
      const double wait = -std::log(1 - random.unit()) * 8 / a_minute;
      now += Duration(static_cast<std::int64_t>(wait * 60e6));
      for (auto left = random.below(16) + 1; left > 0; --left) {
        now += Duration{static_cast<std::int64_t>(random.below(400'000))};
        times.push_back(now);
      }
    }
    lives.emplace_back(quota, times);
  }

  double truth() const {
    double requests = 0;
    double misjudged = 0;
    for (const Life& life : lives) {
      requests += static_cast<double>(life.requests.size());
      misjudged += static_cast<double>(life.misjudged);
    }
    return misjudged / requests;
  }

  // Judges all requests. The seed draws the keys' hashes, and so which keys are watched when.
  ErrorBar::Estimate draw(std::uint64_t seed) const {
    Prng secret(seed);
    std::vector<std::pair<KeyHash, Request>> watched;
    for (const Life& life : lives) {
      const KeyHash key{.high = secret.next(), .low = secret.next()};
      for (const Request& request : life.requests) {
        if (ErrorBar::watches(key, quota.window(), request.at)) watched.emplace_back(key, request);
      }
    }
    std::ranges::stable_sort(watched, {}, [](const auto& entry) { return entry.second.at; });
    Bar bar;
    for (const auto& [key, request] : watched) bar.judge(quota, key, request);
    return bar.bar.of_all().sums.estimate();
  }

  // A hundred draws. A draw agrees if its bounds contain the result of counting all requests.
  struct Draws {
    int agreed = 0;
    double width = 0;
    double mean = 0;
  };
  Draws draws() const {
    Draws draws;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const ErrorBar::Estimate estimate = draw(seed);
      draws.agreed += estimate.least <= truth() && truth() <= estimate.most ? 1 : 0;
      draws.width += (estimate.most - estimate.least) / 100;
      draws.mean += estimate.share / 100;
    }
    return draws;
  }

  const Quota quota;
  Prng random{20171114};
  std::vector<Life> lives;
};

TEST(ErrorBar, AgreesWithTheRecountInNinetyFiveOfAHundredDraws) {
  Population population(quota_of(20));
  constexpr int kKeys = 2'000;
  for (int key = 0; key < kKeys; ++key) {
    population.add(0.5 * std::pow((key + 0.5) / kKeys, -1 / 1.2), kTurn);  // Pareto
  }
  const double truth = population.truth();
  ASSERT_GT(truth, 0.002);
  const Population::Draws draws = population.draws();
  EXPECT_GE(draws.agreed, 95);
  EXPECT_LT(draws.width, 2 * truth);  // the bounds are narrow enough to be useful
  EXPECT_NEAR(draws.mean, truth, 0.05 * truth);
}

TEST(ErrorBar, ClaimsNothingBeforeAKeyThatAsksForMostHadItsTurn) {
  for (const Duration length : {Duration(1h), kTurn}) {
    Population population(quota_of(20));
    population.add(200, length);
    for (int key = 0; key < 200; ++key) population.add(1, length);
    const Population::Draws draws = population.draws();
    EXPECT_GE(draws.agreed, 95) << length.count();
    EXPECT_EQ(draws.width > 0.95, length < kTurn) << draws.width;
  }
}

}  // namespace
}  // namespace weir
