#include "nginx/zone/zone.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include "nginx/zone/block_log.h"
#include "store/memory/shared_store.h"

namespace weir::nginx {
namespace {

class ZoneTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = std::size_t{1} << 20;

  ZoneTest()
      : memory_(static_cast<std::byte*>(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~ZoneTest() override { ::munmap(memory_, kBytes); }

  void format() { Zone::format({memory_, kBytes}, Instant{}); }
  void write(std::size_t place, std::uint64_t value) {
    std::memcpy(memory_ + place, &value, sizeof(value));
  }
  Zone zone() const { return Zone(memory_); }

  std::byte* memory_;
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
