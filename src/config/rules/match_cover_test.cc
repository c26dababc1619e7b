#include "config/rules/match_cover.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "config/config.h"

namespace weir {
namespace {

RequestMatch match_of(const std::string& text) {
  const auto parsed = parse_config(
      "country_header: C\nrules: [{id: a, limit: 1, window: 1s, match: " + text + "}]", "test");
  if (!parsed) ADD_FAILURE() << text;
  return parsed ? *parsed->rules.front().match : RequestMatch();
}

TEST(MatchCover, CoversWhatHoldsWheneverTheOtherDoes) {
  constexpr std::pair<const char*, const char*> kCovered[] = {
      {"{}", "{path: /a}"},
      {"{path: '/a/*'}", "{path: ['/a/b', '/a/*/c']}"},
      {"{path: '*.php'}", "{path: '/x/*.php'}"},
      {"{method: [GET, POST]}", "{method: GET, path: /a}"},
      {"{client: 10.0.0.0/8}", "{client: 10.1.0.0/16}"},
      {"{header: [{name: X-A}]}", "{header: [{name: x-a, value: b}]}"},
      {"{path_regex: '/v[0-9]/.*'}", "{path: [/v1/a, /v2/b]}"},
      {"{any: [{path: /a}, {path: /b}]}", "{path: /b}"},
      {"{all: [{path: '/a*'}, {method: GET}]}", "{path: /ab, method: GET}"},
      {"{path: '/a*'}", "{any: [{path: /ab}, {path: /ac}]}"},
      {"{path: '/a*'}", "{method: GET, all: [{path: /ab}]}"},
      {"{path: '/A*', case: insensitive}", "{path: [/ab, /Ac]}"},
      {"{path: /a, trailing_slash: same}", "{path: /a}"},
      {"{path: /a, trailing_slash: same, case: insensitive}", "{path: /A, case: insensitive}"},
  };
  constexpr std::pair<const char*, const char*> kNotCovered[] = {
      {"{path: /a}", "{}"},
      {"{path: '/a/*/c'}", "{path: '/a/*'}"},
      {"{path: '/a/*'}", "{path: '*'}"},
      {"{client: 10.1.0.0/16}", "{client: 10.0.0.0/8}"},
      {"{client: '::/0'}", "{client: 10.0.0.0/8}"},
      {"{header: [{name: X-A, value: b}]}", "{header: [{name: X-A}]}"},
      {"{cookie: [{name: C}]}", "{cookie: [{name: c}]}"},
      {"{path_regex: '/v[0-9]/.*'}", "{path: [/v1/a, /w/b]}"},
      {"{path_regex: '/v[0-9]/.*'}", "{path: '/v1/*'}"},
      {"{any: [{path: /a}, {path: /b}]}", "{path: /c}"},
      {"{path: '/a*'}", "{any: [{path: /ab}, {path: /b}]}"},
      {"{not: {path: /a}}", "{path: /b}"},
      {"{path: /a, not: {method: GET}}", "{path: /a}"},
      {"{path: /a}", "{path: /a, case: insensitive}"},
      {"{path: /a, case: insensitive}", "{path: /a, trailing_slash: same}"},
      {"{path_regex: '/a'}", "{path: /a, case: insensitive}"},
  };
  MatchCover cover;
  for (const auto& [match, other] : kCovered) {
    EXPECT_TRUE(cover.covers(match_of(match), match_of(other))) << match << " of " << other;
  }
  for (const auto& [match, other] : kNotCovered) {
    EXPECT_FALSE(cover.covers(match_of(match), match_of(other))) << match << " of " << other;
  }
}

TEST(MatchCover, KnowsConditionsThatExcludeOneAnother) {
  constexpr const char* kContradictions[] = {
      "{path: /a, all: [{path: /b}]}",
      "{path: '/a/*', all: [{path: '/b/*'}]}",
      "{host: '*.a', all: [{all: [{host: '*.b'}]}]}",
      "{all: [{method: GET}, {method: POST}]}",
      "{method: GET, any: [{method: PUT}, {method: POST}]}",
      "{country: DE, all: [{country: FR}]}",
      "{client: 10.0.0.0/8, all: [{client: 192.0.2.1}]}",
      "{path: /a, path_regex: '/b.*'}",
      "{path: /a, not: {path: '/*'}}",
      "{all: [{path: /a, not: {}}]}",
      "{path: /a, case: insensitive, all: [{path: [/B, '/b/*']}]}",
  };
  constexpr const char* kPossible[] = {
      "{}",
      "{path: '/a/*', all: [{path: '*/b'}]}",
      "{method: GET, any: [{method: PUT}, {path: /a}]}",
      "{client: 10.0.0.0/8, all: [{client: 10.0.0.1}]}",
      "{client: 10.0.0.1, not: {client: 10.0.0.0/24, method: GET}}",
      "{header: [{name: A, value: b}, {name: a, value: c}]}",
      "{cookie: [{name: a, value: b}, {name: a, value: c}]}",
      "{path: [/a, /b], path_regex: '/b.*'}",
      "{path: '/a*', path_regex: '/b.*'}",
      "{path: /a, case: insensitive, all: [{path: /A}]}",
      "{path: /a, trailing_slash: same, all: [{path: ['/a/*']}]}",
      "{path: '/a*', trailing_slash: same, all: [{path: '*/b/'}]}",
      "{path: /a, case: insensitive, path_regex: '/A'}",
  };
  MatchCover cover;
  for (const char* match : kContradictions) {
    EXPECT_TRUE(cover.is_contradiction(match_of(match))) << match;
  }
  for (const char* match : kPossible) {
    EXPECT_FALSE(cover.is_contradiction(match_of(match))) << match;
  }
}

TEST(SingleRegex, KnowsWhetherPathsCanMatchIt) {
  for (const char* pattern : {"/a", ".*", "(a|/b)", "(?i)/A", "[^a]+", "", "(x)?/a", "\\Q/a"}) {
    EXPECT_EQ(SingleRegex(pattern).matches_paths(), *pattern != '\0') << pattern;
  }
  for (const char* pattern : {"api/.*", "[a-z]+/x", "(a|b)/", "x?y/a"}) {
    EXPECT_FALSE(SingleRegex(pattern).matches_paths()) << pattern;
  }
}

// A file of 1 KiB with aliases: 16 to the power of 8 ways to compare them.
TEST(MatchCover, GivesUpWhereThereAreTooManyWays) {
  RequestMatch leaf{.methods = {"GET"}};
  RequestMatch tree = leaf;
  for (int depth = 0; depth < 4; ++depth) {
    tree = {.any_of = std::vector<RequestMatch>(16, tree)};
  }
  RequestMatch other = tree;
  other.any_of.back().any_of.back().any_of.back().any_of.back().methods = {"PUT"};
  EXPECT_FALSE(MatchCover(100'000).covers(tree, other));
  EXPECT_FALSE(MatchCover(100'000).is_contradiction({.any_of = {other}, .none_of = {tree}}));
  MatchCover used_up(1);
  EXPECT_TRUE(used_up.covers({}, leaf));
  EXPECT_FALSE(used_up.covers({}, leaf));
  EXPECT_FALSE(used_up.is_contradiction({.all_of = {leaf, {.methods = {"PUT"}}}}));
}

TEST(MatchCover, OneRequestMayMeetBothUnlessTheyExcludeEachOther) {
  MatchCover cover;
  EXPECT_TRUE(cover.may_meet(match_of("{}"), match_of("{path: /a}")));
  EXPECT_TRUE(cover.may_meet(match_of("{path: '/a/*'}"), match_of("{path: '*.php'}")));
  EXPECT_TRUE(cover.may_meet(match_of("{method: GET}"), match_of("{host: a}")));
  EXPECT_FALSE(cover.may_meet(match_of("{method: GET}"), match_of("{method: POST}")));
  EXPECT_FALSE(cover.may_meet(match_of("{path: '/a/*'}"), match_of("{path: /b}")));
  EXPECT_FALSE(cover.may_meet(match_of("{not: {path: '/a/*'}}"), match_of("{path: /a/b}")));
}

}  // namespace
}  // namespace weir
