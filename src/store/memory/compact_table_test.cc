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

TEST_F(CompactTableTest, LookingAndNeverLeaveNoTrace) {
  table_.spend<FixedWindowState>({key_of(1), &quota_, 0}, kNow, nullptr);
  table_.spend<FixedWindowState>({key_of(1), &quota_, 3}, kNow, nullptr);
  EXPECT_EQ(table_.count_live(kNow), 0u);
}

}  // namespace
}  // namespace weir
