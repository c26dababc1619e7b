// Adaptive, as tables: what a switch carries over, and how backoff counts on two counts.

#include "algo/adaptive.h"

#include <gtest/gtest.h>

#include <string>

#include "algo/testing/decision_table.h"

namespace weir::algo {
namespace {

using testing::run_table;

TEST(Adaptive, IsASlidingWindowUntilItSwitches) {
  run_table(R"(
    quota adaptive 50/1m
    at 30s   spend 42  ->  allow  left 8
    at 75s   spend 17  ->  allow  left 1      # 42 * 45/60 + 17 = 48.5
    at 75s   spend 1   ->  allow  left 0
    at 75s   spend 1   ->  deny   retry 714286us
  )");
}

TEST(Adaptive, IsABucketWithoutABurstOfItsOwn) {
  run_table(R"(
    quota adaptive 10/1s
    active token_bucket
    at 0ms    spend 10  ->  allow  left 0  limit 10  reset 1s
    at 0ms    spend 1   ->  deny   retry 100ms
    at 100ms  spend 1   ->  allow  left 0
    at 100ms  spend 11  ->  never
  )");
}

// The numbers of docs/internals/algorithms.md.
TEST(Adaptive, CountsBecomeTheDebtOfWhatIsNotLeft) {
  run_table(R"(
    quota adaptive 50/1m
    at 30s   spend 42  ->  allow  left 8
    at 75s   spend 17  ->  allow  left 1
    active token_bucket
    at 75s   look      ->  allow  left 1  reset 58800ms      # 49 units of 1.2 s
    at 75s   spend 2   ->  deny   retry 1200ms
    at 76200ms spend 2 ->  allow  left 0
  )");
}

TEST(Adaptive, ADebtBecomesCountsOfWhichAsMuchAsMayBeFades) {
  run_table(R"(
    quota adaptive 60/1m
    active token_bucket
    at 80s   spend 30  ->  allow  left 30
    active sliding_window
    # 45 in the previous window weigh 45 * 40/60 = 30, and none is in the current one.
    at 80s   look      ->  allow  left 30  reset 40s
    at 80s   spend 1   ->  allow  left 29
    at 100s  look      ->  allow  left 44
    at 120s  look      ->  allow  left 59

    quota adaptive 60/1m fresh
    active token_bucket
    at 80s   spend 50  ->  allow  left 10
    active sliding_window
    # No more than the limit fades: 60 weigh 40, and 10 are in the current window.
    at 80s   look      ->  allow  left 10
    at 80s   spend 11  ->  deny   retry 1s
    at 119s  look      ->  allow  left 49
    at 120s  look      ->  allow  left 50
    at 150s  look      ->  allow  left 55
  )");
}

TEST(Adaptive, BackoffIsASlidingWindowThatHalves) {
  run_table(R"(
    quota adaptive 64/1m
    active exponential_backoff
    at 0s     spend 64      ->  allow  left 0  limit 64  level 0
    at 1s     spend 1 x9    ->  deny   limit 64  level 0  retry 59937500us   # fades from 60 s on
    at 1s     spend 1       ->  deny   limit 32  level 1
    at 60s    look          ->  deny   limit 32  level 1  left 0
    at 90s    look          ->  allow  limit 32  level 1  left 0      # 64 * 30/60 = 32
    at 105s   spend 16      ->  allow  left 0
    at 105s   spend 1 x10   ->  deny   limit 16  level 2
    at 3m     look          ->  allow  limit 32  level 1  left 32
    at 4m     look          ->  allow  limit 64  level 0  left 64  reset 0s
  )");
}

TEST(Adaptive, ACooldownEndsAtTheNextGrain) {
  run_table(R"(
    quota adaptive 4/1h
    active exponential_backoff
    at 0s     spend 4       ->  allow  left 0
    at 0s     spend 1 x49   ->  deny   level 4
    at 0s     spend 1       ->  deny   level 5
    at 0s     denied x20    ->  deny   level 5      # nothing counts in it
    # 32 s are 122.07 grains of 2^18 us.
    at 32243711us denied    ->  deny   level 5
    at 32243712us denied x9 ->  deny   level 5
    at 32243712us look      ->  deny   level 5  left 0
  )");
}

TEST(Adaptive, BackoffBeginsWithTheCountsOfTheWindow) {
  run_table(R"(
    quota adaptive 50/1m
    at 30s   spend 42  ->  allow  left 8
    active exponential_backoff
    at 75s   spend 17  ->  allow  left 1  limit 50  level 0
    at 75s   spend 2   ->  deny   left 1  retry 1s
    active sliding_window
    at 75s   look      ->  allow  left 1
    at 75s   spend 1   ->  allow  left 0
  )");
}

// What a level has taken counts as spent, and comes back as what is spent does.
TEST(Adaptive, APenaltyEndsWithTheSwitchAndFreesNothing) {
  const std::string punished = R"(
    quota adaptive 64/1m
    active exponential_backoff
    at 60s    spend 64      ->  allow  left 0
    at 60s    spend 1 x10   ->  deny   level 1
    at 120s   spend 1 x10   ->  deny   level 2  limit 16
    at 4m     spend 16      ->  allow  level 1  left 16
  )";
  run_table(punished + R"(
    active token_bucket
    at 4m     look          ->  allow  level 0  limit 64  left 16
    at 4m     spend 17      ->  deny   retry 937500us       # 60 s / 64
    at 4m30s  look          ->  allow  left 48
    at 5m     look          ->  allow  left 64  reset 0s
  )");
  run_table(punished + R"(
    active sliding_window
    at 4m     look          ->  allow  level 0  limit 64  left 16  # 16 in it, 32 fade
    at 4m     spend 17      ->  deny   retry 1875ms         # 60 s / 32
    at 4m30s  look          ->  allow  left 32
    at 5m     look          ->  allow  left 48
    at 6m     look          ->  allow  left 64  reset 0s
  )");
}

TEST(Adaptive, ACooldownLeavesNothingToCarry) {
  for (const std::string next : {"sliding_window", "token_bucket"}) {
    run_table(R"(
      quota adaptive 60/1m
      active exponential_backoff
      at 60s   spend 60      ->  allow  left 0
      at 120s  spend 60 x50  ->  deny   level 5
      active )" +
              next + R"(
      at 120s  look          ->  allow  level 0  left 0
      at 120s  spend 1       ->  deny   retry 1s
      at 121s  spend 1       ->  allow  left 0
    )");
  }
}

