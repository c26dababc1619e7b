#include "weir/holding_store.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "weir/limiter.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);  // a minute begins
constexpr KeyHash kKey{0x0123456789abcdef, 0x123456789abcdef0};
constexpr KeyHash kOther{0xfedcba9876543210, 0xedcba9876543210f};
using Commit = HoldingStore::Commit;
using Work = HoldingStore::Work;

class HoldingStoreTest : public ::testing::Test {
 protected:
  Decision ask(Operation operation, std::int64_t cost, Instant now) {
    return store_.decide_one(operation, charge(cost), now);
  }
  bool hit(std::int64_t cost, Instant now = kNow) {
    return ask(Operation::kSpendEach, cost, now).allowed();
  }
  std::int64_t left(Instant now = kNow) { return ask(Operation::kLook, 0, now).remaining; }

  // Does what a door does: spends the estimate, and holds it if it passes.
  std::optional<HoldToken> reserve(std::int64_t cost, Duration length, Instant now = kNow) {
    HoldTerms terms = terms_;
    terms.length = length;
    terms.estimate = cost;
    if (!hit(cost, now)) return std::nullopt;
    const Charge held = charge(cost);
    return store_.hold({&held, 1}, terms, now);
  }
  Commit commit(const std::optional<HoldToken>& token, std::int64_t cost, Instant now = kNow,
                Work work = Work::kIsDone) {
    return store_.commit(token.value_or(HoldToken()), cost, work, now);
  }

  Charge charge(std::int64_t cost) const { return {.key = kKey, .quota = &quota_, .cost = cost}; }

  const Quota quota_ = *Quota::make({Algorithm::kFixedWindow, 100, 1min});
  const std::unique_ptr<MemoryStore> memory_ = make_memory_store({.max_keys = 1024}, kNow);
  HoldingStore store_{*memory_};
  HoldTerms terms_{.holds_max = 3};
};

// Rules without holds pass, and show the counters that time has passed.
TEST_F(HoldingStoreTest, ALapseThatIsNoticedInTheNextWindowCountsInItsOwn) {
  ASSERT_TRUE(reserve(60, 10s, kNow + 49500ms));
  memory_->decide_one(Operation::kSpendEach, {.key = kOther, .quota = &quota_, .cost = 1},
                      kNow + 60200ms);
  EXPECT_EQ(left(kNow + 60300ms), 100);
}

TEST_F(HoldingStoreTest, LeavesRoomForOthersWhereTheTermsSaySo) {
  terms_ = {.holds_max = 1000, .room = 2};
  ASSERT_TRUE(reserve(1, 30s));
  ASSERT_TRUE(reserve(1, 20s));
  EXPECT_FALSE(reserve(1, 30s));
  terms_.room = 3;
  EXPECT_TRUE(reserve(1, 30s));
  const auto held = store_.held(kKey, kNow + 1s);
  EXPECT_EQ(held.units, 3);
  EXPECT_EQ(held.holds, 3u);
  EXPECT_EQ(held.lapses_after, 19s);
}

TEST_F(HoldingStoreTest, SaysWhenAHoldEndsThatFreesItsUnits) {
  terms_.is_free = true;
  ASSERT_TRUE(reserve(50, 30s));
  ASSERT_TRUE(reserve(40, 20s));
  const Decision denied = ask(Operation::kSpendEach, 20, kNow + 5s);
  EXPECT_EQ(denied.verdict, Verdict::kDenied);
  EXPECT_EQ(denied.retry_after, 15s);
  EXPECT_EQ(denied.remaining, 10);
  EXPECT_EQ(ask(Operation::kLook, 20, kNow + 5s).retry_after, 15s);
  EXPECT_EQ(ask(Operation::kSpendEach, 101, kNow).verdict, Verdict::kNever);
}

TEST_F(HoldingStoreTest, SaysWhenTheUnitsComeBackThatALapseCharges) {
  ASSERT_TRUE(reserve(50, 30s));
  ASSERT_TRUE(reserve(40, 20s));
  EXPECT_EQ(ask(Operation::kSpendEach, 20, kNow + 5s).retry_after, 55s);
  EXPECT_EQ(ask(Operation::kSpendEach, 20, kNow + 25s).retry_after, 35s);
}

