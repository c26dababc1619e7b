#include "config/rules/rule_sources.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"

namespace weir {
namespace {

TEST(RuleSources, AreTheFieldsOfTheFileAsJson) {
  const auto sources = config_sources(
      "drain_timeout: 2.5\nrules:\n  - {id: a, limit: 5, window: 0.001, match: {path: [/x, "
      "'/y']}}\n"
      "  - id: b\n    enabled: false\n");
  EXPECT_EQ(sources.others, R"({"drain_timeout":2.5})") << "no exponents";
  ASSERT_EQ(sources.rules.size(), 2u);
  EXPECT_EQ(sources.rules[0].id, "a");
  EXPECT_EQ(sources.rules[0].json,
            R"({"id":"a","limit":5,"window":0.001,"match":{"path":["/x","/y"]}})");
  EXPECT_EQ(sources.rules[1].json, R"({"id":"b","enabled":false})");
}

// A header's value is a text, of which each sign counts; a setting is a number.
TEST(RuleSources, SayTheSameWhenTheyAreReadAgain) {
  const std::string text =
      "adaptive: {denied_share: 0.60}\nenvoy: {all_or_nothing: True}\nrules:\n"
      "  - {id: a, limit: 5, window: 1.50, shadow: TRUE, match: {header: [{name: v, value: 2.0},\n"
      "     {name: v, value: 12e4567}, {name: v, value: True}, {name: v, value: 7}]}}\n";
  const auto sources = config_sources(text);
  EXPECT_TRUE(sources.rules[0].json.ends_with(
      R"([{"name":"v","value":"2.0"},{"name":"v","value":"12e4567"},)"
      R"({"name":"v","value":"True"},{"name":"v","value":7}]}})"))
      << sources.rules[0].json;
  const auto config = parse_config(config_text(sources), "again");
  ASSERT_TRUE(config) << config.error().front().to_string();
  EXPECT_EQ(config->rules[0].quota.window().count(), 1'500'000);
  EXPECT_TRUE(config->rules[0].shadow && config->settings->envoy.all_or_nothing);
  EXPECT_EQ(config_sources(config_text(sources)).rules, sources.rules);
}

TEST(RuleSources, OfNothingAreNone) {
  EXPECT_EQ(config_sources("").others, "{}");
  EXPECT_TRUE(config_sources("# nothing\n").rules.empty());
  EXPECT_TRUE(config_sources("rules:\n").rules.empty());
}

TEST(RuleSources, AreAConfigurationWithARuleALine) {
  const ConfigSources sources{
      .others = R"({"threads":2})",
      .rules = {{.id = "a", .json = R"({"id":"a"})"}, {.id = "b", .json = R"({"id":"b"})"}}};
  EXPECT_EQ(config_text(sources), "{\"threads\":2,\"rules\":[\n{\"id\":\"a\"},\n{\"id\":\"b\"}]}");
  EXPECT_EQ(config_text({}), "{\"rules\":[]}");
}

std::string edit(std::string_view text, const RuleEdit& wanted) {
  const auto result = edit_rule(text, wanted);
  if (!result) return "refused: " + result.error().message;
  return *result;
}

constexpr std::string_view kFile =
    "# Ours.\n"
    "threads: 2  # enough\n"
    "rules:\n"
    "  # People.\n"
    "  - id: login\n"
    "    limit: 5\n"
    "\n"
    "  # Machines.\n"
    "  - {id: api, limit: 9}\n"
    "# The end.\n"
    "max_keys: 2048\n";

TEST(RuleEdit, ReplacesTheLinesOfOneRule) {
  EXPECT_EQ(
      edit(kFile, {.id = "login", .json = R"({"id":"login","match":{"path":"/x"},"window":0.25})"}),
      "# Ours.\nthreads: 2  # enough\nrules:\n  # People.\n"
      "  - id: login\n    match: {path: /x}\n    window: 0.25\n"
      "\n  # Machines.\n  - {id: api, limit: 9}\n# The end.\nmax_keys: 2048\n");
}

TEST(RuleEdit, AddsBehindTheLast) {
  EXPECT_EQ(edit(kFile, {.id = "new", .json = R"({"id":"new"})"}),
            "# Ours.\nthreads: 2  # enough\nrules:\n  # People.\n  - id: login\n    limit: 5\n"
            "\n  # Machines.\n  - {id: api, limit: 9}\n  - id: new\n"
            "# The end.\nmax_keys: 2048\n");
  EXPECT_EQ(edit("rules:\n- id: a", {.id = "b", .json = R"({"id":"b"})"}),
            "rules:\n- id: a\n- id: b\n");
}

TEST(RuleEdit, BeginsAListWhereThereIsNone) {
  EXPECT_EQ(edit("", {.id = "a", .json = R"({"id":"a"})"}), "rules:\n  - id: a\n");
  EXPECT_EQ(edit("threads: 2", {.id = "a", .json = R"({"id":"a"})"}),
            "threads: 2\nrules:\n  - id: a\n");
}

TEST(RuleEdit, QuotesWhatYamlWouldReadOtherwise) {
  const std::string json =
      R"({"id":"on","window":"1m","limit":5,"match":{"client":["10.0.0.0/8","::/0"],"headers":)"
      R"({"X-A":"no","X-B":"1e3","X-C":"a b"},"path":"*","x":"","key":"header:X-A","z":"a:"},)"
      R"("active":{"from":"08:00"}})";
  EXPECT_EQ(edit("", {.id = "on", .json = json}),
            "rules:\n  - id: \"on\"\n    window: 1m\n    limit: 5\n"
            "    match: {client: [10.0.0.0/8, \"::/0\"], headers: {X-A: \"no\", X-B: \"1e3\", "
            "X-C: a b}, path: \"*\", x: \"\", key: header:X-A, z: \"a:\"}\n    active: {from: "
            "\"08:00\"}\n");
}

TEST(RuleEdit, TakesARuleAway) {
  EXPECT_EQ(edit(kFile, {.id = "api"}),
            "# Ours.\nthreads: 2  # enough\nrules:\n  # People.\n  - id: login\n    limit: 5\n"
            "\n  # Machines.\n# The end.\nmax_keys: 2048\n");
}

TEST(RuleEdit, BeginsAListThatIsEmpty) {
  const RuleEdit wanted{.id = "a", .json = R"({"id":"a","limit":1})"};
  EXPECT_EQ(edit("rules:  # ours\n# The end.\nthreads: 2\n", wanted),
            "rules:  # ours\n  - id: a\n    limit: 1\n# The end.\nthreads: 2\n");
  EXPECT_EQ(edit("threads: 2\nrules:", wanted), "threads: 2\nrules:\n  - id: a\n    limit: 1\n");
  for (const char* text : {"rules: []\n", "rules: ~\n", "{rules: }\n"}) {
    EXPECT_THAT(edit(text, wanted), testing::StartsWith("refused: ")) << text;
  }
}

TEST(RuleEdit, RefusesWhatItCannotDoWithoutHarm) {
  const RuleEdit wanted{.id = "a", .json = R"({"id":"a","limit":1})"};
  EXPECT_EQ(edit("rules:\n  - id: a  # mine\n    limit: 5\n", wanted),
            "refused: the rule's lines in the file have comments, which would be lost");
  EXPECT_EQ(edit("rules:\n  - id: a\n    # mine\n    limit: 5\n", wanted),
            "refused: the rule's lines in the file have comments, which would be lost");
  EXPECT_EQ(edit("rules: [{id: a, limit: 5}]\n", wanted),
            "refused: the rules in the file are not a list with one rule below the other");
  EXPECT_EQ(edit("{\"rules\":[\n{\"id\":\"a\"}]}\n", wanted),
            "refused: the rules in the file are not a list with one rule below the other");
  // The other rule is an alias of the replaced rule.
  EXPECT_TRUE(
      edit("rules:\n  - &a\n    id: a\n    limit: 5\n  - *a\n", wanted).starts_with("refused: "));
  EXPECT_TRUE(edit("rules:\n  - {id: a, window: &w 5}\n  - {id: b, window: *w}\n", wanted)
                  .starts_with("refused: "));
}

}  // namespace
}  // namespace weir
