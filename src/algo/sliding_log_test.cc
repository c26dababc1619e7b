// How sliding_log uses the log it is given. testdata/sliding_log.txt has the other cases.

#include "algo/sliding_log.h"

#include <gtest/gtest.h>

#include <chrono>

#include "algo/testing/vector_log.h"

namespace weir::algo {
namespace {

using namespace std::chrono_literals;
using testing::VectorLog;

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
  decide_at(3, 1);  // recorded at the newest time, not at its own
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
  log_.push_back({5, 2});  // after a correction, several entries may have the same time
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