TEST_F(HoldingStoreTest, SaysWhenADenialByTheCounterFitsNextToWhatIsHeld) {
  ASSERT_TRUE(reserve(60, 58s, kNow + 5s));
  ASSERT_TRUE(hit(30, kNow + 5s));
  terms_.is_free = true;
  ASSERT_TRUE(reserve(10, 58s, kNow + 6s));
  EXPECT_EQ(ask(Operation::kSpendEach, 71, kNow + 10s).retry_after, 110s);
}

TEST_F(HoldingStoreTest, DrainsNothingThatIsHeld) {
  const auto token = reserve(60, 30s);
  EXPECT_TRUE(ask(Operation::kDrain, 10, kNow).allowed());
  EXPECT_EQ(left(), 30);
  EXPECT_FALSE(ask(Operation::kDrain, 50, kNow).allowed());
  EXPECT_EQ(left(), 0);
  commit(token, 0);
  EXPECT_EQ(left(), 60);
  EXPECT_FALSE(ask(Operation::kDrain, 101, kNow).allowed());
  EXPECT_EQ(left(), 0);
}

TEST_F(HoldingStoreTest, ChargesAllOfAListOrNothing) {
  ASSERT_TRUE(reserve(60, 30s));
  std::array<Charge, 2> charges = {charge(41), charge(10)};
  charges[1].key = kOther;
  std::array<Decision, 2> decisions;
  Batch batch{.operation = Operation::kSpendAll, .charges = charges, .decisions = decisions};
  batch.on_done = [](Batch&) noexcept {};
  store_.decide(batch, kNow);
  EXPECT_FALSE(decisions[0].allowed());
  EXPECT_EQ(decisions[0].remaining, 40);
  EXPECT_TRUE(decisions[1].allowed());
  EXPECT_EQ(decisions[1].remaining, 100);
  EXPECT_EQ(left(), 40);
  EXPECT_EQ(store_.decide_one(Operation::kLook, charges[1], kNow).remaining, 100);
}

TEST_F(HoldingStoreTest, AReservationEndsWithWhatWasReported) {
  struct StandingClock final : Clock {
    Instant now() const noexcept override { return kNow; }
  } clock;
  const Limiter limiter(store_, clock, {Algorithm::kFixedWindow, 100, 1min}, HashSecret{});
  const auto left = [&] { return limiter.look("b", "k", {.cost = 0})->remaining; };
  {
    auto reserved = limiter.reserve(store_, "b", "k", {.cost = 60}, {.length = 30s});
    ASSERT_TRUE(reserved && reserved->allowed());
    EXPECT_EQ(reserved->decision().remaining, 40);
    EXPECT_EQ(left(), 40);
    EXPECT_FALSE(limiter.reserve(store_, "b", "k", {.cost = 41}, {.length = 30s})->allowed());
    EXPECT_EQ(limiter.reserve(store_, "b", "k", {.cost = 1}, {.length = 30s}).error().code,
              ErrorCode::kTooManyHolds);
    EXPECT_TRUE(reserved->commit(10));
    EXPECT_FALSE(reserved->commit(10));
  }
  EXPECT_EQ(left(), 90);
  {
    auto reserved = limiter.reserve(store_, "b", "k", {.cost = 5}, {.length = 60s});
    EXPECT_EQ(reserved->decision().reset_after, limiter.look("b", "k", {.cost = 0})->reset_after);
  }
  EXPECT_EQ(left(), 85);
  limiter.reserve(store_, "b", "k", {.cost = 5}, {.length = 30s})->report(7);
  EXPECT_EQ(left(), 78);
  EXPECT_EQ(store_.size(), 0u);
}

