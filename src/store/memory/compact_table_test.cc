#include "store/memory/compact_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/memory/memory_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using algo::FixedWindowState;

class CompactTableTest : public ::testing::Test {
 protected:
  Decision spend(std::uint64_t key, Instant now = kNow) {
    return table_.spend<FixedWindowState>({key_of(key), &quota_, 1}, now, nullptr);
  }
  std::int64_t count(std::uint64_t key) {
    return table_.find<FixedWindowState>(key_of(key), quota_).count;
  }

  const Quota quota_ = quota_of({Algorithm::kFixedWindow, 2, 1min});
  CompactTable<> table_{1024, kStart};
};

TEST_F(CompactTableTest, CountsEachKeyForItself) {
  EXPECT_EQ(spend(1).remaining, 1);
  EXPECT_EQ(spend(2).remaining, 1);
  EXPECT_EQ(spend(1).remaining, 0);
  EXPECT_EQ(spend(1).verdict, Verdict::kDenied);
  EXPECT_EQ(count(1), 2);
  EXPECT_EQ(count(2), 1);
  EXPECT_EQ(count(3), 0);
}

TEST_F(CompactTableTest, HoldsAsManyKeysAsItSaysWithoutEvicting) {
  for (std::uint64_t key = 0; key < table_.capacity(); ++key) spend(key);
  EXPECT_EQ(table_.evictions(), 0u);
  EXPECT_EQ(table_.count_live(kNow), table_.capacity());
  for (std::uint64_t key = 0; key < table_.capacity(); ++key) ASSERT_EQ(count(key), 1) << key;
}

TEST_F(CompactTableTest, NeverGrowsAndNeverFails) {
  for (std::uint64_t key = 0; key < 100'000; ++key) ASSERT_TRUE(spend(key).allowed());
  EXPECT_GT(table_.evictions(), 90'000u);
  EXPECT_LE(table_.count_live(kNow), table_.bytes() / 16);
}

TEST_F(CompactTableTest, ReusesExpiredKeysWithoutCallingItEviction) {
  for (std::uint64_t key = 0; key < 1000; ++key) spend(key);
  const Instant later = kNow + 10min;
  EXPECT_EQ(table_.count_live(later), 0u);
  for (std::uint64_t key = 5000; key < 6000; ++key) spend(key, later);
  EXPECT_EQ(table_.evictions(), 0u);
}

TEST_F(CompactTableTest, AFloodOfNewKeysDoesNotFreeOneThatIsOverItsLimit) {
  constexpr std::uint64_t kOver = 1'000'000'007;
  spend(kOver);
  spend(kOver);
  ASSERT_FALSE(spend(kOver).allowed());
  for (std::uint64_t key = 0; key < 300'000; ++key) {
    spend(key);
    if (key % 10'000 == 0) {
      ASSERT_FALSE(spend(kOver).allowed()) << "after " << key;
    }
  }
  EXPECT_FALSE(spend(kOver).allowed());
}

TEST_F(CompactTableTest, EvictsWhatIsNearestToExpiry) {
  const Quota hour = quota_of({Algorithm::kFixedWindow, 2, 1h});
  constexpr std::uint64_t kLong = 1'000'000'007;
  table_.spend<FixedWindowState>({key_of(kLong), &hour, 1}, kNow, nullptr);
  for (std::uint64_t key = 0; key < 300'000; ++key) spend(key);
  EXPECT_EQ(table_.find<FixedWindowState>(key_of(kLong), hour).count, 1);
}

TEST_F(CompactTableTest, UndoRestoresWhatWas) {
  SlotChange first;
  SlotChange second;
  table_.spend<FixedWindowState>({key_of(1), &quota_, 1}, kNow, &first);
  table_.spend<FixedWindowState>({key_of(1), &quota_, 1}, kNow, &second);
  EXPECT_FALSE(table_.undo(key_of(1), first)) << "someone came in between";
  EXPECT_TRUE(table_.undo(key_of(1), second));
  EXPECT_EQ(count(1), 1);
  EXPECT_TRUE(table_.undo(key_of(1), first));
  EXPECT_EQ(count(1), 0);
  EXPECT_EQ(table_.count_live(kNow), 0u);
}

TEST_F(CompactTableTest, ErasingForgetsOneKeyOnly) {
  spend(1);
  spend(2);
  table_.erase(key_of(1));
  table_.erase(key_of(3));
  EXPECT_EQ(count(1), 0);
  EXPECT_EQ(count(2), 1);
}

TEST_F(CompactTableTest, LookingAndNeverLeaveNoTrace) {
  table_.spend<FixedWindowState>({key_of(1), &quota_, 0}, kNow, nullptr);
  table_.spend<FixedWindowState>({key_of(1), &quota_, 3}, kNow, nullptr);
  EXPECT_EQ(table_.count_live(kNow), 0u);
}

}  // namespace
}  // namespace weir
