#include "store/redis/fleet/traffic_field.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TrafficWord some_word() {
  TrafficWord word{.all = {1000, 7}};
  word.totals.decisions[1] = 123'456'789;
  word.totals.denied = 999;
  word.rules = {{.hash = 0x0123456789abcdefU, .counts = {130, 5, 7}},
                {.hash = ~std::uint64_t{0}, .counts = {1, 1}}};
  return word;
}

TEST(TrafficWord, IsReadAsItWasWritten) {
  const auto read = traffic_word(to_bytes(some_word()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->all, some_word().all);
  EXPECT_EQ(read->totals, some_word().totals);
  EXPECT_EQ(read->rules, some_word().rules);
}

// What other versions read; docs/internals/redis.md shows it.
TEST(TrafficWord, HasTheseBytes) {
  TrafficWord word{.all = {300, 2}};
  word.totals.denied = 5;
  word.rules = {{.hash = 0x0102030405060708U, .counts = {4, 1, 2}}};
  std::string bytes = "2\xac\x02\x02";
  bytes += '\0';
  bytes += '\x05';
  bytes += static_cast<char>(kDecidingAlgorithmCount);
  bytes.append(kDecidingAlgorithmCount, '\0');
  bytes += "\x01\x08\x07\x06\x05\x04\x03\x02\x01\x04\x01\x02";
  EXPECT_EQ(to_bytes(word), bytes);
}

TEST(TrafficWord, OfTheMostRulesFitsIntoWhatTheScriptPassesOn) {
  constexpr std::uint64_t kHalf = TrafficWord::kSecondMax / 2;
  TrafficWord word{.all = {TrafficWord::kSecondMax, kHalf, kHalf}};
  word.totals.denied = TrafficWord::kTotalMax;
  word.totals.decisions.fill(TrafficWord::kTotalMax);
  for (std::uint64_t i = 0; i < TrafficWord::kRulesMax; ++i) {
    word.rules.push_back({.hash = i << 56, .counts = word.all});
  }
  const std::string bytes = to_bytes(word);
  EXPECT_LE(bytes.size(), 4096u);
  EXPECT_TRUE(traffic_word(bytes));
}

TEST(TrafficWord, CutOffTooLongOrOfAnotherVersionIsNone) {
  const std::string bytes = to_bytes(some_word());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(traffic_word(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(traffic_word(bytes + '\0'));
  EXPECT_FALSE(traffic_word("1" + bytes.substr(1)));
}

TEST(TrafficWord, OfNumbersThatMakeNoSenseIsNone) {
  TrafficWord word = some_word();
  word.all = {5, 6};
  EXPECT_FALSE(traffic_word(to_bytes(word)));
  word = some_word();
  word.rules[0].counts = {1, 1, 1};
  EXPECT_FALSE(traffic_word(to_bytes(word)));
  word = some_word();
  word.totals.denied = TrafficWord::kTotalMax + 1;
  EXPECT_FALSE(traffic_word(to_bytes(word)));
  word = some_word();
  word.rules.resize(TrafficWord::kRulesMax + 1);
  EXPECT_FALSE(traffic_word(to_bytes(word)));
  EXPECT_FALSE(traffic_word("2" + std::string(20, '\xff')));
}

TEST(TrafficWord, OfMoreAlgorithmsIsRead) {
  std::string bytes("2\x02\x01\0\x01", 5);
  bytes += static_cast<char>(kDecidingAlgorithmCount + 1);
  bytes.append(kDecidingAlgorithmCount + 1, '\x03');
  bytes += '\0';
  const auto word = traffic_word(bytes);
  ASSERT_TRUE(word);
  EXPECT_EQ(word->totals.requests(), 3u * kDecidingAlgorithmCount);
}

}  // namespace
}  // namespace weir
