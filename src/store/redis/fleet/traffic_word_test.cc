#include "store/redis/fleet/traffic_word.h"

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

// Other versions read these bytes; docs/internals/redis.md shows them.
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

std::uint64_t requests_of(const TrafficSum& sum, std::uint64_t hash) {
  std::uint64_t requests = 0;
  for (const TrafficWord& group : sum.groups) {
    for (const TrafficWord::Rule& rule : group.rules) {
      if (rule.hash == hash) requests += rule.counts.requests;
    }
  }
  return requests;
}

TEST(TrafficSum, IsOfAllNodesInGroups) {
  TrafficAdder adder;
  for (int i = 0; i < 2000; ++i) {
    TrafficWord word{.all = {3, 1}, .rules = {{.hash = 7, .counts = {2, 1}}}};
    word.totals.decisions[0] = 10;
    if (i % 2 == 0) word.rules.push_back({.hash = 8, .counts = {1, 0}});
    for (int times = 0; times < 2; ++times) adder.add("node-" + std::to_string(i), word);
  }
  const auto sum = traffic_sum(to_bytes(adder.sum()));
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->nodes, 2000u);
  EXPECT_EQ(sum->first, "node-0");
  ASSERT_EQ(sum->groups.size(), TrafficSum::kGroups);
  TrafficCounts all;
  TrafficTotals totals;
  for (const TrafficWord& group : sum->groups) {
    EXPECT_GT(group.all.requests, 3u * 2000 / 2 / TrafficSum::kGroups) << "none is near empty";
    all += group.all;
    totals += group.totals;
  }
  EXPECT_EQ(all, (TrafficCounts{6000, 2000}));
  EXPECT_EQ(totals.requests(), 20'000u);
  EXPECT_EQ(requests_of(*sum, 7), 4000u);
  EXPECT_EQ(requests_of(*sum, 8), 1000u);
}

TEST(TrafficSum, OfNobodyIsReadAsThat) {
  const auto sum = traffic_sum(to_bytes(TrafficAdder().sum()));
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->nodes, 0u);
}

TEST(TrafficSum, HasTheBusiestRulesOfAGroupAndNoMoreThanAWordCanSay) {
  TrafficAdder adder;
  for (std::uint64_t from : {0, 150, 300}) {
    TrafficWord word{.all = {TrafficWord::kSecondMax, TrafficWord::kSecondMax}};
    word.totals.denied = TrafficWord::kTotalMax;
    for (std::uint64_t i = from; i < from + 150; ++i) {
      word.rules.push_back({.hash = i, .counts = {1 + i, 0, 1 + i}});
    }
    // One group: names of the same hash.
    adder.add("{a}" + std::string(1, 'x'), word);
    adder.add(std::to_string(from), word);
  }
  const auto sum = traffic_sum(to_bytes(adder.sum()));
  ASSERT_TRUE(sum);
  for (const TrafficWord& group : sum->groups) {
    EXPECT_LE(group.all.requests, TrafficWord::kSecondMax);
    EXPECT_LE(group.rules.size(), TrafficWord::kRulesMax);
  }
}

TEST(TrafficSum, CutOffOrOfAnotherVersionIsNone) {
  TrafficAdder adder;
  adder.add("a", some_word());
  const std::string bytes = to_bytes(adder.sum());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(traffic_sum(bytes.substr(0, size)));
  }
  EXPECT_FALSE(traffic_sum(bytes + "x"));
  EXPECT_FALSE(traffic_sum("2" + bytes.substr(1)));
}

}  // namespace
}  // namespace weir
