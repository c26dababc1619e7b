// sliding_log, as tables, and how it treats the log it is given.

#include "algo/sliding_log.h"

#include <gtest/gtest.h>

#include <chrono>

#include "algo/testing/decision_table.h"
#include "algo/testing/vector_log.h"

namespace weir::algo {
namespace {

using namespace std::chrono_literals;
using testing::run_table;
using testing::VectorLog;

TEST(SlidingLog, CountsAnyWindowExactly) {
  run_table(R"(
    quota sliding_log 3/1s
    at 100ms    look      ->  allow  left 3  limit 3  reset 0s
    at 100ms    spend 1   ->  allow  left 2  reset 1s
    at 500ms    spend 1   ->  allow  left 1  reset 1s
    at 900ms    spend 1   ->  allow  left 0  reset 1s
    at 1s       spend 1   ->  deny   left 0  retry 100ms  reset 900ms
    at 1s       spend 2   ->  deny   retry 500ms
    at 1s       spend 3   ->  deny   retry 900ms
    at 1099999us spend 1  ->  deny   retry 1us
    at 1100ms   spend 1   ->  allow  left 0  reset 1s
    at 1500ms   look      ->  allow  left 1  reset 600ms
    at 3s       look      ->  allow  left 3  reset 0s
  )");
}

TEST(SlidingLog, HasNoBoundaryToExploit) {
  run_table(R"(
    quota sliding_log 100/1s
    at 999999us  spend 1 x100  ->  allow  left 0
    at 1s        spend 1       ->  deny   retry 999999us
  )");
}

TEST(SlidingLog, ADenialSpendsNothing) {
  run_table(R"(
    quota sliding_log 5/1s
    at 0s     spend 3         ->  allow  left 2
    at 500ms  spend 3 x1000   ->  deny   left 2  retry 500ms
    at 500ms  spend 2         ->  allow  left 0
    at 999ms  spend 1 x1000   ->  deny   retry 1ms
    at 1s     spend 3         ->  allow  left 0
  )");
}

TEST(SlidingLog, LookingSpendsNothing) {
  run_table(R"(
    quota sliding_log 2/1s
    at 0s     ask 2    ->  allow  left 0  reset 1s
    at 0s     ask 3    ->  never  left 2  reset 0s
    at 0s     spend 0  ->  allow  left 2  reset 0s
    at 0s     spend 2  ->  allow  left 0
    at 0s     ask 1    ->  deny   left 0  retry 1s
    at 0s     spend 0  ->  allow  left 0  reset 1s
    at 0s     spend 3  ->  never  left 0  retry 0s
  )");
}

TEST(SlidingLog, GivingBackTakesTheOldestFirst) {
  run_table(R"(
    quota sliding_log 5/1s
    at 0s     give 1               ->  allow  left 5
    at 0s     spend 3              ->  allow  left 2
    at 500ms  spend 2              ->  allow  left 0
    at 600ms  give 2               ->  allow  left 2  reset 900ms
    at 600ms  give 2               ->  allow  left 4  reset 900ms
    at 600ms  spend 5              ->  deny   retry 900ms      # the one of 500 ms is left
    at 600ms  give 1000000000000   ->  allow  left 5  reset 0s
    at 600ms  spend 5              ->  allow  left 0
    at 1600ms give 1               ->  allow  left 5
  )");
}

TEST(SlidingLog, AnUndoneChargeLeavesNoTrace) {
  run_table(R"(
    quota sliding_log 5/1s
    at 0s     spend 2   ->  allow  left 3
    at 500ms  spend 2   ->  allow  left 1
    at 600ms  spend 1   ->  allow  left 0
    at 500ms  undo 2    ->  allow  left 2
    at 600ms  undo 1    ->  allow  left 3  reset 400ms
    at 600ms  spend 4   ->  deny   retry 400ms
    at 700ms  spend 3   ->  allow  left 0  reset 1s
    at 650ms  undo 3    ->  allow  left 0      # nothing was charged then
  )");
}

TEST(SlidingLog, AClockUpToAWindowBehindIsBelieved) {
  run_table(R"(
    quota sliding_log 3/1s
    at 1500ms  spend 2  ->  allow  left 1
    at 600ms   spend 1  ->  allow  left 0  reset 1900ms      # entered at 1.5 s
    at 600ms   spend 1  ->  deny   retry 1900ms
    at 500ms   look     ->  allow  left 0  reset 2s
    at 2500ms  look     ->  allow  left 3  reset 0s
  )");
}

TEST(SlidingLog, AClockFurtherBehindTakesTheTimesAlong) {
  run_table(R"(
    quota sliding_log 4/1s
    at 10200ms  spend 1   ->  allow  left 3
    at 10900ms  spend 1   ->  allow  left 2
    at 1h       spend 2   ->  allow  left 2      # the first two are long gone
    at 10s      look      ->  allow  left 2  reset 1s
    at 1h       look      ->  allow  left 2  reset 1s      # looking moved nothing
    at 10s      ask 3     ->  deny   retry 1s
    at 10s      spend 3   ->  deny   retry 1s
    at 10500ms  spend 3   ->  deny   retry 500ms
    at 10500ms  spend 2   ->  allow  left 0
    at 11s      spend 2   ->  allow  left 0
  )");
}

TEST(SlidingLog, AChangedLimitGoesOnWithTheTimes) {
  run_table(R"(
    quota sliding_log 10/1s
    at 0s      spend 6   ->  allow  left 4
    at 200ms   spend 2   ->  allow  left 2
    at 400ms   spend 2   ->  allow  left 0
    quota sliding_log 3/1s
    at 500ms   look      ->  deny   left 0  limit 3  retry 700ms      # 2 are left at 1.2 s
    at 500ms   spend 2   ->  deny   retry 900ms
    at 500ms   spend 4   ->  never
    quota sliding_log 12/1s
    at 500ms   spend 2   ->  allow  left 0  limit 12
    quota sliding_log 0/1s
    at 500ms   look      ->  deny   left 0  retry 1s
    at 500ms   spend 1   ->  never
  )");
}

TEST(SlidingLog, Extremes) {
  run_table(R"(
    quota sliding_log 0/1s
    at 0s       look                 ->  allow  left 0  limit 0
    at 0s       spend 1              ->  never  left 0

    quota sliding_log 1000000000000/1d fresh
    at 1d       spend 999999999999   ->  allow  left 1  reset 1d
    at 1d12h    spend 2              ->  deny   retry 12h
    at 1d12h    spend 1              ->  allow  left 0

    quota sliding_log 1/1ms fresh
    at 1us      spend 1              ->  allow  left 0  reset 1ms
    at 1ms      spend 1              ->  deny   retry 1us
    at 1001us   spend 1              ->  allow

    quota sliding_log 1/366d fresh
    at 1s       spend 1              ->  allow  reset 366d
    at 366d     spend 1              ->  deny   retry 1s
  )");
}

class SlidingLogEntries : public ::testing::Test {
 protected:
  Decision decide_at(std::int64_t now_us, std::int64_t cost) {
    return decide(quota_, log_, cost, instant_from_epoch_us(now_us));
  }

