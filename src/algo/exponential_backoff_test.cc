// exponential_backoff, as tables: its levels, its cooldown, and its way back.

#include "algo/exponential_backoff.h"

#include <gtest/gtest.h>

#include "algo/testing/decision_table.h"

namespace weir::algo {
namespace {

using testing::run_table;

TEST(ExponentialBackoff, IsAFixedWindowForThePolite) {
  run_table(R"(
    quota exponential_backoff 5/1m
    at 10s   look      ->  allow  left 5  limit 5  reset 0s  level 0
    at 10s   spend 3   ->  allow  left 2  reset 50s
    at 20s   spend 2   ->  allow  left 0  reset 40s
    at 1m    spend 5   ->  allow  left 0  reset 1m  level 0
    at 1m    spend 6   ->  never  left 0  retry 0s
  )");
}

TEST(ExponentialBackoff, ALifeUpAndDownAllLevels) {
  run_table(R"(
    quota exponential_backoff 64/1m
    at 0s      spend 64      ->  allow  left 0  limit 64  level 0
    at 1s      spend 1 x9    ->  deny   limit 64  level 0  retry 59s
    at 1s      spend 1       ->  deny   limit 32  level 1  retry 59s  reset 1m59s
    at 2s      spend 1 x10   ->  deny   limit 16  level 2  retry 58s  reset 2m58s
    at 3s      spend 1 x10   ->  deny   limit 8   level 3  retry 57s
    at 4s      spend 1 x10   ->  deny   limit 4   level 4  retry 56s
    at 5s      spend 1 x10   ->  deny   limit 2   level 5  retry 55s  reset 5m55s

    # In the cooldown, until 37 s, everything is denied, looks too, and nothing counts.
    at 6s      look          ->  deny   left 0  limit 2  level 5  retry 54s
    at 36999999us spend 1 x100 -> deny  level 5  retry 32s

    # The window is still full: another row of ten, another cooldown, until 69 s.
    at 37s     look          ->  deny   left 0  retry 32s
    at 37s     spend 1 x10   ->  deny   level 5  retry 32s
    at 68s     spend 1       ->  deny   left 0  level 5  retry 32s
    at 69s     spend 2       ->  allow  left 0  limit 2  level 5  reset 4m51s

    # Quiet windows, one level each.
    at 2m      look          ->  allow  limit 4   level 4  reset 4m
    at 3m      look          ->  allow  limit 8   level 3
    at 4m      look          ->  allow  limit 16  level 2
    at 5m      look          ->  allow  limit 32  level 1
    at 5m59s   look          ->  allow  limit 32  level 1  reset 1s
    at 6m      spend 64      ->  allow  limit 64  level 0  left 0
  )");
}

TEST(ExponentialBackoff, SeveralQuietWindowsLowerSeveralLevels) {
  run_table(R"(
    quota exponential_backoff 64/1m
    at 0s     spend 64      ->  allow
    at 0s     spend 1 x40   ->  deny   limit 4   level 4  reset 5m
    at 1m     look          ->  allow  limit 4   level 4      # the window before was not quiet
    at 3m30s  spend 1       ->  allow  limit 16  level 2
    at 3m30s  spend 16      ->  deny   limit 16  level 2
    at 4m     look          ->  allow  limit 16  level 2
    at 5m     look          ->  allow  limit 32  level 1
    at 1d     look          ->  allow  limit 64  level 0  reset 0s
  )");
}

TEST(ExponentialBackoff, AnAllowedRequestStartsTheRowOver) {
  run_table(R"(
    quota exponential_backoff 4/1h
    at 0s    spend 3      ->  allow  left 1
    at 0s    spend 2 x9   ->  deny   level 0
    at 0s    look         ->  allow  level 0  left 1      # a look does not
    at 0s    spend 1      ->  allow  left 0
    at 0s    spend 1 x9   ->  deny   level 0
    at 0s    spend 1      ->  deny   level 1  limit 2
  )");
}

TEST(ExponentialBackoff, ARowLastsAcrossWindowsUntilAQuietOne) {
  run_table(R"(
    quota exponential_backoff 2/1s
    at 0s     spend 2      ->  allow
    at 0s     spend 1 x10  ->  deny   level 1  limit 1
    at 0s     spend 2 x3   ->  deny   level 1
    at 1s     spend 2 x6   ->  deny   level 1      # 9 by now: over the halved limit, though empty
    at 2s     spend 2      ->  deny   level 2  limit 1
    at 2s     spend 2 x9   ->  deny   level 2
    at 4s     look         ->  allow  level 1      # a quiet window later
    at 4s     spend 2 x9   ->  deny   level 1      # so the row began anew
    at 4s     spend 2      ->  deny   level 2
  )");
}

TEST(ExponentialBackoff, ACostOverTheHalvedLimitWaitsForItsLevel) {
  run_table(R"(
    quota exponential_backoff 8/1m
    at 0s     spend 8       ->  allow
    at 10s    spend 1 x20   ->  deny   level 2  limit 2  retry 50s
    at 10s    spend 2       ->  deny   retry 50s        # 2 fit in the next window
    at 10s    spend 3       ->  deny   retry 1m50s      # 4 a window later
    at 10s    spend 5       ->  deny   retry 2m50s      # 8 another one later
    at 10s    spend 8       ->  deny   retry 2m50s
    at 10s    spend 9 x50   ->  never  level 2  retry 0s      # and that is no denial
    at 3m     spend 8       ->  allow  level 0
  )");
}

TEST(ExponentialBackoff, RetryIsAtLeastTwoToTheLevelSeconds) {
  run_table(R"(
    quota exponential_backoff 4/1ms
    at 0us    spend 4       ->  allow
    at 0us    spend 1       ->  deny   level 0  retry 1s
    at 0us    spend 1 x9    ->  deny   level 1  retry 2s  reset 2ms
    at 0us    spend 1 x10   ->  deny   level 2  retry 4s
    at 0us    spend 1 x10   ->  deny   level 3  retry 8s
    at 0us    spend 1 x10   ->  deny   level 4  retry 16s
    at 0us    spend 1 x10   ->  deny   level 5  retry 32s  reset 32s

    # The windows of a cooldown are quiet ones: it ends after the backoff does.
    at 1s     look          ->  deny   level 0  limit 4  left 0  retry 31s  reset 31s
    at 1s     spend 1 x50   ->  deny   level 0  retry 31s
    at 31900ms spend 1      ->  deny   level 0  retry 1s
    at 32s    spend 4       ->  allow  level 0  left 0
  )");
}

TEST(ExponentialBackoff, ADenialBySomethingElseCounts) {
  run_table(R"(
    quota exponential_backoff 4/1m
    at 0s    denied x9   ->  deny   level 0  left 4  limit 4  retry 1s
    at 0s    denied      ->  deny   level 1  left 2  limit 2  retry 2s
    at 0s    spend 2     ->  allow  left 0
    at 0s    denied x10  ->  deny   level 2  left 0  retry 1m
    at 0s    denied x30  ->  deny   level 5  retry 1m
    at 1s    denied x50  ->  deny   level 5  retry 59s  reset 5m59s  # cooldown: not counted
    at 1m    spend 1     ->  allow  level 5

    quota exponential_backoff 0/1m
    at 1m    denied      ->  never
  )");
}

TEST(ExponentialBackoff, GivingBackLowersTheCountOnly) {
  run_table(R"(
    quota exponential_backoff 4/1m
    at 0s    spend 4      ->  allow  left 0
    at 0s    spend 1 x10  ->  deny   level 1  limit 2
    at 0s    give 3       ->  allow  level 1  left 1
    at 0s    give 9       ->  allow  level 1  left 2
    at 0s    spend 2      ->  allow  left 0
    at 0s    undo 2       ->  allow  left 2
    at 0s    denied x40   ->  deny   level 5
    at 1s    give 1       ->  allow  left 0      # nothing can be spent in a cooldown
    at 2m    give 1       ->  allow  level 4  left 1
  )");
}

TEST(ExponentialBackoff, TheLimitIsNeverHalvedToNothing) {
  run_table(R"(
    quota exponential_backoff 1/1m
    at 0s    spend 1      ->  allow  left 0
    at 0s    spend 1 x20  ->  deny   level 2  limit 1
    at 1m    spend 1      ->  allow  level 2  left 0
    at 1m    spend 1 x30  ->  deny   level 5  limit 1
    at 2m    spend 1      ->  allow  level 5
  )");
}

TEST(ExponentialBackoff, AClockUpToAWindowBehindIsBelieved) {
  run_table(R"(
    quota exponential_backoff 4/1m
    at 1m30s  spend 4      ->  allow  left 0
    at 30s    spend 1      ->  deny   retry 1m30s
    at 1m59s  spend 1      ->  deny   retry 1s
    at 30s    give 4       ->  allow  left 0      # spent in the window after
    at 2m     spend 4      ->  allow  left 0
  )");
}

TEST(ExponentialBackoff, AClockFurtherBehindTakesEverythingAlong) {
  run_table(R"(
    quota exponential_backoff 4/1m
    at 1h     spend 4      ->  allow  left 0
    at 1h     spend 1 x30  ->  deny   level 3
    at 10s    look         ->  deny   level 3  retry 50s      # 4 are over the halved limit
    at 1h     look         ->  deny   level 3  retry 1m       # looking moved nothing
    at 10s    spend 1      ->  deny   level 3  retry 50s  reset 3m50s
    at 1m     spend 1      ->  allow  level 3  left 0

    # A cooldown ends 32 s from `now` at the latest.
    quota exponential_backoff 4/1m fresh
    at 1h     denied x50   ->  deny   level 5  retry 32s
    at 59m50s look         ->  deny   level 5  retry 32s
    at 59m50s spend 1      ->  deny   level 5  retry 32s
    at 1h21s  look         ->  deny   level 5
    at 1h22s  spend 1      ->  allow  level 5
  )");
}

TEST(ExponentialBackoff, AChangedLimitGoesOnWithCountAndLevel) {
  run_table(R"(
    quota exponential_backoff 64/1m
    at 0s    spend 64     ->  allow
    at 0s    spend 1 x20  ->  deny   level 2  limit 16
    quota exponential_backoff 1000/1m
    at 0s    look         ->  allow  level 2  limit 250  left 186
    quota exponential_backoff 0/1m
    at 0s    look         ->  deny   level 2  limit 0  retry 1m
    at 0s    spend 1      ->  never  level 2
  )");
}

TEST(ExponentialBackoff, Extremes) {
  run_table(R"(
    quota exponential_backoff 0/1s
    at 0s    look                    ->  allow  left 0  limit 0
    at 0s    spend 1                 ->  never

    quota exponential_backoff 1000000000000/1d fresh
    at 1d    spend 1000000000000     ->  allow  left 0  reset 1d
    at 1d    spend 1 x50             ->  deny   level 5  limit 31250000000  retry 1d
    at 2d    spend 31250000001       ->  deny   retry 2d      # which spoils that window, too
    at 2d    spend 31250000000       ->  allow  left 0
    at 366d  look                    ->  allow  level 0  reset 0s

    quota exponential_backoff 1/366d fresh
    at 366d  spend 1                 ->  allow  reset 366d
    at 731d  spend 1                 ->  deny   retry 1d
  )");
}

}  // namespace
}  // namespace weir::algo
