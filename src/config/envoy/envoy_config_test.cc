#include "config/envoy/envoy_config.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/duration_text.h"
#include "rules/rule_set.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kEverything = R"(
domain: mesh
descriptors:
  - key: remote_address
    rate_limit: {unit: second, requests_per_unit: 10}
    descriptors:
      - key: path
        value: /a/*
        share_threshold: true
        shadow_mode: true
        rate_limit: {unit: MONTH, requests_per_unit: 4294967295, name: paths}
      - key: path
        value: /b*
        quota_mode: true
        detailed_metric: true
        rate_limit:
          unit: week
          requests_per_unit: 3
          name: b
          replaces: [{name: paths}, {name: other}]
  - key: remote_address
    value: 10.0.0.1
  - key: user
    value: 7
    metadata: {tier: 1, notes: [a, "2", true, null]}
    value_to_metric: true
    rate_limit: {unlimited: true}
  - key: own
    algorithm: token_bucket
    window: 90s
    burst: 20
    rate_limit: {requests_per_unit: 5}
)";

std::vector<Rule> load(std::string_view text, Algorithm algorithm = Algorithm::kFixedWindow) {
  auto parsed = parse_envoy_config(text, "rl.yaml", algorithm);
  if (!parsed) {
    ADD_FAILURE() << parsed.error().front().to_string();
    return {};
  }
  return *std::move(parsed);
}

const Rule& rule(const std::vector<Rule>& rules, std::string_view id) {
  static const Rule kNone;
  for (const Rule& candidate : rules) {
    if (candidate.id == id) return candidate;
  }
  ADD_FAILURE() << "no rule " << id;
  return kNone;
}

std::string limit(const Rule& rule) {
  return std::to_string(rule.quota.limit()) + "/" + format_duration(rule.quota.window()) + " " +
         std::string(algorithm_name(rule.quota.algorithm()));
}

TEST(EnvoyConfig, NamesRulesByTheirPath) {
  std::vector<std::string> ids;
  for (const Rule& rule : load(kEverything)) ids.push_back(rule.id);
  EXPECT_THAT(ids, ElementsAre("mesh/", "mesh/remote_address", "mesh/remote_address/path=%2Fa%2F*",
                               "mesh/remote_address/path=%2Fb*", "mesh/remote_address=10.0.0.1",
                               "mesh/user=7", "mesh/own"));
}

TEST(EnvoyConfig, ReadsLimitsAsTheReferenceServiceDoes) {
  const auto rules = load(kEverything);
  EXPECT_EQ(limit(rule(rules, "mesh/remote_address")), "10/1s fixed_window");
  EXPECT_EQ(limit(rule(rules, "mesh/remote_address/path=%2Fa%2F*")), "4294967295/30d fixed_window");
  EXPECT_EQ(limit(rule(rules, "mesh/remote_address/path=%2Fb*")), "3/1w fixed_window");
  EXPECT_EQ(limit(rule(load(kEverything, Algorithm::kSlidingWindow), "mesh/remote_address")),
            "10/1s sliding_window");
  EXPECT_EQ(limit(rule(rules, "mesh/own")), "5/1m30s token_bucket");
  EXPECT_EQ(rule(rules, "mesh/own").quota.capacity(), 20);
}

TEST(EnvoyConfig, ReadsWhatALimitDoes) {
  const auto rules = load(kEverything);
  const Rule& shared = rule(rules, "mesh/remote_address/path=%2Fa%2F*");
  EXPECT_TRUE(shared.shadow);
  EXPECT_TRUE(shared.descriptor->entries[1].shares);
  EXPECT_EQ(shared.policy.name, "paths");
  const Rule& replacing = rule(rules, "mesh/remote_address/path=%2Fb*");
  EXPECT_THAT(replacing.policy.replaces, ElementsAre("paths", "other"));
  EXPECT_TRUE(replacing.policy.quota_mode);
  EXPECT_TRUE(replacing.policy.detailed_metric);
  EXPECT_EQ(rule(rules, "mesh/remote_address=10.0.0.1").effect, Rule::Effect::kExempt);
  const Rule& unlimited = rule(rules, "mesh/user=7");
  EXPECT_EQ(unlimited.effect, Rule::Effect::kUnlimited);
  EXPECT_TRUE(unlimited.policy.value_to_metric);
  EXPECT_EQ(unlimited.policy.metadata_json, R"({"tier":1,"notes":["a","2",true,null]})");
}

TEST(EnvoyConfig, LeadsDescriptorsToTheirRules) {
  const RuleSet rules(load(kEverything));
  const auto id = [&](std::vector<NameValue> entries) {
    const Rule* found = rules.match({.domain = "mesh", .entries = entries});
    return found == nullptr ? "-" : found->id;
  };
  EXPECT_EQ(id({{"remote_address", "10.0.0.2"}}), "mesh/remote_address");
  EXPECT_EQ(id({{"remote_address", "10.0.0.1"}}), "mesh/remote_address=10.0.0.1");
  EXPECT_EQ(id({{"remote_address", "10.0.0.2"}, {"path", "/a/x"}}),
            "mesh/remote_address/path=%2Fa%2F*");
  EXPECT_EQ(id({{"remote_address", "10.0.0.1"}, {"path", "/a/x"}}), "-");
  EXPECT_EQ(id({{"user", "7"}}), "mesh/user=7");
  EXPECT_EQ(id({{"user", "8"}}), "-");
}

TEST(EnvoyConfig, KnowsADomainThatLimitsNothing) {
  const RuleSet rules(load("domain: idle\ndescriptors:\n"));
  EXPECT_TRUE(rules.has_domain("idle"));
}

TEST(EnvoyConfig, IdsOfNamesWithSeparatorsStayApart) {
  const auto rules = load(
      "domain: d\n"
      "descriptors:\n"
      "  - {key: a/b, rate_limit: {unit: day, requests_per_unit: 1}}\n"
      "  - {key: a=b, rate_limit: {unit: day, requests_per_unit: 1}}\n"
      "  - {key: a%2Fb, rate_limit: {unit: day, requests_per_unit: 1}}\n"
      "  - {key: a, value: b, rate_limit: {unit: day, requests_per_unit: 1}}\n"
      "  - {key: a, descriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 1}}]}\n");
  const RuleSet unique(rules);  // asserts that they are unique
  EXPECT_EQ(unique.rules().size(), 6u);
}

TEST(EnvoyConfig, MayNotRepeatADescriptorOfAnotherFile) {
  auto rules = load(kEverything);
  EXPECT_EQ(descriptor_conflict(rules), std::nullopt);
  Rule another = rule(rules, "mesh/remote_address");
  another.id = "mine";
  rules.push_back(another);
  EXPECT_EQ(descriptor_conflict(rules),
            "the rules 'mesh/remote_address' and 'mine' are for the same descriptor; remove one "
            "of them");
}

std::string mistakes(std::string_view text) {
  const auto parsed = parse_envoy_config(text, "rl.yaml", Algorithm::kFixedWindow);
  std::string lines;
  if (!parsed)
    for (const ConfigError& error : parsed.error()) lines += error.to_string() + "\n";
  return lines;
}

// A row for each row of the reference service's checks.
TEST(EnvoyConfig, RefusesWhatTheReferenceServiceRefuses) {
  struct Case {
    std::string_view descriptor, mistake;
  };
  for (const Case& c : {
           Case{"- {value: x}", "3:5: a descriptor needs 'key'"},
           Case{"- {key: ''}", "'key' must not be empty"},
           Case{"- {key: a, rate_limits: {}}", "unknown key 'rate_limits'; did you mean"},
           Case{"- {key: a, rate_limit: {unit: day, requests: 1}}", "unknown key 'requests'"},
           Case{"- {key: a, rate_limit: {requests_per_unit: 1}}", "'rate_limit' needs 'unit'"},
           Case{"- {key: a, rate_limit: {unit: fortnight}}", "'unit' must be second, minute"},
           Case{"- {key: a, rate_limit: {unit: day, requests_per_unit: -1}}", "must be from 0 to"},
           Case{"- {key: a, rate_limit: {unit: day, requests_per_unit: 4294967296}}",
                "must be from 0 to 4294967295"},
           Case{"- {key: a, rate_limit: {unit: day, unlimited: true}}", "has no unit"},
           Case{"- {key: a, share_threshold: true}", "'share_threshold' is only for a value"},
           Case{"- {key: a, value: b, share_threshold: true}", "'share_threshold' is only for"},
           Case{"- {key: a, rate_limit: {unit: day, name: n, replaces: [{name: n}]}}",
                "not its own"},
           Case{"- {key: a, rate_limit: {unit: day, replaces: [{name: ''}]}}", "not empty"},
           Case{"- {key: a, rate_limit: {unit: day, replaces: [n]}}", "must be a map with 'name'"},
           Case{"- {key: a}\n  - {key: a}", "4:5: duplicate descriptor"},
           Case{"- {key: a, value: b}\n  - {key: a, value: b}", "duplicate descriptor"},
           Case{"- a", "a descriptor must be a map with 'key', but is the text 'a'"},
           Case{"- {key: a, window: 1m, rate_limit: {unit: day}}", "remove one of them"},
           Case{"- {key: a, burst: 5, rate_limit: {unit: day}}", "'burst' must be"},
       }) {
    const std::string text = "domain: d\ndescriptors:\n  " + std::string(c.descriptor) + "\n";
    EXPECT_THAT(mistakes(text), HasSubstr(c.mistake)) << text;
  }
  EXPECT_THAT(mistakes("descriptors: []\n"), HasSubstr("needs 'domain'"));
  EXPECT_THAT(mistakes("domain: ''\n"), HasSubstr("'domain' must be a text that is not empty"));
  EXPECT_THAT(mistakes(""), HasSubstr("must be a map"));
  EXPECT_THAT(mistakes("- a\n"), HasSubstr("must be a map"));
}

// Each level names the one below twice: 2^30 descriptors from thirty lines.
TEST(EnvoyConfig, IsNotBlownUpByAliases) {
  std::string text = "domain: d\ndescriptors:\n  - &l0 {key: k0}\n";
  for (int level = 1; level <= 30; ++level) {
    const std::string below = "*l" + std::to_string(level - 1);
    text += "  - &l" + std::to_string(level) + " {key: k" + std::to_string(level) +
            ", metadata: {a: " + below + ", b: " + below + "}, descriptors: [" + below +
            ", {key: x, descriptors: [" + below + "]}]}\n";
  }
  EXPECT_THAT(mistakes(text), HasSubstr("with each alias written out these are more than"));
}

TEST(EnvoyConfig, LoadsFoldersWithOneFileADomain) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "weir-envoy-config-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text;
  };
  const auto loaded = [&] { return load_envoy_config(folder.string(), Algorithm::kFixedWindow); };
  EXPECT_THAT(loaded().error().front().to_string(), HasSubstr("holds no *.yaml"));
  write("b.yaml", "domain: b\n");
  write("a.yml", "domain: a\n");
  write("notes.txt", "not yaml: [");
  EXPECT_EQ(loaded()->size(), 2u);
  write("c.yaml", "domain: a\n");
  EXPECT_THAT(loaded().error().front().to_string(), HasSubstr("the domain 'a' is in"));
  std::filesystem::remove_all(folder);
  EXPECT_THAT(loaded().error().front().to_string(), HasSubstr("cannot be read"));
}

TEST(EnvoyConfig, HitsCountAsInTheReferenceUnlessTheLimitSaysOtherwise) {
  const auto rules = load(R"(
domain: mesh
descriptors:
  - {key: a, rate_limit: {unit: day, requests_per_unit: 10}}
  - {key: b, algorithm: sliding_window, rate_limit: {unit: day, requests_per_unit: 10}}
  - {key: c, overdraft: false, rate_limit: {unit: day, requests_per_unit: 10}}
  - {key: d, overdraft: true, algorithm: sliding_log, rate_limit: {unit: day, requests_per_unit: 1}}
)");
  ASSERT_EQ(rules.size(), 5U);
  const auto counts = [&](std::size_t index) {
    return std::pair(rules[index].counts_always(1), rules[index].counts_always(2));
  };
  EXPECT_EQ(counts(1), std::pair(true, true));
  EXPECT_EQ(counts(2), std::pair(false, true));
  EXPECT_EQ(counts(3), std::pair(false, false));
  EXPECT_EQ(counts(4), std::pair(true, true));
}

}  // namespace
}  // namespace weir