// As seen by a clock that lags by 30 s, whoever is active.
TEST(Adaptive, ABucketOfAClockAheadDeniesAsLongInWindows) {
  run_table(R"(
    quota adaptive 60/1m
    active token_bucket
    at 100s  spend 60  ->  allow  left 0
    at 70s   spend 1   ->  deny   left 0  retry 31s
    active sliding_window
    at 70s   spend 1   ->  deny   left 0  retry 31s
    at 101s  spend 1   ->  allow  left 0
  )");
}

// A window that has not begun for a clock that lags counts whole until it has.
TEST(Adaptive, CountsOfAClockAheadAreADebtOfTwiceTheLimitAtMost) {
  run_table(R"(
    quota adaptive 60/1m
    at 119s  spend 60  ->  allow  left 0
    at 179s  spend 59  ->  allow  left 0
    at 110s  spend 1   ->  deny   left 0
    active token_bucket
    at 110s  spend 1   ->  deny   left 0  retry 1m
  )");
}

TEST(Adaptive, LoweredLimitsKeepWhatWasSpentThroughASwitch) {
  run_table(R"(
    quota adaptive 100/1m
    at 60s   spend 100  ->  allow  left 0
    quota adaptive 10/1m
    active token_bucket
    at 60s   spend 1    ->  deny   left 0  retry 1m6s        # twice the limit is owed
    active exponential_backoff
    at 126s  spend 1    ->  allow  left 0
  )");
}

TEST(Adaptive, LimitZeroDeniesEverything) {
  run_table(R"(
    quota adaptive 0/1m
    at 0s  spend 1  ->  never  left 0
    active token_bucket
    at 0s  spend 1  ->  never  left 0
    at 0s  give 1   ->  allow  left 0
    active exponential_backoff
    at 0s  spend 1  ->  never  left 0
    at 0s  denied   ->  never  left 0
  )");
}

}  // namespace
}  // namespace weir::algo
