#include "engine/block_list.h"

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

Block block(std::string key, Duration length, std::string rule = "login") {
  return {.rule = std::move(rule), .key = std::move(key), .since = kNow, .until = kNow + length};
}

class BlockListTest : public testing::Test {
 protected:
  bool is_blocked(std::string_view key, Instant now = kNow, std::string_view rule = "login") {
    return list_.until(rule, key, now).has_value();
  }
  std::string keys(std::string_view rule = "", std::size_t max = 10, Instant now = kNow) {
    std::string text;
    for (const Block& listed : list_.list(rule, max, now)) text += listed.key + " ";
    return text;
  }

  KeyHasher hasher_{HashSecret{}};
  BlockList list_{hasher_, 64};
};

TEST_F(BlockListTest, BlocksAKeyOfARuleUntilItsEnd) {
  EXPECT_TRUE(list_.empty());
  EXPECT_TRUE(list_.add(block("a", 5min), kNow));
  EXPECT_FALSE(list_.empty());
  EXPECT_EQ(list_.until("login", "a", kNow), kNow + 5min);
  EXPECT_TRUE(is_blocked("a", kNow + 5min - 1us));
  EXPECT_FALSE(is_blocked("a", kNow + 5min));
  EXPECT_FALSE(is_blocked("b"));
  EXPECT_FALSE(is_blocked("a", kNow, "other"));
  EXPECT_FALSE(is_blocked("na", kNow, "logi"));
}

TEST_F(BlockListTest, ALaterBlockTakesThePlaceOfAnEarlierOne) {
  list_.add(block("a", 5min), kNow);
  list_.add(block("a", 1min), kNow);
  EXPECT_EQ(list_.until("login", "a", kNow), kNow + 1min);
  EXPECT_EQ(list_.size(), 1u);
}

TEST_F(BlockListTest, IsLifted) {
  list_.add(block("a", 5min), kNow);
  list_.add(block("b", 5min), kNow);
  EXPECT_TRUE(list_.lift("login", "a"));
  EXPECT_FALSE(list_.lift("login", "a"));
  EXPECT_FALSE(is_blocked("a"));
  EXPECT_TRUE(is_blocked("b"));
}

TEST_F(BlockListTest, ListsByTheOrderOfTheirEnds) {
  list_.add(block("late", 3min), kNow);
  list_.add(block("early", 1min), kNow);
  list_.add(block("middle", 2min, "search"), kNow);
  EXPECT_EQ(keys(), "early middle late ");
  EXPECT_EQ(keys("login"), "early late ");
  EXPECT_EQ(keys("", 1), "early ");
  EXPECT_EQ(keys("", 10, kNow + 2min), "late ");
  EXPECT_EQ(list_.size(), 1u);
}

TEST_F(BlockListTest, WhenFullTheOneNearestToItsEndMakesRoom) {
  for (int i = 0; i < 64; ++i) list_.add(block(std::to_string(i), 1min + i * 1s), kNow);
  list_.add(block("new", 10min), kNow);
  EXPECT_EQ(list_.size(), 64u);
  EXPECT_FALSE(is_blocked("0"));
  for (int i = 1; i < 64; ++i) EXPECT_TRUE(is_blocked(std::to_string(i))) << i;
  EXPECT_TRUE(is_blocked("new"));
}

TEST_F(BlockListTest, DoesNotKeepWhatIsTooLong) {
  EXPECT_FALSE(list_.add(block(std::string(2'000, 'x'), 5min), kNow));
  EXPECT_TRUE(list_.empty());
}

// Whatever was added and lifted before: who is in the model is blocked, who is not is not.
TEST_F(BlockListTest, AgreesWithAMap) {
  std::mt19937 random(7);
  std::map<std::string, Instant> model;
  Instant now = kNow;
  for (int step = 0; step < 20'000; ++step) {
    now += Duration(random() % 200'000);
    const std::string key = std::to_string(random() % 60);
    list_.expire(now);
    std::erase_if(model, [&](const auto& entry) { return entry.second <= now; });
    if (random() % 3 == 0) {
      EXPECT_EQ(list_.lift("login", key), model.erase(key) == 1);
    } else {
      const Instant until = now + Duration(1 + random() % 5'000'000);
      list_.add({.rule = "login", .key = key, .since = now, .until = until}, now);
      model[key] = until;
    }
    const auto asked = std::to_string(random() % 60);
    const auto found = model.find(asked);
    ASSERT_EQ(list_.until("login", asked, now),
              found == model.end() ? std::nullopt : std::optional(found->second))
        << step;
  }
}

// Readers never see a key blocked that nobody blocked, nor one free that stays blocked.
TEST_F(BlockListTest, IsReadWhileItChanges) {
  list_.add(block("always", 1h), kNow);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      if (!is_blocked("always") || is_blocked("never")) wrong.fetch_add(1);
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    list_.add(block(std::to_string(i % 40), 5min), kNow);
    if (i % 3 == 0) list_.lift("login", std::to_string(i % 50));
  }
  stop.store(true, std::memory_order_relaxed);
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace weir
