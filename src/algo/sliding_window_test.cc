// sliding_window, as tables. Windows begin at multiples of their length since the epoch.

#include "algo/sliding_window.h"

#include <gtest/gtest.h>

#include "algo/testing/decision_table.h"

namespace weir::algo {
namespace {

using testing::run_table;

// The example the two counters were published with: 42 in the previous minute, 18 in
// this one, 15 s in, are 42 * 45/60 + 18 = 49.5.
TEST(SlidingWindow, ARateOf49AndAHalfIsUnder50) {
  run_table(R"(
    quota sliding_window 50/1m
    at 30s     spend 1 x42  ->  allow  left 8
    at 1m15s   look         ->  allow  left 18      # 50 - 31.5
    at 1m15s   spend 1 x17  ->  allow  left 1       # 48.5
    at 1m15s   spend 1      ->  allow  left 0       # 49.5
    at 1m15s   spend 1      ->  deny   left 0  retry 714286us      # 50.5; 0.5 of 42 fade in 0.714 s
  )");
}

TEST(SlidingWindow, ThePreviousWindowFades) {
  run_table(R"(
    quota sliding_window 10/1s
    at 0s        spend 10   ->  allow  left 0  reset 2s
    at 0s        spend 1    ->  deny   retry 1100ms      # not before the window is the previous
    at 999ms     spend 1    ->  deny   retry 101ms
    at 1s        look       ->  allow  left 0  reset 1s
    at 1099ms    spend 1    ->  deny   retry 1ms
    at 1100ms    spend 1    ->  allow  left 0
    at 1100ms    spend 2    ->  deny   retry 200ms       # 10 * 0.7 + 1 + 2
    at 1100ms    spend 9    ->  deny   retry 900ms       # 0 of 10 and 1 of its own: at 2 s
    at 1100ms    spend 10   ->  deny   retry 1900ms      # not while that 1 counts at all
    at 1500ms    look       ->  allow  left 4  reset 1500ms
    at 1999999us look       ->  allow  left 8            # 10 * 0.000001, rounded up, and 1
    at 2s        look       ->  allow  left 9  reset 1s
    at 3s        look       ->  allow  left 10 reset 0s
  )");
}

TEST(SlidingWindow, HammeringDoesNotProlongADenial) {
  run_table(R"(
    quota sliding_window 10/1s
    at 500ms    spend 10          ->  allow  left 0
    at 1s       spend 1 x100000   ->  deny   retry 100ms
    at 1100ms   spend 1           ->  allow  left 0
  )");
}

TEST(SlidingWindow, WindowsThatPassedEmptyAreForgotten) {
  run_table(R"(
    quota sliding_window 10/1s
    at 500ms   spend 10  ->  allow  left 0  reset 1500ms
    at 1900ms  spend 5   ->  allow  left 4  reset 1100ms
    at 2s      look      ->  allow  left 5  reset 1s
    at 1h      look      ->  allow  left 10 reset 0s
    at 1h      spend 1   ->  allow  left 9  reset 2s
  )");
}

TEST(SlidingWindow, RetryAcrossTheBoundary) {
  run_table(R"(
    quota sliding_window 10/1s
    at 900ms   spend 4   ->  allow  left 6
    at 1200ms  spend 6   ->  allow  left 0       # 4 * 0.8 is 3.2
    at 1200ms  spend 5   ->  deny   retry 966667us      # 6 fading to 5: 1/6 into the next
    at 1200ms  spend 10  ->  deny   retry 1800ms        # nothing else may count
    at 1200ms  spend 1   ->  deny   retry 50ms
  )");
}

TEST(SlidingWindow, LookingSpendsNothing) {
  run_table(R"(
    quota sliding_window 2/1s
    at 0s     ask 2    ->  allow  left 0
    at 0s     ask 3    ->  never  left 2
    at 0s     spend 0  ->  allow  left 2  reset 0s
    at 0s     spend 2  ->  allow  left 0
    at 0s     ask 1    ->  deny   left 0  retry 1500ms
    at 1s     spend 0  ->  allow  left 0  reset 1s
  )");
}

TEST(SlidingWindow, MoreThanTheLimitNeverFits) {
  run_table(R"(
    quota sliding_window 5/1s
    at 0s     spend 4              ->  allow  left 1
    at 0s     spend 6              ->  never  left 1  retry 0s  reset 2s
    at 1s     spend 1000000000000  ->  never  left 1  retry 0s  reset 1s
    at 1s     spend 1              ->  allow  left 0
  )");
}

TEST(SlidingWindow, GivingBackTakesFromTheWindowOfThatTime) {
  run_table(R"(
    quota sliding_window 10/1s
    at 900ms  spend 6    ->  allow  left 4
    at 1s     spend 4    ->  allow  left 0
    at 1s     give 5     ->  allow  left 4      # 4 of the current; the previous keeps its 6
    at 900ms  give 1     ->  allow  left 5      # of the previous
    at 1500ms look       ->  allow  left 7      # 10 - 2.5
    at 2s     give 5     ->  allow  left 10     # its window has spent nothing
    at 1500ms look       ->  allow  left 7
    at 900ms  give 9     ->  allow  left 10     # 5 were left
    at 0s     give 1     ->  allow  left 10
  )");
}

TEST(SlidingWindow, AnUndoneChargeLeavesNoTrace) {
  run_table(R"(
    quota sliding_window 10/1s
    at 900ms   spend 6   ->  allow  left 4
    at 1s      spend 3   ->  allow  left 1
    at 1s      undo 3    ->  allow  left 4  reset 1s
    at 1s      spend 3   ->  allow  left 1
    at 900ms   undo 6    ->  allow  left 7  reset 2100ms      # charged before the other
    at 1s      undo 3    ->  allow  left 10 reset 0s
  )");
}

TEST(SlidingWindow, AClockUpToAWindowBehindIsBelieved) {
  run_table(R"(
    quota sliding_window 10/1s
    at 500ms   spend 4   ->  allow  left 6
    at 1500ms  spend 4   ->  allow  left 4
    at 999ms   look      ->  allow  left 2  reset 2001ms      # 4 weigh 4 again
    at 600ms   spend 2   ->  allow  left 0                    # counted at 1 s
    at 600ms   spend 1   ->  deny   retry 650ms               # 4 to 3 takes until 1250 ms
    at 1250ms  spend 1   ->  allow  left 0
  )");
}

TEST(SlidingWindow, AClockFurtherBehindTakesTheCountsAlong) {
  run_table(R"(
    quota sliding_window 10/1s
    at 3599s    spend 4   ->  allow  left 6
    at 1h       spend 6   ->  allow  left 0
    at 10500ms  look      ->  allow  left 2  reset 1500ms      # 4 * 0.5 and 6, in this window
    at 1h       look      ->  allow  left 0                    # looking moved nothing
    at 10500ms  give 9    ->  allow  left 2                    # nor did giving back
    at 1h       look      ->  allow  left 0
    at 10s      spend 1   ->  deny   retry 250ms               # this did
    at 10250ms  spend 1   ->  allow  left 0
    at 13s      look      ->  allow  left 10
  )");
}

TEST(SlidingWindow, AChangedLimitGoesOnWithTheCounts) {
  run_table(R"(
    quota sliding_window 10/1s
    at 500ms   spend 10  ->  allow  left 0
    quota sliding_window 5/1s
    at 500ms   look      ->  deny   left 0  limit 5  retry 1s      # 10 fade to 5 at 1.5 s
    at 500ms   spend 5   ->  deny   retry 1500ms
    at 1s      look      ->  deny   left 0  retry 500ms
    at 1500ms  look      ->  allow  left 0
    at 1500ms  spend 1   ->  deny   retry 100ms
    quota sliding_window 20/1s
    at 1500ms  spend 15  ->  allow  left 0  limit 20
    quota sliding_window 0/1s
    at 1500ms  look      ->  deny   left 0  retry 1500ms
    at 3s      look      ->  allow  left 0
  )");
}

TEST(SlidingWindow, Extremes) {
  run_table(R"(
    quota sliding_window 0/1s
    at 0s         look                 ->  allow  left 0  limit 0  reset 0s
    at 0s         spend 1              ->  never  left 0  retry 0s

    # Products of 2^76: 10^12 units and 8.64 * 10^10 us.
    quota sliding_window 1000000000000/1d fresh
    at 1d         spend 1000000000000  ->  allow  left 0  reset 2d
    at 1d         spend 1              ->  deny   retry 1d1us
    at 2d12h      look                 ->  allow  left 500000000000
    at 2d12h      spend 500000000000   ->  allow  left 0
    at 2d12h      spend 1              ->  deny   retry 1us
    at 2d18h      spend 250000000001   ->  deny   left 250000000000  retry 1us

    quota sliding_window 1000000000000/366d fresh
    at 366d       spend 1000000000000  ->  allow  left 0
    at 915d       look                 ->  allow  left 500000000000      # 1.5 windows later

    quota sliding_window 1/1ms fresh
    at 1us        spend 1              ->  allow  left 0  reset 1999us
    at 1us        spend 1              ->  deny   retry 1999us
    at 2ms        spend 1              ->  allow  left 0
  )");
}

}  // namespace
}  // namespace weir::algo
