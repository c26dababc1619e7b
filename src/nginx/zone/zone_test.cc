#include "nginx/zone/zone.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/shared_pages_testing.h"
#include "nginx/zone/block_log.h"
#include "store/memory/shared_store.h"

namespace weir::nginx {
namespace {

class ZoneTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = std::size_t{1} << 20;

  void format() { Zone::format(pages_.bytes(), Instant{}); }
  void write(std::size_t place, std::uint64_t value) {
    std::memcpy(memory_ + place, &value, sizeof(value));
  }
  Zone zone() const { return Zone(memory_); }

  const SharedPages pages_{kBytes};
  std::byte* const memory_ = pages_.data();
};

TEST_F(ZoneTest, HasRoomForBlocksAndForATable) {
  format();
  EXPECT_EQ(zone().fault(kBytes), "");
  EXPECT_GE(zone().blocks().size(), BlockLog::kBytesMin);
  EXPECT_GE(zone().table().size(), kSharedStoreMin);
  EXPECT_EQ(zone().table().data() + zone().table().size(), memory_ + kBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(zone().table().data()) % kSharedStoreAlignment, 0u);
}

TEST_F(ZoneTest, NamesWhatItIsNot) {
  EXPECT_EQ(zone().fault(kBytes), "it is damaged");
  format();
  EXPECT_EQ(zone().fault(kBytes / 2), "it has another size");
  write(8, 12345);
  EXPECT_EQ(zone().fault(kBytes), "it is of another version of Weir");
  write(0, 0);
  EXPECT_EQ(zone().fault(kBytes), "it is damaged");
}

}  // namespace
}  // namespace weir::nginx