TEST_F(HoldingStoreTest, ChargesOfOneBatchAreJudgedInTheirOrder) {
  ASSERT_TRUE(reserve(90, 30s));
  const auto ask = [&](Operation operation) {
    const std::array<Charge, 2> charges = {Charge{.key = kKey, .quota = &quota_, .cost = 8},
                                           Charge{.key = kKey, .quota = &quota_, .cost = 4}};
    std::array<Decision, 2> decisions;
    Batch batch{.operation = operation,
                .charges = charges,
                .decisions = decisions,
                .on_done = [](Batch&) noexcept {}};
    store_.decide(batch, kNow);
    return decisions;
  };
  const auto joint = ask(Operation::kSpendAll);
  EXPECT_TRUE(joint[0].allowed());
  EXPECT_EQ(joint[1].verdict, Verdict::kDenied);
  EXPECT_GE(joint[1].retry_after, 1s);
  const auto each = ask(Operation::kSpendEach);
  EXPECT_TRUE(each[0].allowed());
  EXPECT_EQ(each[1].verdict, Verdict::kDenied);
  EXPECT_EQ(each[1].remaining, 2);
}

// Random hits and holds; the same again after each of its steps.
struct ByChance {
  ByChance(Algorithm algorithm, std::uint64_t seed, int steps)
      : quota(*Quota::make({algorithm, 20, 1min})), random(seed), all_free(seed % 2 == 0) {
    for (int i = 0; i < steps; ++i) act();
  }
  std::int64_t below(std::uint64_t most) { return static_cast<std::int64_t>(random() % most); }
  Decision ask(Operation operation, std::int64_t cost, Instant at) {
    return store.decide_one(operation, {.key = kKey, .quota = &quota, .cost = cost}, at);
  }
  void act() {
    now += Duration(below(9'000'000));
    const std::int64_t cost = 1 + below(9);
    if (below(2) == 0 || !ask(Operation::kLook, cost, now).allowed()) {
      ask(Operation::kSpendEach, cost, now);
      return;
    }
    const Charge charge{.key = kKey, .quota = &quota, .cost = cost};
    const bool is_free = below(3) == 0 || all_free;
    const HoldTerms terms{.length = Duration(1 + below(59'000'000)),
                          .estimate = cost,
                          .holds_max = 100,
                          .is_charged = false,
                          .is_free = is_free};
    const auto token = store.hold({&charge, 1}, terms, now);
    const std::int64_t reported = below(30);  // also more than fits
    if (token && !is_free && below(3) == 0) store.commit(*token, reported, Work::kGoesOn, now);
  }

  Quota quota;
  std::mt19937_64 random;
  bool all_free;
  std::unique_ptr<MemoryStore> memory = make_memory_store({.max_keys = 1024}, kNow);
  HoldingStore store{*memory};
  Instant now = kNow;
};

TEST(Waits, EndWhenTheChargeFits) {
  int denials = 0;
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow,
                                    Algorithm::kTokenBucket, Algorithm::kSlidingLog}) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      for (int steps = 1; steps < 20; ++steps) {
        ByChance world(algorithm, seed, steps);
        const std::int64_t cost = 1 + world.below(20);
        const Decision denied = world.ask(Operation::kLook, cost, world.now);
        if (denied.verdict != Verdict::kDenied) continue;
        ++denials;
        const auto step = std::string(algorithm_name(algorithm)) + ", seed " +
                          std::to_string(seed) + ", step " + std::to_string(steps);
        ASSERT_LE(denied.retry_after, 3min) << step;
        ByChance then(algorithm, seed, steps);
        const Instant end = then.now + denied.retry_after;
        if (world.all_free) {
          ASSERT_FALSE(then.ask(Operation::kLook, cost, end - 1us).allowed()) << step;
        }
        ASSERT_TRUE(then.ask(Operation::kLook, cost, end).allowed()) << step;
      }
    }
  }
  EXPECT_GT(denials, 500);
}

