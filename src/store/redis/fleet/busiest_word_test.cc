#include "store/redis/fleet/busiest_field.h"

#include <gtest/gtest.h>

#include "base/packed.h"
#include "base/prng.h"

namespace weir {
namespace {

RuleKeys rule_keys(const std::string& rule) {
  return {.rule = rule,
          .asked = {.total = 90, .rest = 4, .weight = 2, .keys = {{1, 40, 44, "a b"}, {9, 7, 8}}},
          .denied = {.total = 7, .keys = {{UINT64_MAX, 7, 7, "\n7:\xff "}}}};
}

TEST(BusiestWord, IsReadAsItWasWritten) {
  const std::vector<RuleKeys> rules = {rule_keys("api"), rule_keys(""), {.rule = "no keys"}};
  const auto read = busiest_word(to_bytes(rules));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    EXPECT_EQ((*read)[i].rule, rules[i].rule);
    EXPECT_EQ((*read)[i].asked, rules[i].asked);
    EXPECT_EQ((*read)[i].denied, rules[i].denied);
  }
  EXPECT_TRUE(busiest_word(to_bytes(std::span<const RuleKeys>()))->empty());
}

TEST(BusiestWord, HasTheFirstRulesThatFit) {
  std::vector<RuleKeys> rules(kBusiestRulesMax + 1, rule_keys("r"));
  EXPECT_EQ(busiest_word(to_bytes(rules))->size(), kBusiestRulesMax);
  rules.front().rule = std::string(300, 'x');
  EXPECT_EQ(busiest_word(to_bytes(rules))->size(), kBusiestRulesMax - 1);
  KeyReport longest{.total = 1};
  for (std::uint64_t i = 1; i <= kBusiestKeysMax; ++i) {
    longest.keys.push_back({UINT64_MAX - 9 + i, 1, 1, std::string(64, 'x')});
  }
  const std::vector<RuleKeys> long_rules(
      kBusiestRulesMax, {.rule = std::string(256, 'x'), .asked = longest, .denied = longest});
  const std::string bytes = to_bytes(long_rules);
  EXPECT_LE(bytes.size(), kBusiestWordMax);
  EXPECT_GT(busiest_word(bytes)->size(), 8u);
}

// A core goes on counting while its figures are read.
TEST(BusiestWord, WhatDoesNotAddUpIsWrittenSoThatItDoes) {
  const RuleKeys odd{.rule = "r",
                     .asked = {.total = 5, .rest = 6, .weight = 0, .keys = {{1, 9, 8}}},
                     .denied = {.total = UINT64_MAX}};
  const auto read = busiest_word(to_bytes({&odd, 1}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front().asked, (KeyReport{.total = 5, .rest = 5, .keys = {{1, 5, 5}}}));
  EXPECT_EQ(read->front().denied.total, std::uint64_t{1} << 53);
}

std::string word_of(const KeyReport& asked, std::size_t keys) {
  PackedWriter out;
  out.version('1').text("a").number(asked.total).number(asked.rest).number(asked.weight);
  out.number(keys);
  for (const KeyEstimate& key : asked.keys) {
    out.hash(key.hash).number(key.low).number(key.high).text(key.text);
  }
  return out.number(0).number(0).number(1).number(0).take();
}

TEST(BusiestWord, AnythingElseIsRefusedAsAWhole) {
  using Keys = std::vector<KeyEstimate>;
  const auto is_read = [](const KeyReport& asked) {
    return busiest_word(word_of(asked, asked.keys.size())).has_value();
  };
  const KeyReport fine{.total = 5, .keys = {{7, 4, 5}}};
  EXPECT_TRUE(is_read(fine));
  EXPECT_FALSE(is_read({.total = 5, .rest = 6}));
  EXPECT_FALSE(is_read({.total = 5, .weight = 0}));
  EXPECT_FALSE(is_read({.total = 5, .weight = 99'999'999}));
  EXPECT_FALSE(is_read({.total = (std::uint64_t{1} << 53) + 1}));
  for (const Keys& keys : {Keys{{7, 5, 4}},                // low above high
                           Keys{{7, 4, 6}},                // high above total
                           Keys{{0, 4, 5}},                // no hash
                           Keys{{7, 1, 1}, {7, 1, 1}},     // twice
                           Keys{{8, 1, 1}, {7, 1, 1}},     // not in order
                           Keys{{1}, {2}, {3}, {4}, {5}},  // more than may be
                           Keys{{7, 4, 5, std::string(65, 'x')}}}) {
    EXPECT_FALSE(is_read({.total = 5, .keys = keys}));
  }
  EXPECT_FALSE(busiest_word(word_of(fine, 2))) << "a key that lacks";
  const std::string word = word_of(fine, 1);
  EXPECT_FALSE(busiest_word("2" + word.substr(1)));
  EXPECT_FALSE(busiest_word(word.substr(0, word.size() - 1)));
  EXPECT_FALSE(busiest_word(word + '\0'));
  EXPECT_FALSE(busiest_word(""));
  std::string many = "1";
  for (std::size_t i = 0; i <= kBusiestRulesMax; ++i) many += word.substr(1);
  EXPECT_FALSE(busiest_word(many));
}

}  // namespace
}  // namespace weir
