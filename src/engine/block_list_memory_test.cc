// A block for which memory ends half way is in the list, or nothing of it is.

#include <gtest/gtest.h>

#include <new>
#include <string>

#include "base/allocation_testing.h"
#include "engine/block_list.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);
constexpr std::size_t kPlacesMax = 100;

Block block(std::string key, Duration length) {
  return {.rule = "login", .key = std::move(key), .since = kNow, .until = kNow + length};
}

TEST(BlockListMemory, ABlockIsInAllListsOrInNone) {
  bool has_failed = true;
  for (std::size_t spared = 0; has_failed; ++spared) {
    ASSERT_LT(spared, kPlacesMax);
    const KeyHasher hasher{HashSecret{}};
    BlockList list(hasher, 64);
    ASSERT_TRUE(list.add(block("192.0.2.1", 1h), kNow));
    auto other = block("2001:db8::1", 1min);
    bool is_added = false;
    {
      const NoMemory none({.spared = spared});
      try {
        is_added = list.add(std::move(other), kNow);
      } catch (const std::bad_alloc&) {
        EXPECT_FALSE(is_added);
      }
      has_failed = none.has_failed();
    }
    EXPECT_EQ(list.until("login", "2001:db8::1", kNow).has_value(), is_added) << spared;
    EXPECT_EQ(list.size(), is_added ? 2u : 1u) << spared;
    // It expires, which reads all lists.
    EXPECT_TRUE(list.add(block("192.0.2.2", 1h), kNow + 2min));
    EXPECT_EQ(list.size(), 2u) << spared;
    EXPECT_TRUE(list.until("login", "192.0.2.1", kNow + 2min)) << spared;
  }
}

TEST(BlockListMemory, NewsThatFindNoMemoryAreToldTheNextTime) {
  bool has_failed = true;
  for (std::size_t spared = 0; has_failed; ++spared) {
    ASSERT_LT(spared, kPlacesMax);
    const KeyHasher hasher{HashSecret{}};
    BlockList list(hasher, 64);
    list.share(BlockList::Audience::kFleet);
    for (int i = 0; i < 5; ++i) {
      list.add(block("a key that is no short text " + std::to_string(i), 1h), kNow);
    }
    std::size_t told = 0;
    {
      const NoMemory none({.spared = spared});
      try {
        told = list.take_news(BlockList::Audience::kFleet, 9).size();
      } catch (const std::bad_alloc&) {
        EXPECT_EQ(told, 0u);
      }
      has_failed = none.has_failed();
    }
    told += list.take_news(BlockList::Audience::kFleet, 9).size();
    EXPECT_EQ(told, 5u) << spared;
  }
}

// The known block was gone before the new one had its memory.
TEST(BlockListMemory, AKeyStaysBlockedWhileItsBlockIsMadeLonger) {
  bool has_failed = true;
  for (std::size_t spared = 0; has_failed; ++spared) {
    ASSERT_LT(spared, kPlacesMax);
    const KeyHasher hasher{HashSecret{}};
    BlockList list(hasher, 64);
    ASSERT_TRUE(list.add(block("192.0.2.1", 1min), kNow));
    auto longer = block("192.0.2.1", 1h);
    bool is_longer = false;
    {
      const NoMemory none({.spared = spared});
      try {
        is_longer = list.add(std::move(longer), kNow);
      } catch (const std::bad_alloc&) {
        EXPECT_FALSE(is_longer);
      }
      has_failed = none.has_failed();
    }
    EXPECT_EQ(list.until("login", "192.0.2.1", kNow), kNow + (is_longer ? 1h : 1min)) << spared;
    EXPECT_EQ(list.size(), 1u) << spared;
  }
}

}  // namespace
}  // namespace weir
