#include "store/memory/time_ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace weir {
namespace {

using algo::LogEntry;

class TimeRingTest : public ::testing::Test {
 protected:
  ~TimeRingTest() override { log_.clear(); }

  RingBudget budget_{.entries_max = 64};
  TimeRing ring_{};
  RingView log_{ring_, budget_};
};

TEST_F(TimeRingTest, OneEntryCostsNoAllocation) {
  log_.push_back({1, 5});
  EXPECT_EQ(budget_.entries, 0u);
  log_.push_back({1, 2});  // the same time is the same entry
  EXPECT_EQ(log_.size(), 1u);
  EXPECT_EQ(log_.total(), 7);
}

TEST_F(TimeRingTest, WithoutRoomItMergesTheOldestIntoLaterOnes) {
  budget_.entries_max = 4;
  for (std::int64_t at = 1; at <= 10; ++at) log_.push_back({at, 1});
  EXPECT_EQ(log_.size(), 4u);
  EXPECT_EQ(log_.total(), 10);  // no unit is forgotten
  EXPECT_EQ(log_[0].at_us, 7);
  EXPECT_EQ(log_[0].units, 7);  // the units of times 1 to 7, counted from 7
}

TEST_F(TimeRingTest, WithNoRoomAtAllItKeepsTheUnits) {
  budget_.entries_max = 0;
  for (std::int64_t at = 1; at <= 10; ++at) log_.push_back({at, 2});
  EXPECT_EQ(log_.size(), 1u);
  EXPECT_EQ(log_[0].at_us, 10);
  EXPECT_EQ(log_.total(), 20);
}

TEST_F(TimeRingTest, GivesRoomBackAsItEmpties) {
  for (std::int64_t at = 1; at <= 64; ++at) log_.push_back({at, 1});
  EXPECT_EQ(budget_.entries, 64u);
  while (log_.size() > 1) log_.pop_front();
  EXPECT_EQ(budget_.entries, 4u);
  EXPECT_EQ(log_.total(), 1);
  log_.clear();
  EXPECT_EQ(budget_.entries, 0u);
  EXPECT_EQ(log_.size(), 0u);
}

TEST_F(TimeRingTest, DoesWhatADequeDoes) {
  budget_.entries_max = 4096;
  std::mt19937_64 random(7);
  std::deque<LogEntry> model;
  std::int64_t at = 0;
  for (int step = 0; step < 20'000; ++step) {
    const bool grows = (step / 1000) % 2 == 0;
    if (model.empty() || random() % 4 < (grows ? 3u : 1u)) {
      model.push_back({++at, static_cast<std::int64_t>(random() % 9)});
      log_.push_back(model.back());
    } else if (random() % 8 == 0) {
      const std::size_t index = random() % model.size();
      model[index].units += 1;
      log_.set(index, model[index]);
    } else {
      model.pop_front();
      log_.pop_front();
    }
    ASSERT_EQ(log_.size(), model.size());
    std::int64_t total = 0;
    for (std::size_t index = 0; index < model.size(); ++index) {
      ASSERT_EQ(log_[index], model[index]);
      total += model[index].units;
    }
    ASSERT_EQ(log_.total(), total);
  }
}

}  // namespace
}  // namespace weir
