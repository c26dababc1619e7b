#include "store/redis/keys/key_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace weir {
namespace {

using Table = KeyTable<int>;

TEST(KeyTable, FindsWhatWasAdded) {
  Table table(3);
  EXPECT_EQ(table.find({1, 2}, 0), Table::kNone);
  const auto one = table.add({1, 2}, 0);
  table[one] = 11;
  EXPECT_EQ(table.find({1, 2}, 0), one);
  EXPECT_EQ(table.find({2, 2}, 0), Table::kNone);
  EXPECT_EQ(table.key_of(one), (KeyHash{1, 2}));
}

TEST(KeyTable, AnotherTagIsAnotherKey) {
  Table table(3);
  const auto plain = table.add({1, 2}, 0);
  const auto tagged = table.add({1, 2}, 9);
  EXPECT_NE(plain, tagged);
  EXPECT_EQ(table.find({1, 2}, 0), plain);
  EXPECT_EQ(table.find({1, 2}, 9), tagged);
  const Quota quota = *Quota::make({.limit = 5, .window = std::chrono::seconds(1)});
  const Charge charge = table.charge_of(tagged, &quota, 3);
  EXPECT_EQ(charge.key, (KeyHash{1, 2}));
  EXPECT_EQ(charge.quota, &quota);
  EXPECT_EQ(charge.cost, 3);
  EXPECT_EQ(charge.tag, 9u);
}

TEST(KeyTable, ASlotIsFreeAgainAndLikeNew) {
  Table table(2);
  const auto one = table.add({1, 4}, 0);
  const auto other = table.add({1, 8}, 0);
  table[one] = 5;
  EXPECT_TRUE(table.is_full());
  table.remove(one);
  EXPECT_EQ(table.find({1, 4}, 0), Table::kNone);
  EXPECT_EQ(table.find({1, 8}, 0), other);
  const auto third = table.add({1, 12}, 0);
  EXPECT_EQ(table[third], 0);
  EXPECT_TRUE(table.is_full());
}

TEST(KeyTable, ComesToEveryKeyInTurn) {
  Table table(5);
  for (std::uint64_t key = 0; key < 5; ++key) table.add({key, key}, 0);
  table.remove(table.find({2, 2}, 0));
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 4; ++i) seen.insert(table.key_of(table.next_in_turn()).low);
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 3, 4}));
}

// Looks at a few keys in turn: the first that may leave; else the last that may if no other does.
TEST(KeyTable, LetsOneOfAFewKeysLeave) {
  using MayLeave = Table::MayLeave;
  Table table(1000);
  for (std::uint64_t key = 0; key < 1000; ++key) table.add({key, key}, 0);
  std::map<Table::Number, MayLeave> said;
  std::vector<Table::Number> asked;
  const auto leaves = [&] {
    asked.clear();
    return table.one_to_leave([&](Table::Number number) {
      asked.push_back(number);
      const auto found = said.find(number);
      return found == said.end() ? MayLeave::kNo : found->second;
    });
  };
  EXPECT_EQ(leaves(), Table::kNone);
  const std::vector<Table::Number> few = asked;
  ASSERT_GT(few.size(), 4u);
  said = {{few.back() + 1, MayLeave::kIfNoOtherDoes}, {few.back() + 4, MayLeave::kIfNoOtherDoes}};
  EXPECT_EQ(leaves(), few.back() + 4);
  EXPECT_EQ(asked.size(), few.size());
  said = {{asked.back() + 1, MayLeave::kIfNoOtherDoes}, {asked.back() + 3, MayLeave::kYes}};
  EXPECT_EQ(leaves(), few.back() + few.size() + 3);
  EXPECT_EQ(asked.size(), 3u) << "no key is asked about after one that may leave";
}

TEST(KeyTable, IsAMapWhateverComesAndGoes) {
  Table table(64);
  std::map<std::uint64_t, int> expected;
  std::uint64_t random = 7;
  for (int step = 0; step < 20'000; ++step) {
    random = random * 6364136223846793005 + 1442695040888963407;
    const std::uint64_t key = (random >> 33) % 100;
    const auto number = table.find({key, key % 7}, 0);
    ASSERT_EQ(number != Table::kNone, expected.contains(key));
    if (number != Table::kNone) {
      ASSERT_EQ(table[number], expected[key]);
      table.remove(number);
      expected.erase(key);
    } else if (!table.is_full()) {
      table[table.add({key, key % 7}, 0)] = expected[key] = step;
    }
    ASSERT_EQ(table.size(), expected.size());
  }
}

}  // namespace
}  // namespace weir
