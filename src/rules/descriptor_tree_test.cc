#include "rules/descriptor_tree.h"

#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rules/rule_key.h"
#include "rules/rule_set.h"

namespace weir {
namespace {

struct Entry {
  std::string key;
  std::optional<std::string> value = std::nullopt;
  bool shares = false;
};

Rule leaf(std::string id, const std::vector<Entry>& entries, std::string domain = "edge") {
  DescriptorMatch match{.domain = std::move(domain)};
  for (const Entry& entry : entries) {
    DescriptorEntry made{.key = entry.key, .shares = entry.shares};
    if (entry.value) made.value = TextPattern(*entry.value);
    match.entries.push_back(std::move(made));
  }
  return {.id = std::move(id), .descriptor = std::move(match)};
}

// The id of the rule, or "-".
std::string find(const RuleSet& rules, std::vector<NameValue> entries,
                 std::string_view domain = "edge") {
  const Rule* rule = rules.match({.domain = domain, .entries = entries});
  return rule == nullptr ? "-" : rule->id;
}

TEST(DescriptorTree, OnEachLevelTheValueWinsThenPatternsInOrderThenTheKey) {
  const RuleSet rules({leaf("any", {{"path"}}), leaf("late*", {{"path", "/a*c"}}),
                       leaf("exact", {{"path", "/abc"}}), leaf("first*", {{"path", "/a*"}}),
                       leaf("never*", {{"path", "/ab*"}})});
  EXPECT_EQ(find(rules, {{"path", "/abc"}}), "exact");
  EXPECT_EQ(find(rules, {{"path", "/axc"}}), "late*");
  EXPECT_EQ(find(rules, {{"path", "/abd"}}), "first*");
  EXPECT_EQ(find(rules, {{"path", "/x"}}), "any");
  EXPECT_EQ(find(rules, {{"path", ""}}), "any");
  EXPECT_EQ(find(rules, {{"other", "/abc"}}), "-");
}

TEST(DescriptorTree, ARuleCountsOnlyWhereTheLastEntryLands) {
  const RuleSet rules({leaf("two", {{"a", "1"}, {"b"}})});
  EXPECT_EQ(find(rules, {{"a", "1"}, {"b", "x"}}), "two");
  EXPECT_EQ(find(rules, {{"a", "1"}}), "-");
  EXPECT_EQ(find(rules, {{"a", "1"}, {"b", "x"}, {"c", "y"}}), "-");
  EXPECT_EQ(find(rules, {{"b", "x"}, {"a", "1"}}), "-");
  EXPECT_EQ(find(rules, {}), "-");
}

TEST(DescriptorTree, ThereIsNoWayBackFromAValue) {
  const RuleSet rules({leaf("any", {{"a"}, {"b"}}), leaf("one", {{"a", "1"}, {"c"}})});
  EXPECT_EQ(find(rules, {{"a", "2"}, {"b", "x"}}), "any");
  EXPECT_EQ(find(rules, {{"a", "1"}, {"b", "x"}}), "-");
}

TEST(DescriptorTree, DomainsAreApart) {
  const RuleSet rules(
      {leaf("edge", {{"a"}}), leaf("mesh", {{"a"}}, "mesh"), leaf("empty", {}, "declared")});
  EXPECT_EQ(find(rules, {{"a", "1"}}), "edge");
  EXPECT_EQ(find(rules, {{"a", "1"}}, "mesh"), "mesh");
  EXPECT_EQ(find(rules, {{"a", "1"}}, "declared"), "-");
  EXPECT_TRUE(rules.has_domain("declared"));
  EXPECT_FALSE(rules.has_domain("unknown"));
  EXPECT_FALSE(rules.has_domain(""));
}

// The reference service joins key and value with '_', so it confuses these two.
TEST(DescriptorTree, KeyAndValueAreNotJoined) {
  const RuleSet rules({leaf("key a_b", {{"a_b"}}), leaf("key a", {{"a", "b"}})});
  EXPECT_EQ(find(rules, {{"a_b", ""}}), "key a_b");
  EXPECT_EQ(find(rules, {{"a", "b"}}), "key a");
  EXPECT_EQ(find(rules, {{"a", "b_c"}}), "-");
}

std::string key(const Rule& rule, std::vector<NameValue> entries) {
  const RuleSet rules({rule});
  const Descriptor descriptor{.domain = "edge", .entries = entries};
  std::string scratch = "left over";
  const Rule* found = rules.match(descriptor);
  return found == nullptr ? "-" : std::string(key_of(*found, descriptor, scratch));
}

TEST(DescriptorKey, IsMadeOfWhatTheRuleLeavesOpen) {
  EXPECT_EQ(key(leaf("fixed", {{"a", "1"}}), {{"a", "1"}}), "");
  EXPECT_EQ(key(leaf("open", {{"a"}}), {{"a", "10.0.0.1"}}), "10.0.0.1");
  EXPECT_EQ(key(leaf("one of two", {{"a", "1"}, {"b"}}), {{"a", "1"}, {"b", "x"}}), "x");
  EXPECT_EQ(key(leaf("pattern", {{"a", "1*"}}), {{"a", "12"}}), "12");
  EXPECT_EQ(key(leaf("shared", {{"a", "1*", true}}), {{"a", "12"}}), "");
}

TEST(DescriptorKey, OfSeveralPartsIsUnambiguous) {
  const Rule rule = leaf("two", {{"a"}, {"b"}});
  EXPECT_EQ(key(rule, {{"a", "x"}, {"b", "yz"}}), "1:x2:yz");
  EXPECT_NE(key(rule, {{"a", "1:x"}, {"b", ""}}), key(rule, {{"a", ""}, {"b", "1:x"}}));
  EXPECT_EQ(key(rule, {{"a", ""}, {"b", ""}}), "0:0:");
}

TEST(TextPattern, StarsTakeAnyBytes) {
  struct Case {
    std::string_view pattern, text;
    bool matches;
  };
  for (const Case& c :
       {Case{"abc", "abc", true}, Case{"abc", "abcd", false}, Case{"*", "", true},
        Case{"*", "anything", true}, Case{"a*", "a", true}, Case{"a*", "ba", false},
        Case{"*a", "bca", true}, Case{"a*b*c", "a-b-b-c", true}, Case{"a*b*c", "a-c-b", false},
        Case{"a**b", "ab", true}, Case{"*aab", "aaaab", true}, Case{"a*a", "a", false},
        Case{"", "", true}, Case{"", "x", false}}) {
    EXPECT_EQ(TextPattern(std::string(c.pattern)).matches(c.text), c.matches)
        << c.pattern << " on " << c.text;
  }
}

}  // namespace
}  // namespace weir
