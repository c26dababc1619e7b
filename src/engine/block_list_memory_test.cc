// If memory runs out while a block is added, the list has all of the block or nothing.

#include <gtest/gtest.h>

#include <new>
#include <string>

#include "base/allocation_testing.h"
#include "engine/block_list.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

Block block(std::string key, Duration length) {
  return {.rule = "login", .key = std::move(key), .since = kNow, .until = kNow + length};
}

// Runs the action, during which memory may run out.
template <typename Lacking, typename Act>
void try_without(Lacking lacking, Act act) {
  lacking([&] {
    try {
      act();
    } catch (const std::bad_alloc&) {
    }
  });
}

TEST(BlockListMemory, ABlockIsInAllListsOrInNone) {
  try_each_shortage(SIZE_MAX, [](auto lacking) {
    const KeyHasher hasher{HashSecret{}};
    BlockList list(hasher, 64);
    ASSERT_TRUE(list.add(block("192.0.2.1", 1h), kNow));
    auto other = block("2001:db8::1", 1min);
    bool is_added = false;
    try_without(lacking, [&] { is_added = list.add(std::move(other), kNow); });
    EXPECT_EQ(list.until("login", "2001:db8::1", kNow).has_value(), is_added);
    EXPECT_EQ(list.size(), is_added ? 2u : 1u);
    // Expiring it reads all lists.
    EXPECT_TRUE(list.add(block("192.0.2.2", 1h), kNow + 2min));
    EXPECT_EQ(list.size(), 2u);
    EXPECT_TRUE(list.until("login", "192.0.2.1", kNow + 2min));
  });
}

TEST(BlockListMemory, NewsThatFindNoMemoryAreToldTheNextTime) {
  try_each_shortage(SIZE_MAX, [](auto lacking) {
    const KeyHasher hasher{HashSecret{}};
    BlockList list(hasher, 64);
    list.share(BlockList::Audience::kFleet);
    for (int i = 0; i < 5; ++i) {
      list.add(block("a key that is no short text " + std::to_string(i), 1h), kNow);
    }
    std::size_t told = 0;
    try_without(lacking, [&] { told = list.take_news(BlockList::Audience::kFleet, 9).size(); });
    told += list.take_news(BlockList::Audience::kFleet, 9).size();
    EXPECT_EQ(told, 5u);
  });
}

// Regression: the known block was removed before the new one had its memory.
TEST(BlockListMemory, AKeyStaysBlockedWhileItsBlockIsMadeLonger) {
  try_each_shortage(SIZE_MAX, [](auto lacking) {
    const KeyHasher hasher{HashSecret{}};
    BlockList list(hasher, 64);
    ASSERT_TRUE(list.add(block("192.0.2.1", 1min), kNow));
    auto longer = block("192.0.2.1", 1h);
    bool is_longer = false;
    try_without(lacking, [&] { is_longer = list.add(std::move(longer), kNow); });
    EXPECT_EQ(list.until("login", "192.0.2.1", kNow), kNow + (is_longer ? 1h : 1min));
    EXPECT_EQ(list.size(), 1u);
  });
}

}  // namespace
}  // namespace weir