  const Quota quota_ = *Quota::make({Algorithm::kSlidingLog, 10, 1ms});
  VectorLog log_;
};

TEST_F(SlidingLogEntries, ChargesOfOneMicrosecondShareAnEntry) {
  for (int i = 0; i < 3; ++i) decide_at(5, 2);
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_EQ(log_[0], (LogEntry{5, 6}));
  decide_at(3, 1);  // recorded at the newest time, not its own
  EXPECT_EQ(log_[0], (LogEntry{5, 7}));
}

TEST_F(SlidingLogEntries, WhatIsGoneIsDropped) {
  decide_at(1, 1);
  decide_at(2, 1);
  decide_at(3, 1);
  decide_at(1'002, 0);
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_EQ(log_[0], (LogEntry{3, 1}));
}

TEST_F(SlidingLogEntries, UndoneChargesDoNotPileUp) {
  decide_at(1, 1);
  for (int now_us = 2; now_us < 900; ++now_us) {
    decide_at(now_us, 1);
    undo(log_, 1, now_us);
  }
  EXPECT_LE(log_.size(), 2u);
  EXPECT_EQ(log_.total(), 1);
  EXPECT_EQ(expiry(quota_, log_), instant_from_epoch_us(1) + 1ms);
}

TEST_F(SlidingLogEntries, UndoFindsEntriesThatShareATime) {
  log_.push_back({1, 1});
  log_.push_back({5, 2});  // a correction can leave several of one time
  log_.push_back({5, 3});
  log_.push_back({9, 1});
  undo(log_, 4, 5);
  EXPECT_EQ(log_[0], (LogEntry{1, 1}));
  EXPECT_EQ(log_[1], (LogEntry{5, 1}));
  EXPECT_EQ(log_[2], (LogEntry{5, 0}));
  EXPECT_EQ(log_[3], (LogEntry{9, 1}));
  undo(log_, 4, 5);
  EXPECT_EQ(log_.total(), 2) << "never more than there is";
  undo(log_, 1, 4);
  undo(log_, 1, 0);
  undo(log_, 1, 10);
  EXPECT_EQ(log_.total(), 2) << "never from another time";
}

TEST_F(SlidingLogEntries, AMistakenClocksTimesAreMovedToNow) {
  decide_at(10'000, 1);
  decide_at(10'001, 2);
  decide_at(9'000, 20);  // kNever: no trace
  EXPECT_EQ(log_[1], (LogEntry{10'001, 2}));
  decide_at(9'000, 8);  // denied, but the correction stays
  ASSERT_EQ(log_.size(), 2u);
  EXPECT_EQ(log_[0], (LogEntry{9'000, 1}));
  EXPECT_EQ(log_[1], (LogEntry{9'000, 2}));
}

}  // namespace
}  // namespace weir::algo