TEST(HoldToken, ReadsWhatItWrites) {
  const HoldToken token{0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(token.to_string(), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(HoldToken::parse(token.to_string()), token);
  for (const char* const text :
       {"", "0123456789abcdeffedcba987654321", "+123456789abcdef0123456789abcdef0",
        "0123456789abcdeffedcba98765432100", "g123456789abcdef0123456789abcdef"}) {
    EXPECT_FALSE(HoldToken::parse(text)) << text;
  }
}

// Random hits, reservations, commits and lapses, compared with a count of each window and a list.
TEST_F(HoldingStoreTest, IsWhatAListOfHoldsSays) {
  struct Held {
    std::int64_t units;
    std::int64_t due;
    Instant end;
  };
  terms_.holds_max = 1000;
  std::mt19937_64 random(7);
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  std::map<HoldToken, Held> holds;
  std::map<std::int64_t, std::int64_t> spent;  // by window
  Instant now = kNow;
  const auto window_of = [](Instant at) { return (at - kNow) / Duration(1min); };
  for (int step = 0; step < 20'000; ++step) {
    now += Duration(below(3'000'000));
    std::erase_if(holds, [&](const auto& entry) {
      const Held& held = entry.second;
      if (held.end > now) return false;
      auto& units = spent[window_of(held.end)];
      units = std::min<std::int64_t>(200, units + held.due);  // at most twice the limit is owed
      return true;
    });
    std::int64_t taken = spent[window_of(now)];
    for (const auto& [token, held] : holds) taken += held.units;
    const std::int64_t cost = 1 + below(40);
    const auto any =
        holds.empty() ? holds.end() : std::next(holds.begin(), below(std::ssize(holds)));
    switch (below(4)) {
      case 0:
        ASSERT_EQ(hit(cost, now), taken + cost <= 100) << step;
        if (taken + cost <= 100) spent[window_of(now)] += cost;
        break;
      case 1: {
        const Duration length(1 + below(59'000'000));
        const auto token = reserve(cost, length, now);
        ASSERT_EQ(token.has_value(), taken + cost <= 100) << step;
        if (token) holds[*token] = {cost, cost, now + length};
        break;
      }
      case 2:
        if (any == holds.end()) break;
        ASSERT_EQ(commit(any->first, cost, now), Commit::kCharged) << step;
        spent[window_of(now)] = std::min<std::int64_t>(200, spent[window_of(now)] + cost);
        holds.erase(any);
        break;
      case 3:
        if (any == holds.end()) break;
        ASSERT_EQ(commit(any->first, cost, now, Work::kGoesOn), Commit::kNoted) << step;
        any->second.units = std::max(any->second.units, cost);
        any->second.due = cost;
        break;
    }
  }
}

// Whatever runs at the same time, admitted units fit, as no cost is above its estimate. Each round
// has another key, as most races need the moment at which a limit is nearly spent.
TEST_F(HoldingStoreTest, AdmitsNoMoreThanTheLimitFromManyThreads) {
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 600, 1min});
  terms_ = {.length = 30s, .holds_max = 1000};
  std::atomic<std::int64_t> admitted{0};
  KeyHash key = kOther;
  const auto work = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 600; ++i) {
      const auto cost = static_cast<std::int64_t>(1 + random() % 5);
      const Charge charge{.key = key, .quota = &quota, .cost = cost};
      const bool fits = store_.decide_one(Operation::kSpendEach, charge, kNow).allowed();
      if (random() % 2 == 0) {
        admitted += fits ? cost : 0;
        continue;
      }
      HoldTerms terms = terms_;
      terms.estimate = cost;
      const auto token = fits ? store_.hold({&charge, 1}, terms, kNow) : std::nullopt;
      if (!token) continue;
      const auto actual =
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(cost + 1));
      ASSERT_EQ(store_.commit(*token, actual, Work::kIsDone, kNow), Commit::kCharged);
      admitted += actual;
    }
  };
  for (std::uint64_t round = 1; round <= 40; ++round) {
    admitted = 0;
    key.high += 0x9e3779b97f4a7c15;
    key.low += 0x9e3779b97f4a7c15;
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 1; thread <= 4; ++thread)
      threads.emplace_back(work, round * thread);
    for (std::thread& thread : threads) thread.join();
    ASSERT_LE(admitted.load(), 600) << round;
    ASSERT_GT(admitted.load(), 560) << round;
  }
}

}  // namespace
}  // namespace weir
