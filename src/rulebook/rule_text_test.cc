#include "rulebook/rule_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "weir/holding_store.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kMinute = std::chrono::minutes(1);

Rule rule(const char* id, std::int64_t limit) {
  return {.id = id, .quota = *Quota::make({.limit = limit, .window = kMinute})};
}

RuleSet set_of(std::vector<Rule> rules) { return RuleSet(std::move(rules)); }

TEST(RuleText, CountsAsOneReadsIt) {
  EXPECT_EQ(count_of(0, "rule"), "0 rules");
  EXPECT_EQ(count_of(1, "rule"), "1 rule");
  EXPECT_EQ(count_of(2, "change"), "2 changes");
  const auto rules = {rule("login", 5), Rule{.id = "a", .effect = Rule::Effect::kExempt}};
  EXPECT_EQ(count_of(rules), "1 rule");
}

TEST(RuleText, DescribesWhatARuleSays) {
  EXPECT_EQ(describe(rule("login", 5)), "sliding_window 5 per 1m");
  const auto bucket = *Quota::make({.algorithm = Algorithm::kTokenBucket,
                                    .limit = 10,
                                    .window = std::chrono::seconds(1),
                                    .burst = 30});
  EXPECT_EQ(describe({.id = "api", .quota = bucket, .enabled = false}),
            "token_bucket 10 per 1s, burst 30, disabled");
}

Rule slots(std::int64_t limit) {
  return {.id = "slots", .quota = *slot_quota(limit), .effect = Rule::Effect::kConcurrency};
}

std::vector<std::string> changes(const RuleSet& before, const RuleSet& after) {
  return describe_changes({.rules = before, .sources = {}}, {.rules = after, .sources = {}});
}

TEST(RuleText, NamesEachChangeOnce) {
  EXPECT_THAT(changes(set_of({rule("kept", 1), rule("raised", 2), rule("gone", 3)}),
                      set_of({rule("new", 4), rule("raised", 5), rule("kept", 1)})),
              ElementsAre("added new: sliding_window 4 per 1m",
                          "changed raised: sliding_window 2 per 1m, now sliding_window 5 per 1m",
                          "removed gone", "reordered: raised is before kept"));
}

TEST(RuleText, NamesNoWindowOfWhatIsUnderWay) {
  EXPECT_EQ(describe(slots(3)), "concurrency 3");
  EXPECT_THAT(changes(set_of({slots(3)}), set_of({slots(5)})),
              ElementsAre("changed slots: concurrency 3, now concurrency 5"));
}

// The first rule that matches a request applies.
TEST(RuleText, NamesTheFirstThatAppliesInAnotherOrder) {
  EXPECT_THAT(changes(set_of({rule("a", 1), rule("b", 2)}), set_of({rule("b", 2), rule("a", 1)})),
              ElementsAre("reordered: b is before a"));
}

// What the file has to say of the rule "login" before and after, apart from its limit.
std::vector<std::string> changes_of_login(std::int64_t limit_after, const std::string& before,
                                          const std::string& after) {
  const auto rules_before = set_of({rule("login", 5)});
  const auto rules_after = set_of({rule("login", limit_after)});
  const std::vector<RuleSource> was = {{.id = "login", .json = "{" + before + "}"}};
  const std::vector<RuleSource> is = {{.id = "login", .json = "{" + after + "}"}};
  return describe_changes({.rules = rules_before, .sources = was},
                          {.rules = rules_after, .sources = is});
}

TEST(RuleText, NamesTheOtherFieldsThatChanged) {
  EXPECT_THAT(changes_of_login(5, R"("match":{"path":"/a"},"key":"client")",
                               R"("match":{"path":"/b"},"on_deny":{"block":"5m"},"key":"client")"),
              ElementsAre("changed login: match, on_deny"));
  EXPECT_THAT(changes_of_login(5, R"("allow":["a"],"key":"client")", R"("key":"host")"),
              ElementsAre("changed login: no allow, key from client to host"));
  EXPECT_THAT(changes_of_login(6, R"("limit":5,"tier":"header:X")", R"("limit":6)"),
              ElementsAre("changed login: sliding_window 5 per 1m, now sliding_window 6 per 1m; "
                          "also no tier"));
  EXPECT_THAT(changes_of_login(5, R"("status":429,"cost":1)",
                               R"("status":503,"overdraft":true,"name":"a b","group":"g")"),
              ElementsAre("changed login: status from 429 to 503, no cost, overdraft on, name, "
                          "group g"));
}

TEST(RuleText, SaysWhichWayASwitchGoes) {
  const auto [on, off, tried] =
      std::array{Rule{.id = "a", .enabled = true}, Rule{.id = "a", .enabled = false},
                 Rule{.id = "a", .shadow = true}};
  EXPECT_THAT(changes(set_of({on}), set_of({off})), ElementsAre("changed a: disabled"));
  EXPECT_THAT(changes(set_of({off}), set_of({tried})),
              ElementsAre("changed a: enabled, shadow on"));
  EXPECT_THAT(changes(set_of({tried}), set_of({on})), ElementsAre("changed a: shadow off"));
}

TEST(RuleText, KnowsWhatAChangeIsAbout) {
  EXPECT_TRUE(is_about("changed login: match", "login"));
  EXPECT_TRUE(is_about("removed login", "login"));
  EXPECT_FALSE(is_about("changed login2: match", "login"));
  EXPECT_FALSE(is_about("removed a", "login"));
}

TEST(RuleText, NamesWhoWantsAChange) {
  const RuleAuthor carol{.who = "192.0.2.1", .by = "carol\n", .why = "\"bots\""};
  EXPECT_EQ(describe(carol), R"("carol\n" at 192.0.2.1)");
  EXPECT_EQ(reason_of(carol), R"(, because "\"bots\"")");
  EXPECT_EQ(describe(RuleAuthor{.who = "192.0.2.1"}) + reason_of({}), "192.0.2.1");
}

TEST(RuleText, AnotherSpellingIsNoChange) {
  EXPECT_THAT(changes_of_login(5, R"("window":"1m","key":"client","shadow":true)",
                               R"("shadow":true,"key":"client","window":"60s")"),
              IsEmpty());
}

}  // namespace
}  // namespace weir
