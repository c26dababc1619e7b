// fixed_window, as tables. Windows begin at multiples of their length since the epoch.

#include "algo/fixed_window.h"

#include <gtest/gtest.h>

#include "algo/testing/decision_table.h"

namespace weir::algo {
namespace {

using testing::run_table;

TEST(FixedWindow, CountsUpToTheLimitAndStartsOver) {
  run_table(R"(
    quota fixed_window 5/1m
    at 10s       look        ->  allow  left 5  limit 5  reset 0s
    at 10s       spend 3     ->  allow  left 2  reset 50s
    at 20s       spend 2     ->  allow  left 0  reset 40s
    at 20s       spend 1     ->  deny   left 0  retry 40s  reset 40s
    at 59999ms   spend 1     ->  deny   retry 1ms
    at 1m        look        ->  allow  left 5  reset 0s
    at 1m        spend 5     ->  allow  left 0  reset 1m
    at 1h        spend 1     ->  allow  left 4  reset 1m      # many windows later
    at 1h59s     spend 1     ->  allow  left 3  reset 1s
  )");
}

TEST(FixedWindow, TwoWindowsWorthFitAroundABoundary) {
  run_table(R"(
    quota fixed_window 100/1s
    at 999999us  spend 1 x100  ->  allow  left 0
    at 1s        spend 1 x100  ->  allow  left 0
    at 1s        spend 1       ->  deny   retry 1s
  )");
}

TEST(FixedWindow, LookingSpendsNothing) {
  run_table(R"(
    quota fixed_window 2/1s
    at 0s     ask 2    ->  allow  left 0
    at 0s     ask 3    ->  never  left 2
    at 0s     look     ->  allow  left 2
    at 0s     spend 0  ->  allow  left 2  reset 0s
    at 0s     spend 2  ->  allow  left 0
    at 0s     ask 1    ->  deny   left 0  retry 1s
    at 0s     spend 0  ->  allow  left 0  reset 1s      # a look is allowed if nothing is left
  )");
}

TEST(FixedWindow, ADenialSpendsNothing) {
  run_table(R"(
    quota fixed_window 5/1s
    at 0s     spend 3        ->  allow  left 2
    at 0s     spend 3 x1000  ->  deny   left 2  retry 1s
    at 0s     spend 2        ->  allow  left 0
  )");
}

TEST(FixedWindow, MoreThanTheLimitNeverFits) {
  run_table(R"(
    quota fixed_window 5/1s
    at 0s     spend 6              ->  never  left 5  retry 0s  reset 0s
    at 0s     spend 4              ->  allow  left 1
    at 100ms  spend 6              ->  never  left 1  retry 0s  reset 900ms
    at 100ms  spend 1000000000000  ->  never  left 1
    at 100ms  spend 1              ->  allow  left 0
  )");
}

TEST(FixedWindow, GivingBackStopsAtAFullQuota) {
  run_table(R"(
    quota fixed_window 5/1s
    at 0s     give 1               ->  allow  left 5  reset 0s
    at 0s     spend 5              ->  allow  left 0
    at 100ms  give 2               ->  allow  left 2  reset 900ms
    at 100ms  spend 3              ->  deny   left 2  retry 900ms
    at 100ms  give 1000000000000   ->  allow  left 5  reset 0s
    at 100ms  spend 5              ->  allow  left 0
  )");
}

TEST(FixedWindow, WhatAnotherWindowSpentCannotBeGivenBack) {
  run_table(R"(
    quota fixed_window 5/1s
    at 900ms  spend 5    ->  allow  left 0
    at 1s     spend 4    ->  allow  left 1
    at 900ms  give 5     ->  allow  left 1      # it is the later window's count now
    at 1s     look       ->  allow  left 1
    at 2s     give 4     ->  allow  left 5      # nothing to give back to
    at 1s     look       ->  allow  left 1
    at 1s     give 1     ->  allow  left 2
  )");
}

TEST(FixedWindow, AClockUpToAWindowBehindIsBelieved) {
  run_table(R"(
    quota fixed_window 5/1s
    at 1500ms  spend 4   ->  allow  left 1  reset 500ms
    at 500ms   look      ->  allow  left 1  reset 1500ms
    at 500ms   spend 1   ->  allow  left 0  reset 1500ms      # counts where the others do
    at 0ms     spend 1   ->  deny   retry 2s
    at 1999ms  spend 1   ->  deny   retry 1ms
    at 2s      spend 5   ->  allow  left 0
  )");
}

TEST(FixedWindow, AClockFurtherBehindTakesTheCountAlong) {
  run_table(R"(
    quota fixed_window 5/1s
    at 1h       spend 4  ->  allow  left 1
    at 10s      look     ->  allow  left 1  reset 1s
    at 1h       look     ->  allow  left 1  reset 1s      # looking moved nothing
    at 10s      give 4   ->  allow  left 1                # nor did giving back
    at 1h       look     ->  allow  left 1  reset 1s
    at 10s      spend 1  ->  allow  left 0  reset 1s
    at 10s      spend 1  ->  deny   retry 1s
    at 11s      spend 1  ->  allow  left 4

    quota fixed_window 5/1s fresh
    at 1h       spend 5  ->  allow  left 0
    at 10500ms  spend 6  ->  never  left 0
    at 10500ms  spend 1  ->  deny   retry 500ms           # a denial moves it, too
    at 11s      spend 1  ->  allow  left 4
  )");
}

TEST(FixedWindow, AChangedLimitGoesOnWithTheCount) {
  run_table(R"(
    quota fixed_window 10/1s
    at 0s     spend 8   ->  allow  left 2
    quota fixed_window 5/1s
    at 0s     look      ->  deny   left 0  limit 5  retry 1s  reset 1s
    at 0s     spend 1   ->  deny   left 0  retry 1s
    at 0s     spend 6   ->  never  left 0
    quota fixed_window 20/1s
    at 0s     spend 12  ->  allow  left 0  limit 20
    quota fixed_window 0/1s
    at 100ms  look      ->  deny   left 0  retry 900ms
    at 1s     look      ->  allow  left 0
  )");
}

TEST(FixedWindow, Extremes) {
  run_table(R"(
    quota fixed_window 0/1s
    at 0s         look                 ->  allow  left 0  limit 0  reset 0s
    at 0s         spend 1              ->  never  left 0  retry 0s
    at 0s         give 1               ->  allow  left 0

    quota fixed_window 1000000000000/1d fresh
    at 1d         spend 999999999999   ->  allow  left 1  reset 1d
    at 1d12h      spend 2              ->  deny   left 1  retry 12h
    at 1d12h      spend 1              ->  allow  left 0

    quota fixed_window 1/1ms fresh
    at 1us        spend 1              ->  allow  left 0  reset 999us
    at 999us      spend 1              ->  deny   retry 1us
    at 1ms        spend 1              ->  allow  left 0

    quota fixed_window 1/366d fresh
    at 20000d     spend 1              ->  allow  left 0  reset 130d      # 55 * 366 = 20130
    at 20129d     spend 1              ->  deny   retry 1d
    at 20130d     spend 1              ->  allow  left 0  reset 366d
  )");
}

TEST(FixedWindow, AnUndoneChargeLeavesNoTrace) {
  run_table(R"(
    quota fixed_window 5/1s
    at 100ms  spend 2    ->  allow  left 3
    at 200ms  spend 3    ->  allow  left 0
    at 200ms  undo 3     ->  allow  left 3  reset 800ms
    at 100ms  undo 2     ->  allow  left 5  reset 0s
  )");
}

}  // namespace
}  // namespace weir::algo
