#include "cli/exported_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

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
      R"("match":{"method":"POST","path":"/login"},"key":["client/24/48","header:X-App"]}]})");
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
    on_deny: {block: 1m}
    active: {days: mon}
)"),
            "rules.yaml:3:9: a: the Worker asks by request only: the rule needs a 'match'\n"
            "rules.yaml:7:12: b: the Worker has no 'path_regex' in 'match'; write 'path' with '*'\n"
            "rules.yaml:10:14: b: the Worker has no 'on_deny'\n"
            "rules.yaml:11:13: b: the Worker has no 'active'\n");
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
