#include "cli/exported_rules.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "rules/packed/packed_rules.h"

namespace weir {
namespace {

// What is refused, a line each.
std::string refused(std::string_view text, WorkerStore store = WorkerStore::kKv) {
  const auto config = parse_config(text, "rules.yaml");
  if (!config) return "mistake: " + config.error().front().to_string();
  const auto result = exported_rules(*config, config_sources(text).rules, store, "rules.yaml");
  if (result) return {};
  std::string lines;
  for (const ConfigError& error : result.error()) {
    lines += error.to_string() + "\n";
  }
  return lines;
}

TEST(ExportedRules, BeginWithTheStoreAndAreThoseInForce) {
  constexpr std::string_view kText = R"(
rules:
  - {id: login, match: {path: /login}, limit: 5, window: 1m}
  - {id: off, enabled: false, match: {}, limit: 1, window: 1s}
)";
  const auto config = *parse_config(kText, "rules.yaml");
  const auto sources = config_sources(kText).rules;
  for (const auto& [store, letter] :
       {std::pair(WorkerStore::kKv, 'k'), std::pair(WorkerStore::kDurable, 'd')}) {
    const auto bytes = *exported_rules(config, sources, store, "rules.yaml");
    EXPECT_EQ(bytes.front(), letter);
    const auto rules = unpacked_rules(std::string_view(bytes).substr(1));
    ASSERT_TRUE(rules && rules->size() == 1);
    EXPECT_EQ(rules->front().id, "login");
  }
}

TEST(ExportedRules, RefuseWithItsPlaceWhatOnlyAGatewayCanDo) {
  const auto mistake = [](const std::string& fields) {
    const auto line = refused("rules:\n  - {id: a, match: {}, limit: 1, " + fields + "}\n");
    return line.substr(0, line.find(';'));
  };
  const std::string kBegin = "mistake: rules.yaml:2:";
  EXPECT_EQ(mistake("window: 1s, count_if: {status: 401}"),
            kBegin + "56: only nginx with Weir in it sees the response");
  EXPECT_EQ(mistake("window: 1s, cost: 'response:X-Cost'"),
            kBegin + "52: only nginx with Weir in it sees the response");
  EXPECT_EQ(mistake("of: concurrency"),
            kBegin + "38: only nginx with Weir in it sees when requests end");
  EXPECT_EQ(mistake("window: 1s, algorithm: token_bucket, on_deny: {delay_up_to: 1s}"),
            kBegin + "94: only nginx with Weir in it delays requests");
}

TEST(ExportedRules, RefuseWithItsPlaceWhatTheWorkerCannotDo) {
  EXPECT_EQ(refused(R"(
rules:
  - id: a
    limit: 1
    window: 1m
  - id: b
    match: {any: [{path: /x}, {not: {path_regex: "/[0-9]+"}}]}
    limit: 1
    window: 1m
    on_deny: {block: 1m, status: 403}
    mode: strict
    overdraft: true
)"),
            "rules.yaml:3:9: a: the Worker asks by request only: the rule needs a 'match'\n"
            "rules.yaml:7:12: b: the Worker has no 'path_regex' in 'match'; write 'path' with '*'\n"
            "rules.yaml:10:14: b: the Worker has no 'block' in 'on_deny'\n"
            "rules.yaml:11:11: b: the Worker has no 'mode'\n"
            "rules.yaml:12:16: b: the Worker has no 'overdraft'\n");
}

TEST(ExportedRules, RefuseTimeZonesThatOnlyThisSystemHas) {
  const auto in_zone = [](const std::string& zone) {
    return refused("rules: [{id: a, match: {}, limit: 1, window: 1s, active: {zone: " + zone +
                   "}}]");
  };
  for (const char* zone : {"localtime", "Japan"}) {
    EXPECT_EQ(in_zone(zone), "rules.yaml:1:58: a: the Worker has no zone '" + std::string(zone) +
                                 "'; write one such as Europe/Berlin or UTC\n");
  }
  for (const char* zone : {"UTC", "Etc/GMT+5", "America/Argentina/Buenos_Aires"}) {
    EXPECT_EQ(in_zone(zone), "");
  }
}

TEST(ExportedRules, RefuseWhateverReadsTokens) {
  EXPECT_EQ(refused(R"(
jwt: {secret_file: /etc/weir/secret}
rules:
  - id: a
    match: {path: /*}
    key: ["jwt:sub", client]
    tier: jwt:plan
    tiers: [{name: gold, limit: 9, window: 1m}]
    limit: 1
    window: 1m
    on_deny:
      body: "{{jwt:sub}}"
)"),
            "rules.yaml:6:10: a: the Worker reads no tokens: it does not know 'jwt:sub'\n"
            "rules.yaml:7:11: a: the Worker reads no tokens: it does not know 'jwt:plan'\n"
            "rules.yaml:12:7: a: the Worker reads no tokens: it does not know 'jwt:sub'\n");
}

TEST(ExportedRules, OverKvCountInWindowsInEveryTier) {
  EXPECT_EQ(refused(R"(
rules:
  - id: api
    match: {path: /*}
    limit: 10
    window: 1s
    overrides: [{key: partner, limit: 10, window: 1s, algorithm: token_bucket}]
)"),
            "rules.yaml:7:16: api: token_bucket is not kept over KV; fixed_window and "
            "sliding_window are, and all with --store durable\n");
}

// "2026-03-27 07:59:59", UTC.
Instant utc(const std::string& text) {
  std::tm tm{};
  EXPECT_NE(strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &tm), nullptr) << text;
  return instant_from_epoch_us(std::int64_t{timegm(&tm)} * 1'000'000);
}

// worker/test/matching.test.mjs asks the Worker's part.
TEST(ExportedRules, KeepTheHours) {
  std::ifstream file("../../worker/test/schedules.json");
  const boost::json::value table = boost::json::parse(file);
  ASSERT_FALSE(table.as_array().empty());
  for (const boost::json::value& row : table.as_array()) {
    const boost::json::object rule{{"id", "a"},
                                   {"match", boost::json::object{}},
                                   {"limit", 1},
                                   {"window", "1m"},
                                   {"active", row.at("active")}};
    const std::string text =
        boost::json::serialize(boost::json::object{{"rules", boost::json::array{rule}}});
    EXPECT_EQ(refused(text), "");
    const auto config = parse_config(text, "rules.yaml");
    const Rule& read = config->rules.front();
    for (const auto& [at, held] : row.at("holds").as_object()) {
      EXPECT_EQ(read.active->holds(utc(at)), held.as_bool()) << text << ' ' << at;
    }
  }
}

TEST(ExportedRules, OverKvCountInWindows) {
  constexpr std::string_view kBucket = R"(
rules:
  - id: api
    match: {path: /*}
    algorithm: token_bucket
    limit: 10
    window: 1s
    burst: 30
)";
  EXPECT_EQ(refused(kBucket),
            "rules.yaml:5:16: api: token_bucket is not kept over KV; fixed_window and "
            "sliding_window are, and all with --store durable\n");
  EXPECT_EQ(refused(kBucket, WorkerStore::kDurable), "");
}

TEST(ExportedRules, NothingThereWouldSwitchAnAdaptiveLimit) {
  constexpr std::string_view kAdaptive = R"(
rules:
  - id: api
    match: {path: /*}
    algorithm: adaptive
    limit: 10
    window: 1s
)";
  for (const WorkerStore store : {WorkerStore::kKv, WorkerStore::kDurable}) {
    EXPECT_EQ(refused(kAdaptive, store),
              "rules.yaml:5:16: api: the Worker has no traffic for adaptive to follow; choose "
              "sliding_window, token_bucket or exponential_backoff\n");
  }
}

TEST(ExportedRules, CostsAreNumbers) {
  EXPECT_EQ(refused(R"(
rules:
  - id: api
    match: {path: /*}
    limit: 10
    window: 1s
    cost: "header:X-Cost"
)"),
            "rules.yaml:7:11: api: the Worker takes costs that are whole numbers only\n");
}

}  // namespace
}  // namespace weir
