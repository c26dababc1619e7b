#include "store/redis/fleet/busiest_text.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace weir {
namespace {

RuleKeys rule_keys(const std::string& rule) {
  return {.rule = rule,
          .asked = {.total = 90, .rest = 4, .weight = 2, .keys = {{1, 40, 44, "a b"}, {9, 7, 8}}},
          .denied = {.total = 7, .keys = {{UINT64_MAX, 7, 7, "\n7:\xff "}}}};
}

TEST(BusiestText, IsReadAsItWasWritten) {
  const std::vector<RuleKeys> rules = {rule_keys("api"), rule_keys(""), {.rule = "no keys"}};
  const auto read = rule_keys_from_text(to_text(rules));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    EXPECT_EQ((*read)[i].rule, rules[i].rule);
    EXPECT_EQ((*read)[i].asked, rules[i].asked);
    EXPECT_EQ((*read)[i].denied, rules[i].denied);
  }
  EXPECT_TRUE(rule_keys_from_text(to_text({}))->empty());
}

TEST(BusiestText, HasTheFirstRulesThatFit) {
  std::vector<RuleKeys> rules(kBusiestRulesMax + 1, rule_keys("r"));
  EXPECT_EQ(rule_keys_from_text(to_text(rules))->size(), kBusiestRulesMax);
  rules.front().rule = std::string(300, 'x');
  EXPECT_EQ(rule_keys_from_text(to_text(rules))->size(), kBusiestRulesMax - 1);
  KeyReport longest{.total = 1};
  for (std::uint64_t i = 1; i <= kBusiestKeysMax; ++i) {
    longest.keys.push_back({UINT64_MAX - 9 + i, 1, 1, std::string(64, 'x')});
  }
  const std::vector<RuleKeys> long_rules(
      kBusiestRulesMax, {.rule = std::string(256, 'x'), .asked = longest, .denied = longest});
  const std::string text = to_text(long_rules);
  EXPECT_LE(text.size(), kBusiestTextMax);
  EXPECT_GT(rule_keys_from_text(text)->size(), 7u);
}

// A core counts on while its figures are read.
TEST(BusiestText, WhatDoesNotAddUpIsWrittenSoThatItDoes) {
  const RuleKeys odd{.rule = "r",
                     .asked = {.total = 5, .rest = 6, .weight = 0, .keys = {{1, 9, 8}}},
                     .denied = {.total = UINT64_MAX}};
  const auto read = rule_keys_from_text(to_text({&odd, 1}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front().asked, (KeyReport{.total = 5, .rest = 5, .keys = {{1, 5, 5}}}));
  EXPECT_EQ(read->front().denied.total, std::uint64_t{1} << 53);
}

TEST(BusiestText, AnythingElseIsRefusedAsAWhole) {
  const std::string start = "weir busiest 1 ";
  EXPECT_TRUE(rule_keys_from_text(start + "1:a 5 0 1 1 7 4 5 0: 0 0 1 0 \n"));
  for (const std::string& body : {
           std::string("1:a 5 0 1 1 7 4 5 0: 0 0 1 0 "),             // without its end
           std::string("1:a 5 0 1 1 7 4 5 0: 0 0 1 0 \n\n"),         // and more
           std::string("1:a 5 6 1 0 0 0 1 0 \n"),                    // rest above total
           std::string("1:a 5 0 0 0 0 0 1 0 \n"),                    // no weight
           std::string("1:a 5 0 99999999 0 0 0 1 0 \n"),             // far too much
           std::string("1:a 5 0 1 1 7 5 4 0: 0 0 1 0 \n"),           // low above high
           std::string("1:a 5 0 1 1 7 4 6 0: 0 0 1 0 \n"),           // high above total
           std::string("1:a 5 0 1 1 0 4 5 0: 0 0 1 0 \n"),           // no hash
           std::string("1:a 5 0 1 2 7 1 1 0: 7 1 1 0: 0 0 1 0 \n"),  // twice
           std::string("1:a 5 0 1 2 8 1 1 0: 7 1 1 0: 0 0 1 0 \n"),  // not in order
           std::string("1:a 5 0 1 9 0 0 1 0 \n"),                    // more keys than may be
           std::string("1:a 5 0 1 1 7 4 5 1: 0 0 1 0 \n"),           // a text that lacks
           std::string("9:a 5 0 1 0 0 0 1 0 \n"),
           std::string("1:a -5 0 1 0 0 0 1 0 \n"),
           std::string("1:a 5.5 0 1 0 0 0 1 0 \n"),
           std::string("1:a 9007199254740993 0 1 0 0 0 1 0 \n"),
           std::string("1:a 99999999999999999999 0 1 0 0 0 1 0 \n"),
           std::string("18446744073709551615:a 5 0 1 0 0 0 1 0 \n"),
           std::string(""),
       }) {
    EXPECT_FALSE(rule_keys_from_text(start + body)) << body;
  }
  EXPECT_FALSE(rule_keys_from_text("weir busiest 2 \n"));
  EXPECT_FALSE(rule_keys_from_text(""));
  EXPECT_FALSE(rule_keys_from_text(start + std::string(kBusiestTextMax, ' ') + "\n"));
}

// Whatever is read can be written and read again.
TEST(BusiestText, WithBytesChangedItIsRefusedOrAddsUp) {
  Prng random(3);
  const std::vector<RuleKeys> rules = {rule_keys("api"), rule_keys("b")};
  const std::string whole = to_text(rules);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (std::uint32_t change = 0; change <= random.below(3); ++change) {
      text[random.below(static_cast<std::uint32_t>(text.size()))] =
          "0123456789 :\n"[random.below(13)];
    }
    const auto read = rule_keys_from_text(text);
    if (!read) continue;
    const auto again = rule_keys_from_text(to_text(*read));
    ASSERT_TRUE(again) << text;
    ASSERT_EQ(again->size(), read->size());
    ASSERT_EQ(again->front().asked, read->front().asked) << text;
  }
}

}  // namespace
}  // namespace weir
