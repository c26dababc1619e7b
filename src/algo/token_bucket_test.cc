// token_bucket, as tables, and what only long runs show: that it never drifts.

#include "algo/token_bucket.h"

#include <gtest/gtest.h>

#include <chrono>

#include "algo/testing/any_key.h"
#include "algo/testing/decision_table.h"

namespace weir::algo {
namespace {

using namespace std::chrono_literals;
using testing::AnyKey;
using testing::run_table;

TEST(TokenBucket, BurstThenSteady) {
  run_table(R"(
    quota token_bucket 10/1s burst 10
    at 0ms     look       ->  allow  left 10  limit 10  reset 0s
    at 0ms     spend 10   ->  allow  left 0   reset 1s
    at 0ms     spend 1    ->  deny   left 0   retry 100ms  reset 1s
    at 99999us spend 1    ->  deny   retry 1us
    at 100ms   spend 1    ->  allow  left 0   reset 1s
    at 100ms   spend 11   ->  never  left 0   retry 0s  reset 1s
    at 550ms   look       ->  allow  left 4   reset 550ms      # 4.5 units
    at 550ms   spend 5    ->  deny   left 4   retry 50ms
    at 550ms   spend 4    ->  allow  left 0   reset 950ms
    at 1h      look       ->  allow  left 10  reset 0s
  )");
}

TEST(TokenBucket, BurstIsIndependentOfTheRate) {
  run_table(R"(
    quota token_bucket 10/1s burst 3
    at 0s     spend 1 x3   ->  allow  left 0  limit 3  reset 300ms
    at 0s     spend 1      ->  deny   retry 100ms
    at 0s     spend 4      ->  never

    quota token_bucket 10/1s burst 50 fresh
    at 0s     spend 1 x50  ->  allow  left 0  limit 50  reset 5s
    at 0s     spend 50     ->  deny   retry 5s
    at 4s     spend 40     ->  allow  left 0

    quota token_bucket 1/1m burst 1 fresh
    at 0s     spend 1      ->  allow  left 0  reset 1m
    at 59s    spend 1      ->  deny   retry 1s
    at 1m     spend 1      ->  allow  left 0
  )");
}

TEST(TokenBucket, ADenialSpendsNothing) {
  run_table(R"(
    quota token_bucket 10/1s
    at 0s     spend 10          ->  allow  left 0
    at 50ms   spend 1 x100000   ->  deny   retry 50ms
    at 100ms  spend 1           ->  allow  left 0
  )");
}

TEST(TokenBucket, LookingSpendsNothing) {
  run_table(R"(
    quota token_bucket 2/1s
    at 0s     ask 2    ->  allow  left 0
    at 0s     ask 3    ->  never  left 2
    at 0s     spend 0  ->  allow  left 2  reset 0s
    at 0s     spend 2  ->  allow  left 0
    at 0s     ask 1    ->  deny   left 0  retry 500ms
    at 0s     spend 0  ->  allow  left 0  reset 1s      # a look is allowed if nothing is left
  )");
}

TEST(TokenBucket, GivingBackStopsAtAFullBucket) {
  run_table(R"(
    quota token_bucket 10/1s
    at 0s     give 3              ->  allow  left 10  reset 0s
    at 0s     spend 10            ->  allow  left 0
    at 50ms   give 3              ->  allow  left 3   reset 650ms
    at 50ms   give 1000000000000  ->  allow  left 10  reset 0s
    at 50ms   spend 11            ->  never
    at 50ms   spend 10            ->  allow  left 0   reset 1s
    at 50ms   undo 10             ->  allow  left 10  reset 0s
  )");
}

TEST(TokenBucket, ThirdsOfASecondAreExact) {
  run_table(R"(
    quota token_bucket 3/1s burst 1
    at 0us        spend 1  ->  allow  left 0  reset 333334us      # 333,333.3 rounded up
    at 333333us   spend 1  ->  deny   retry 1us
    at 333334us   spend 1  ->  allow  reset 333334us
    at 1h         spend 1  ->  allow
    at +333333us  spend 1  ->  deny   retry 1us

    quota token_bucket 3/1s burst 3 fresh
    at 0us        spend 1  ->  allow  reset 333334us
    at 0us        spend 1  ->  allow  reset 666667us
    at 0us        spend 1  ->  allow  reset 1s                    # not 1,000,001 us
    at 1s         spend 3  ->  allow  left 0
  )");
}

// A client that always comes as early as it may gets 3 a second, not 3 in 1.000002 s.
TEST(TokenBucket, AMillionRefillsDoNotDrift) {
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 3, 1s, 2});
  AnyKey key(Algorithm::kTokenBucket);
  Instant now{};
  key.decide(quota, 2, now);
  constexpr int kUnits = 3'000'000;
  for (int i = 0; i < kUnits; ++i) {
    const Decision denied = key.decide(quota, 1, now);
    ASSERT_EQ(denied.verdict, Verdict::kDenied);
    now += denied.retry_after;
    ASSERT_TRUE(key.decide(quota, 1, now).allowed());
  }
  EXPECT_EQ(now, Instant{} + std::chrono::seconds(kUnits / 3));
}

TEST(TokenBucket, RatesAboveOneAMicrosecond) {
  run_table(R"(
    quota token_bucket 5000000/1s burst 5
    at 0us     spend 1       ->  allow  left 4  reset 1us       # a fifth, rounded up
    at 0us     spend 4       ->  allow  left 0  reset 1us
    at 0us     spend 1       ->  deny   retry 1us
    at 1us     spend 5       ->  allow  left 0
    at 1us     spend 1       ->  deny   retry 1us
    at 2us     spend 4       ->  allow  left 1  reset 1us

    quota token_bucket 1000000000000/1s fresh
    at 0us     spend 1000000000000  ->  allow  left 0  reset 1s
    at 1us     spend 1000000        ->  allow  left 0
    at 1us     spend 1              ->  deny   retry 1us
    at 2us     spend 1000001        ->  deny   retry 1us
  )");
}

