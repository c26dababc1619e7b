#include "cli/exported_rules.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>

namespace weir {
namespace {

std::string exported(std::string_view text, WorkerStore store = WorkerStore::kKv) {
  const auto config = parse_config(text, "rules.yaml");
  const auto* mistakes = std::get_if<ConfigErrors>(&config);
  if (mistakes != nullptr) return "mistake: " + mistakes->front().to_string();
  const auto result =
      exported_rules(std::get<Config>(config), config_sources(text).rules, store, "rules.yaml");
  if (const auto* json = std::get_if<std::string>(&result)) return *json;
  std::string lines;
  for (const ConfigError& error : std::get<ConfigErrors>(result)) {
    lines += error.to_string() + "\n";
  }
  return lines;
}

TEST(ExportedRules, HaveMatchKeyAndLimits) {
  EXPECT_EQ(
      exported(R"(
rules:
  - id: login
    match: {method: POST, path: /login}
    key: [client/24/48, "header:X-App"]
    limit: 5
    window: 1m
    more_limits:
      - {limit: 100, window: 1d, algorithm: fixed_window}
    cost: 2
  - id: off
    enabled: false
    match: {}
    limit: 1
    window: 1s
)"),
      R"({"store":"kv","rules":[{"id":"login","group":"","shadow":false,"cost":2,)"
      R"("limits":[{"algorithm":"sliding_window","limit":5,"window_us":60000000},)"
      R"({"algorithm":"fixed_window","limit":100,"window_us":86400000000}],)"
      R"("match":{"method":["POST"],"path":["/login"]},"key":["client/24/48","header:X-App"]}]})");
}

TEST(ExportedRules, SayWhatBecomesOfAMissingKey) {
  const std::string text = exported(R"(
rules:
  - id: first
    match: {}
    key: ["header:X-App", "cookie:s", client/24/48]
    limit: 5
    window: 1m
  - id: denies
    group: b
    match: {}
    key: ["header:X-App", path]
    missing: deny
    limit: 5
    window: 1m
)");
  EXPECT_NE(text.find(R"("key":["header:X-App","cookie:s","client/24/48"],"key_takes":"first"})"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("key":["header:X-App","path"],"missing":"deny"})"), std::string::npos)
      << text;
  EXPECT_EQ(exported(R"(
rules:
  - id: users
    match: {}
    key: ["jwt:sub", client]
    limit: 5
    window: 1m
jwt: {secret_file: none}
)"),
            "rules.yaml:5:10: users: the Worker reads no tokens: it does not know 'jwt:sub'\n");
}

TEST(ExportedRules, RefuseWithItsPlaceWhatOnlyAGatewayCanDo) {
  const auto mistake = [](const std::string& fields) {
    const auto line = exported("rules:\n  - {id: a, match: {}, limit: 1, " + fields + "}\n");
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
  EXPECT_EQ(exported(R"(
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

TEST(ExportedRules, HaveTextsWhereYamlHasNumbers) {
  const std::string text = exported(R"(
country_header: C
rules:
  - id: plain
    match:
      host: "1.50"
      header: [{name: X-A, value: 5}, {name: X-B}]
      query: [{name: q, value: true}]
      country: [NO]
      client: [10.0.0.0/8, "2001:DB8::1"]
      any: [{cookie: [{name: c, value: 1e3}]}]
      not: {path: /5}
    limit: 1
    window: 1m
    on_deny: {body: 1.50, header: [{name: X-C, value: "5"}]}
)");
  EXPECT_NE(text.find(R"("match":{"host":["1.50"],"country":["NO"],)"
                      R"("client":["10.0.0.0/8","2001:db8::1/128"],)"
                      R"("header":[{"name":"X-A","value":"5"},{"name":"X-B","value":"*"}],)"
                      R"("query":[{"name":"q","value":"true"}],)"
                      R"("any":[{"cookie":[{"name":"c","value":"1e3"}]}],)"
                      R"("not":[{"path":["/5"]}]},)"
                      R"("on_deny":{"content_type":"text/plain","body":"1.50",)"
                      R"("header":[{"name":"X-C","value":"5"}]}})"),
            std::string::npos)
      << text;
}

TEST(ExportedRules, RefuseTimeZonesThatOnlyThisSystemHas) {
  const auto in_zone = [](const std::string& zone) {
    return exported("rules: [{id: a, match: {}, limit: 1, window: 1s, active: {zone: " + zone +
                    "}}]");
  };
  for (const char* zone : {"localtime", "Japan"}) {
    EXPECT_EQ(in_zone(zone), "rules.yaml:1:58: a: the Worker has no zone '" + std::string(zone) +
                                 "'; write one such as Europe/Berlin or UTC\n");
  }
  for (const char* zone : {"UTC", "Etc/GMT+5", "America/Argentina/Buenos_Aires"}) {
    EXPECT_NE(in_zone(zone).find(zone), std::string::npos);
    EXPECT_EQ(in_zone(zone).front(), '{');
  }
}

TEST(ExportedRules, RefuseWhateverReadsTokens) {
  EXPECT_EQ(exported(R"(
jwt: {secret_file: /etc/weir/secret}
rules:
  - id: a
    match: {path: /*}
    key: jwt:sub
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

TEST(ExportedRules, HaveTiersOverridesAndLists) {
  const std::string text = exported(R"(
rules:
  - id: plans
    match: {path: /*}
    key: client
    tier: cookie:plan
    tiers:
      - {name: silver, limit: 5, window: 1m}
      - {name: gold, limit: 9, window: 1m, more_limits: [{limit: 90, window: 1h}]}
    overrides: [{key: 5, limit: 50, window: 1m}]
    allow: [monitor, 10.0.0.0/8]
    deny: 192.0.2.66
    limit: 1
    window: 1m
)");
  const auto minute = [](int limit) {
    return R"({"algorithm":"sliding_window","limit":)" + std::to_string(limit) +
           R"(,"window_us":60000000})";
  };
  const std::string wanted =
      R"("tier":"cookie:plan","tiers":[{"name":"gold","limits":[)" + minute(9) +
      R"(,{"algorithm":"sliding_window","limit":90,"window_us":3600000000}]},)"
      R"({"name":"silver","limits":[)" +
      minute(5) + R"(]}],"overrides":[{"name":"5","limits":[)" + minute(50) +
      R"(]}],"allow":{"keys":["10.0.0.0/8","monitor"],"networks":["10.0.0.0/8"]},)"
      R"("deny":{"keys":["192.0.2.66"],"networks":["192.0.2.66/32"]})";
  EXPECT_NE(text.find(wanted), std::string::npos) << text;
}

TEST(ExportedRules, OverKvCountInWindowsInEveryTier) {
  EXPECT_EQ(exported(R"(
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

TEST(ExportedRules, HaveAnswersToDenials) {
  const std::string text = exported(R"(
rules:
  - id: api
    match: {path: /*}
    limit: 1
    window: 1m
    on_deny:
      status: 403
      body: "{{key}} waits"
      header: [{name: X-Wait, value: "{{retry_after}}"}]
)");
  EXPECT_NE(text.find(R"("on_deny":{"status":403,"content_type":"text/plain",)"
                      R"("body":"{{key}} waits",)"
                      R"("header":[{"name":"X-Wait","value":"{{retry_after}}"}]})"),
            std::string::npos)
      << text;
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
    const boost::json::value said = boost::json::parse(exported(text));
    EXPECT_EQ(said.at("rules").at(0).at("active"), row.at("exported")) << text;
    const auto config = parse_config(text, "rules.yaml");
    const Rule& read = std::get<Config>(config).rules.front();
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
  EXPECT_EQ(exported(kBucket),
            "rules.yaml:5:16: api: token_bucket is not kept over KV; fixed_window and "
            "sliding_window are, and all with --store durable\n");
  EXPECT_NE(exported(kBucket, WorkerStore::kDurable).find(R"("burst":30)"), std::string::npos);
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
    EXPECT_EQ(exported(kAdaptive, store),
              "rules.yaml:5:16: api: the Worker has no traffic for adaptive to follow; choose "
              "sliding_window, token_bucket or exponential_backoff\n");
  }
}

TEST(ExportedRules, CostsAreNumbers) {
  const std::string refused = exported(R"(
rules:
  - id: api
    match: {path: /*}
    limit: 10
    window: 1s
    cost: "header:X-Cost"
)");
  EXPECT_EQ(refused, "rules.yaml:7:11: api: the Worker takes costs that are whole numbers only\n");
}

}  // namespace
}  // namespace weir