TEST(TokenBucket, AClockUpToAWindowBehindIsBelieved) {
  run_table(R"(
    quota token_bucket 10/1s
    at 1h      spend 10  ->  allow  left 0  reset 1s
    at -50ms   spend 1   ->  deny   left 0  retry 150ms  reset 1050ms
    at -50ms   look      ->  deny   left 0  retry 100ms        # over, as of then
    at +100ms  spend 1   ->  deny   left 0  retry 100ms        # nothing was forgotten
    at +100ms  spend 1   ->  allow  left 0
    at -1s     spend 1   ->  deny   retry 1100ms
    at +1100ms spend 1   ->  allow  left 0
  )");
}

TEST(TokenBucket, AClockFurtherBehindOwesAtMostAFullBucket) {
  run_table(R"(
    quota token_bucket 10/1s
    at 1h       spend 10  ->  allow  left 0
    at 10s      look      ->  allow  left 0  reset 1s
    at 1h       look      ->  allow  left 0  reset 1s        # looking moved nothing
    at 10s      spend 1   ->  deny   retry 100ms  reset 1s
    at 10100ms  spend 1   ->  allow  left 0
    at 20s      look      ->  allow  left 10

    quota token_bucket 10/1s fresh
    at 1h       spend 4   ->  allow  left 6
    at -1400ms  spend 1   ->  deny   retry 900ms             # 1.8 s of debt, 2 s are believed
    at -201ms   spend 1   ->  deny   retry 100ms             # 2.001 s are not
    at +100ms   spend 1   ->  allow  left 0
  )");
}

TEST(TokenBucket, AChangedQuotaGoesOnWithTheDebt) {
  run_table(R"(
    quota token_bucket 10/1s
    at 0s      spend 10  ->  allow  left 0   reset 1s
    quota token_bucket 100/1s                                # debts are time: 1 s, now 100 units
    at 0s      spend 1   ->  deny   retry 10ms
    at 500ms   look      ->  allow  left 50  reset 500ms
    quota token_bucket 100/1s burst 10                       # a full debt is now 0.1 s
    at 500ms   look      ->  deny   left 0  limit 10  retry 400ms  reset 500ms
    at 500ms   spend 1   ->  deny   left 0  retry 410ms
    at 910ms   spend 1   ->  allow  left 0
    quota token_bucket 0/1s
    at 910ms   look      ->  deny   left 0  limit 0  retry 100ms
    at 910ms   give 5    ->  allow  left 0  reset 100ms
    at 910ms   spend 1   ->  never

    quota token_bucket 1/1s burst 100 fresh
    at 0s      spend 100 ->  allow  left 0  reset 1m40s
    quota token_bucket 1/1s burst 10                         # 100 s of debt: beyond 10 s + 1 s
    at 0s      spend 1   ->  deny   left 0  retry 1s  reset 10s
    at 1s      spend 1   ->  allow  left 0
  )");
}

TEST(TokenBucket, TicksOfAnotherLimitAreCutToOneMicrosecond) {
  AnyKey key(Algorithm::kTokenBucket);
  key.state<TokenBucketState>() = {1'000'000, 6};
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 3, 1s});
  const Instant now = instant_from_epoch_us(1'000'000);
  EXPECT_EQ(key.look(quota, 0, now).reset_after, 1us);
  key.decide(quota, 1, now);
  EXPECT_EQ(key.state<TokenBucketState>(), (TokenBucketState{1'333'334, 0})) << "2/3 + 333,333 1/3";
}

TEST(TokenBucket, Extremes) {
  run_table(R"(
    quota token_bucket 0/1s burst 5
    at 0s       look                 ->  allow  left 0  limit 0  reset 0s
    at 0s       spend 1              ->  never  left 0  retry 0s
    at 0s       give 1               ->  allow  left 0

    # Ticks beyond 64 bits: 10^12 - 1 units of 3.16 * 10^13 ticks each.
    quota token_bucket 999999999999/366d fresh
    at 366d     spend 999999999999   ->  allow  left 0  reset 366d
    at 366d     spend 1              ->  deny   retry 32us          # T is 31.6 us
    at 366d32us spend 1              ->  allow  left 0
    at 549d     look                 ->  allow  left 499999999998
    at 549d     spend 499999999999   ->  deny   retry 16us
    at 549d     give 999999999999    ->  allow  left 999999999999  reset 0s

    quota token_bucket 1/366d burst 4 fresh
    at 0s       spend 4              ->  allow  left 0  reset 1464d
    at 366d     spend 1              ->  allow  left 0
    at 366d     spend 4              ->  deny   retry 1464d

    quota token_bucket 1/1ms fresh
    at 0us      spend 1              ->  allow  left 0  reset 1ms
    at 999us    spend 1              ->  deny   retry 1us
    at 1ms      spend 1              ->  allow  left 0

    quota token_bucket 1000000000000/1d fresh
    at 1d       spend 1000000000000  ->  allow  left 0  reset 1d
    at 1d       spend 1              ->  deny   retry 1us
    at 1d1us    spend 11             ->  allow  left 0              # 11.57 in a microsecond
    at 1d1us    spend 1              ->  deny   retry 1us
  )");
}

}  // namespace
}  // namespace weir::algo
