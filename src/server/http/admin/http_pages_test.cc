#include <boost/json.hpp>

#include <string>

#include <gtest/gtest.h>

#include "engine/testing/late_store.h"
#include "engine/testing/switching.h"
#include "server/http/admin/shared_json.h"
#include "server/http/http_test_door.h"
#include "server/http/routes.h"
#include "weir/holding_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

json::object page(TestDoor& door, std::string_view path) {
  const TestReply reply = door.ask(get(path));
  EXPECT_EQ(reply.status, 200) << path;
  return json::parse(reply.body).as_object();
}

void check(TestDoor& door, int times) {
  for (int i = 0; i < times; ++i) {
    door.ask(post("/check", R"({"key":"a","limit":3,"window":60,"algorithm":"token_bucket"})"));
  }
}

TEST(HttpPages, HealthIsOkUntilItDrains) {
  TestDoor door;
  EXPECT_EQ(
      door.ask(get("/health")).body,
      R"({"status":"ok","redis":"disabled","version":"1.2.3","uptime_seconds":100,"config":"ok"})");
  EXPECT_EQ(door.ask(get("/health")).fields["cache-control"], "no-store");
  door.node.start_draining();
  const TestReply reply = door.ask(get("/health"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_TRUE(reply.body.starts_with(R"({"status":"draining")"));
}

TEST(HttpPages, MetricsAreTheTraffic) {
  TestDoor door;
  EXPECT_EQ(door.ask(get("/metrics")).body,
            R"({"req_per_sec":0,"burst_ratio":0,"deny_rate":0,)"
            R"("active_algorithm":"sliding_window","total_requests":0,"total_denied":0,)"
            R"("switches":[]})");
  check(door, 4);
  door.now += 1s;
  EXPECT_EQ(door.ask(get("/metrics")).body,
            R"({"req_per_sec":0.4,"burst_ratio":5,"deny_rate":0.25,)"
            R"("active_algorithm":"token_bucket","total_requests":4,"total_denied":1,)"
            R"("switches":[]})");
}

// Even if checks wait to be decided together.
TEST(HttpPages, PagesKnowOfTheChecksBeforeThem) {
  TestDoor door;
  const std::string check = post("/check", R"({"key":"a","limit":1,"window":60})");
  const std::string output = door.converse(check + check + get("/metrics") + check);
  std::string_view rest = output;
  take_reply(rest);
  take_reply(rest);
  const std::string metrics = take_reply(rest).body;
  EXPECT_NE(metrics.find(R"("total_requests":2,"total_denied":1)"), std::string::npos) << metrics;
}

TEST(HttpPages, MetricsAreTextForThoseWhoPreferIt) {
  const auto type = [](std::string_view query, std::string_view accept) {
    TestDoor door;
    const std::string field = accept.empty() ? "" : "Accept: " + std::string(accept) + "\r\n";
    return door.ask(get("/metrics" + std::string(query), field)).fields["content-type"];
  };
  const std::string text = "text/plain; version=0.0.4; charset=utf-8";
  const std::string json = "application/json";
  EXPECT_EQ(type("", ""), json);
  EXPECT_EQ(type("", "*/*"), json);
  EXPECT_EQ(type("", "application/json"), json);
  EXPECT_EQ(type("", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), json);
  EXPECT_EQ(type("", "text/plain, application/json"), json);
  EXPECT_EQ(type("", "text/plain"), text);
  EXPECT_EQ(type("", "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"), text);
  EXPECT_EQ(type("",
                 "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
                 "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
            text);
  EXPECT_EQ(type("?format=prometheus", "application/json"), text);
  EXPECT_EQ(type("?format=json", "text/plain"), json);
}

TEST(HttpPages, PrometheusTextIsWellFormed) {
  TestDoor door;
  check(door, 4);
  door.ask(get("/nothing"));
  const std::string text = door.ask(get("/metrics?format=prometheus")).body;
  for (const std::string_view line : {
           "# TYPE weir_decisions_total counter\n",
           "weir_decisions_total{algorithm=\"token_bucket\",decision=\"allowed\"} 3\n",
           "weir_decisions_total{algorithm=\"token_bucket\",decision=\"denied\"} 1\n",
           "weir_decisions_total{algorithm=\"sliding_log\",decision=\"denied\"} 0\n",
           "weir_looks_total 0\n",
           "weir_store_errors_total 0\n",
           "weir_http_requests_total{route=\"/check\",status=\"2xx\"} 4\n",
           "weir_http_requests_total{route=\"other\",status=\"4xx\"} 1\n",
           "# TYPE weir_connections gauge\n",
           "weir_connections 1\n",
           "weir_connections_accepted_total 9\n",
           "weir_connections_refused_total 4\n",
           "weir_connections_stalled_total 3\n",
           "weir_tls_handshakes_failed_total 2\n",
           "weir_proxy_headers_refused_total 1\n",
           "weir_connections_open 8\n",
           "weir_connections_max 99\n",
           "weir_resp_connections 4\n",
           "weir_resp_commands_total 11\n",
           "weir_blocks 0\n",
           "weir_keys_capacity 1024\n",
           "weir_store_log_entries 7\n",
           "weir_store_bytes 16384\n",
           "weir_evictions_total 5\n",
           "weir_build_info{version=\"1.2.3\"} 1\n",
           "weir_uptime_seconds 100\n",
           "weir_rules 0\n",
           "weir_config_last_reload_successful 1\n",
           "weir_config_last_reload_success_timestamp_seconds 784111777\n",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
  }
  EXPECT_TRUE(text.ends_with("\n"));
}

TEST(HttpPages, ReloadsShow) {
  TestDoor door;
  door.reloads.failed(door.now - 5s);
  door.reloads.failed(door.now);
  EXPECT_EQ(page(door, "/health")["config"], "rejected");
  EXPECT_EQ(page(door, "/health")["config_rejected_for_seconds"], 5);
  std::string text = door.ask(get("/metrics?format=prometheus")).body;
  EXPECT_NE(text.find("weir_config_last_reload_successful 0\n"), std::string::npos);
  EXPECT_FALSE(page(door, "/admin/stats")["config"].at("last_reload_successful").as_bool());
  door.reloads.succeeded(door.now);
  text = door.ask(get("/metrics?format=prometheus")).body;
  EXPECT_NE(text.find("weir_config_last_reload_successful 1\n"), std::string::npos);
  EXPECT_NE(text.find("_timestamp_seconds 784111877\n"), std::string::npos);
}

TEST(HttpPages, TellHowMuchIsMisjudged) {
  const Quota quota = *Quota::make({.limit = 5, .window = 1min});
  TestDoor door({.rules = {{.id = "r", .quota = quota}}, .access = {}});
  EXPECT_EQ(door.ask(get("/metrics?format=prometheus")).body.find("\nweir_judged_total"),
            std::string::npos);
  // Its spell begins a minute ago.
  const KeyHash key{.high = 0 - static_cast<std::uint64_t>(epoch_us(door.now - 1min))};
  const Charge charge{.key = key, .quota = &quota, .cost = 1};
  const RuleNumber rule = door.rules->find("r")->number;
  door.error_bar.judge({rule, charge, false, false}, door.now - 1min);
  door.error_bar.judge({rule, charge, false, false}, door.now);
  const std::string text = door.ask(get("/metrics?format=prometheus")).body;
  EXPECT_NE(text.find("\nweir_judged_total{rule=\"r\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("{rule=\"r\",kind=\"denied_early\"} 1\n"), std::string::npos) << text;
  EXPECT_EQ(json::serialize(page(door, "/admin/stats")["misjudged"]),
            R"({"judged":1,"denied_early":1,"admitted_over":0,)"
            R"("share":0,"share_min":0,"share_max":1,"confidence":9.5E-1})");
}

TEST(HttpPages, StatsTellAll) {
  const Quota quota = *Quota::make(
      {.algorithm = Algorithm::kTokenBucket, .limit = 5, .window = 1500ms, .burst = 9});
  TestDoor door({.rules = {{.id = "r", .quota = quota, .enabled = false, .name = "The \"r\""}},
                 .access = {}});
  check(door, 4);
  json::object stats = page(door, "/admin/stats");
  EXPECT_EQ(stats["version"], "1.2.3");
  EXPECT_EQ(stats["uptime_seconds"], 100);
  EXPECT_EQ(stats["threads"], 2);
  EXPECT_EQ(stats["draining"], false);
  EXPECT_EQ(json::serialize(stats["totals"]),
            R"({"requests":4,"allowed":3,"denied":1,"looks":0,"store_errors":0})");
  EXPECT_EQ(json::serialize(stats["algorithms"].at("token_bucket")), R"({"allowed":3,"denied":1})");
  EXPECT_EQ(stats["algorithms"].as_object().size(), 5u);
  EXPECT_EQ(json::serialize(stats["rules"]),
            R"([{"id":"r","name":"The \"r\"","algorithm":"token_bucket","limit":5,)"
            R"("window_seconds":1.5E0,"burst":9,"enabled":false,)"
            R"("allowed":0,"denied":0,"blocked":0,"shadow":0,)"
            R"("keys":0,"latency":{"timed":0,"p50_seconds":0,"p99_seconds":0}}])");
  EXPECT_EQ(json::serialize(stats["store"]),
            R"({"max_keys":1024,"keys_capacity":1024,"bytes":16384,"evictions":5,"freed_keys":0,)"
            R"("refused_keys":0,"log_entries":7})");
  EXPECT_EQ(json::serialize(stats["http"]), R"({"requests":{"/check":{"2xx":4}},"connections":1})");
  EXPECT_EQ(json::serialize(stats["listeners"]),
            R"({"accepted":9,"refused":4,"stalled":3,"failed_handshakes":2,"refused_headers":1,)"
            R"("open":8,"max":99,"shed":10,"flooded":12,"buffered":13,"buffered_max":14})");
  EXPECT_EQ(json::serialize(stats["resp"]), R"({"connections":4,"accepted":6,"commands":11})");
  EXPECT_EQ(stats["blocks"], 0);
}

TEST(HttpPages, SlotsHaveNoAlgorithmAndNoWindow) {
  TestDoor door({.rules = {{.id = "slots",
                            .quota = *slot_quota(3),
                            .effect = Rule::Effect::kConcurrency,
                            .holds_max = 3}},
                 .access = {}});
  const std::string said = json::serialize(page(door, "/admin/stats")["rules"]);
  EXPECT_TRUE(said.starts_with(R"([{"id":"slots","of":"concurrency","limit":3,"enabled":true,)"))
      << said;
}

TEST(HttpPages, RulesHaveFiguresOfTheirOwn) {
  const Quota one = *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = 1, .window = 60s});
  TestDoor door({.rules = {{.id = "login", .quota = one},
                           {.id = "new", .quota = one, .shadow = true},
                           {.id = "off", .quota = one, .enabled = false}},
                 .access = {}});
  for (const std::string_view rule : {"login", "new", "off", "login", "new", "login"}) {
    door.ask(post("/check", R"({"key":"a","rule":")" + std::string(rule) + "\"}"));
  }
  door.blocks.add({.rule = "login", .key = "b", .since = door.now, .until = door.now + 60s},
                  door.now);
  door.ask(post("/check", R"({"key":"b","rule":"login"})"));
  std::string figures;
  json::object stats = page(door, "/admin/stats");
  for (const auto& rule : stats["rules"].as_array()) {
    const std::string text = json::serialize(rule);
    figures += text.substr(text.find("\"enabled\""),
                           text.find(",\"latency\"") - text.find("\"enabled\"")) +
               "\n";
  }
  EXPECT_EQ(figures,
            "\"enabled\":true,\"allowed\":1,\"denied\":2,\"blocked\":1,\"shadow\":0,\"keys\":2\n"
            "\"enabled\":true,\"allowed\":1,\"denied\":0,\"blocked\":0,\"shadow\":1,\"keys\":1\n"
            "\"enabled\":false,\"allowed\":0,\"denied\":0,\"blocked\":0,\"shadow\":0,\"keys\":0\n");
  const std::string text = door.ask(get("/metrics?format=prometheus")).body;
  EXPECT_NE(text.find("weir_rule_requests_total{rule=\"login\",decision=\"denied\"} 2\n"),
            std::string::npos);
  EXPECT_NE(text.find("weir_rule_keys{rule=\"login\"} 2\n"), std::string::npos);
  EXPECT_NE(text.find("weir_blocks 1\n"), std::string::npos);
  door.now += 60s;
  const std::string later = door.ask(get("/metrics?format=prometheus")).body;
  EXPECT_NE(later.find("weir_blocks 0\n"), std::string::npos) << "those that have ended are none";
}

TEST(HttpPages, RulesSayHowLongTheirAnswersTook) {
  const Quota one = *Quota::make({.limit = 1, .window = 60s});
  TestDoor door({.rules = {{.id = "login", .quota = one}}, .access = {}});
  const auto session = door.door.make_session({}, door.now);
  feed(*session, post("/check", R"({"key":"a","rule":"login"})"), door.now);
  session->stamp(100us);
  const json::object stats = page(door, "/admin/stats");
  EXPECT_EQ(json::serialize(stats.at("rules").at(0).at("latency")),
            R"({"timed":1,"p50_seconds":1.28E-4,"p99_seconds":1.28E-4})");
  const std::string text = door.ask(get("/metrics?format=prometheus")).body;
  for (const std::string_view line :
       {"weir_rule_answers_timed_total{rule=\"login\"} 1\n",
        "weir_rule_latency_seconds{rule=\"login\",quantile=\"0.99\"} 0.000128"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
  }
}

TEST(HttpPages, IndexPointsToTheRest) {
  TestDoor door;
  for (const auto& [name, value] : page(door, "/")) {
    const std::string text(value.as_string());
    if (!text.starts_with('/')) continue;
    EXPECT_EQ(door.ask(get(text)).status, 200) << text;
  }
}

TEST(HttpPages, EveryGetIsNotToBeStored) {
  TestDoor door;
  for (const std::string_view path : {"/health", "/metrics", "/admin/stats"}) {
    EXPECT_EQ(door.ask(get(path)).fields["cache-control"], "no-store") << path;
  }
}

TrafficEvent event(TrafficEvent::Kind kind) {
  return {.kind = kind,
          .rule = "login",
          .at = 1'763'847'606,
          .since = 1'763'847'600,
          .rate = 812.44,
          .band = {.low = 25, .median = 100, .high = 203.1},
          .keys = {{.hash = 0xBEEF, .low = 700, .high = 704, .text = "alice"},
                   {.hash = 7, .low = 20, .high = 21}}};
}

TEST(HttpEvents, AreShownFromANumberOn) {
  TestDoor door;
  EXPECT_EQ(door.ask(get("/admin/events")).body, R"({"last":0,"events":[]})");
  door.events.add(event(TrafficEvent::Kind::kBegan));
  door.events.add(event(TrafficEvent::Kind::kEnded));
  EXPECT_EQ(door.ask(get("/admin/events?since=1")).body,
            R"({"last":2,"events":[{"number":2,"event":"ended","rule":"login",)"
            R"("since":"2025-11-22T21:40:00Z","at":"2025-11-22T21:40:06Z",)"
            R"("requests_per_second":812.4,"band":{"low":25,"median":100,"high":203.1},)"
            R"("times_high":4,"keys":[{"hash":"000000000000beef","key":"alice","count":700},)"
            R"({"hash":"0000000000000007","count":20}]}]})");
  EXPECT_NE(door.ask(get("/admin/events?since=0")).body.find("began"), std::string::npos);
  for (const char* wrong : {"?since=-1", "?since=x", "?since="}) {
    EXPECT_EQ(door.ask(get(std::string("/admin/events") + wrong)).status, 400) << wrong;
  }
}

TEST(HttpEvents, MetricsSayWhichRulesAreUnusual) {
  const Quota quota = *Quota::make({.limit = 100, .window = std::chrono::seconds(60)});
  TestDoor door({.rules = {{.id = "login", .quota = quota}}, .access = {}});
  const auto metrics = [&] { return door.ask(get("/metrics?format=prometheus")).body; };
  EXPECT_NE(metrics().find("weir_rule_unusual{rule=\"login\"} 0"), std::string::npos);
  door.unusual.begin(door.traffic.rules().number_of("login"));
  door.events.add(event(TrafficEvent::Kind::kBegan));
  EXPECT_NE(metrics().find("weir_rule_unusual{rule=\"login\"} 1"), std::string::npos);
  EXPECT_NE(metrics().find("weir_unusual_traffic_total 1"), std::string::npos);
  EXPECT_NE(metrics().find("weir_webhook_failed_total 16"), std::string::npos);
}

TEST(HttpEvents, ExplainSaysWhatHoldsInASurge) {
  const Quota quota = *Quota::make({.limit = 100, .window = std::chrono::seconds(60)});
  TestDoor door({.rules = {{.id = "login", .quota = quota, .surge_percent = 50}}, .access = {}});
  door.engine.use_unusual_rules(door.unusual);
  const auto explained = [&] { return door.ask(get("/v1/explain?rule=login&key=a")).body; };
  EXPECT_NE(explained().find(R"("limit":100)"), std::string::npos);
  EXPECT_NE(explained().find(R"("on_surge":{"limit_percent":50,"active":false})"),
            std::string::npos);
  door.unusual.begin(door.traffic.rules().number_of("login"));
  EXPECT_NE(explained().find(R"("limit":50)"), std::string::npos);
  EXPECT_NE(explained().find(R"("on_surge":{"limit_percent":50,"active":true})"),
            std::string::npos);
}

class HttpAdaptive : public ::testing::Test {
 protected:
  HttpAdaptive() {
    node_.now = TestDoor::kStart;
    node_.pass(10, {});
    node_.burst(testing::kLogin);
    node_.pass(89, {{.rule = testing::kLogin, .counts = {.requests = 0}}});
  }

  TestReply ask(const std::string& request) { return door_.ask(request); }

  const Quota adaptive_ = testing::quota(Algorithm::kAdaptive);
  testing::Switching node_;
  TestDoor door_{{.rules = {{.id = "login", .quota = adaptive_},
                            {.id = "search", .quota = adaptive_},
                            {.id = "fixed", .quota = testing::quota(Algorithm::kFixedWindow)}},
                  .access = {},
                  .switches = &node_.switches}};
};

constexpr std::string_view kFollowing =
    R"("following":{"algorithm":"sliding_window","number":3,"seconds_ago":84,"because":)"
    R"("burst ratio 0.0, 0.0 requests/s in the last 2 s and 10.0 in the last 10 s, 0 % denied"})";

TEST_F(HttpAdaptive, ExplainSaysWhatTheRuleFollowsSinceWhenAndWhy) {
  const std::string login = ask(get("/v1/explain?rule=login&key=a")).body;
  EXPECT_NE(login.find(R"("algorithm":"adaptive",)" + std::string(kFollowing)), std::string::npos)
      << login;
  const std::string search = ask(get("/v1/explain?rule=search&key=a")).body;
  EXPECT_NE(search.find(R"("following":{"algorithm":"sliding_window"},)"), std::string::npos)
      << search;
  const std::string fixed = ask(get("/v1/explain?rule=fixed&key=a")).body;
  EXPECT_EQ(fixed.find("following"), std::string::npos) << fixed;
  EXPECT_NE(fixed.find(R"("under_max":0,"nodes":1})"), std::string::npos) << fixed;
}

TEST_F(HttpAdaptive, TheRulesSayWhatTheyFollow) {
  for (const char* path : {"/admin/rules", "/admin/rules/login"}) {
    const std::string rules = ask(get(path)).body;
    EXPECT_NE(rules.find(kFollowing), std::string::npos) << rules;
  }
  const std::string stats = ask(get("/admin/stats")).body;
  EXPECT_NE(stats.find(kFollowing), std::string::npos) << stats;
}

TEST_F(HttpAdaptive, TheMetricsShowTheSwitch) {
  const std::string json = ask(get("/metrics?format=json")).body;
  EXPECT_NE(json.find(R"("switches":[{"rule":"login","algorithm":"sliding_window","number":3,)"),
            std::string::npos)
      << json;
  EXPECT_EQ(json.find("search"), std::string::npos) << json;
  const std::string text = ask(get("/metrics?format=prometheus")).body;
  for (const char* line :
       {R"(weir_rule_active_algorithm{rule="login",algorithm="sliding_window"} 1)",
        R"(weir_rule_active_algorithm{rule="search",algorithm="sliding_window"} 1)",
        R"(weir_rule_switches_total{rule="login"} 2)",
        R"(weir_rule_switches_total{rule="search"} 0)"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(text.find(R"(weir_rule_switches_total{rule="fixed")"), std::string::npos);
}

TEST_F(HttpAdaptive, ChecksWithoutARuleAreInTheList) {
  node_.burst(testing::kRuleless);
  const std::string json = ask(get("/metrics?format=json")).body;
  EXPECT_NE(json.find(R"("switches":[{"rule":null,"algorithm":"token_bucket","number":1,)"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("active_algorithm":"token_bucket")"), std::string::npos) << json;
}

// ---- how far over a limit that nodes share may be -----------------------------------------

class HttpOverNow : public ::testing::Test {
 protected:
  HttpOverNow() {
    door_.engine.join(fleet_, [] {});
    fleet_.nodes = 3;
    fleet_.facts = {.period = std::chrono::milliseconds(50),
                    .trip = std::chrono::milliseconds(10),
                    .silence = std::chrono::milliseconds(100),
                    .busiest = 2};
  }
  static Rule rule(const char* id, Mode mode) {
    return {.id = id,
            .quota = *Quota::make({Algorithm::kFixedWindow, 1'000, std::chrono::minutes(1)}),
            .mode = mode};
  }
  json::value over(std::string_view rule, std::string_view field = "over_now_max") {
    const auto stats = json::parse(door_.ask(get("/admin/stats")).body);
    for (const auto& each : stats.at("rules").as_array()) {
      if (each.at("id").as_string() != rule) continue;
      const auto* const said = each.as_object().if_contains(field);
      return said == nullptr ? json::value("not said") : *said;
    }
    return {};
  }

  TestDoor door_{{.rules = {rule("copied", Mode::kAsync), rule("leased", Mode::kLeased),
                            rule("local", Mode::kLocal)},
                  .access = {}}};
  TestFleet fleet_{door_.engine.local(), Mode::kAsync};
};

// A copy lacks 4 + 1 pieces of 50 ms, and two nodes that did not use the key 2 + 1 each.
TEST_F(HttpOverNow, IsSaidOfEachRuleThatNodesShare) {
  EXPECT_EQ(over("copied"), 2 * (5 + 2 * 3) + 1);
  EXPECT_EQ(over("leased"), 0);
  EXPECT_EQ(over("local"), "not said");
  const std::string metrics = door_.ask(get("/metrics?format=prometheus")).body;
  EXPECT_EQ(metrics.find("weir_rule_over_now_max"), std::string::npos);  // shows no Redis
  const std::string rule = door_.ask(get("/v1/explain?rule=copied&key=a")).body;
  EXPECT_NE(rule.find(R"("over_now_max":0,"over_now_percent":0)"), std::string::npos) << rule;
  fleet_.facts.is_whole = false;
  const std::string cut = door_.ask(get("/v1/explain?rule=leased&key=a")).body;
  EXPECT_NE(cut.find(R"("over_now_max":3000,)"), std::string::npos) << "all is left of " << cut;
  EXPECT_EQ(over("copied"), 2 * 2'000);
  EXPECT_EQ(over("leased"), 2 * 2'000);
}

TEST_F(HttpOverNow, SaysWhyItIsMoreThanUsualAndForHowLong) {
  const auto why = [&](std::string_view rule) { return over(rule, "over_now_because"); };
  EXPECT_EQ(why("leased"), "not said");
  fleet_.facts.is_whole = false;
  EXPECT_EQ(why("leased"), "a node is silent or without Redis, and may count alone");
  fleet_.facts.apart = std::chrono::milliseconds(64'001);
  EXPECT_EQ(why("leased"), "nodes counted alone until lately, which matters for 1m5s more");
  EXPECT_EQ(why("local"), "not said");
}

TEST_F(HttpOverNow, IsNotOfKeysThatTheRuleSpares) {
  Rule spares = rule("spares", Mode::kLeased);
  spares.enforced_percent = 0;
  TestDoor door({.rules = {spares}, .access = {}});
  const std::string said = door.ask(get("/v1/explain?rule=spares&key=a")).body;
  EXPECT_NE(said.find(R"("enforce_percent":0)"), std::string::npos) << said;
  EXPECT_EQ(said.find("promise"), std::string::npos) << said;
}

TEST_F(HttpOverNow, SaysWhatHoldsOfPreciseKeys) {
  const auto precise = [&](std::string_view rule) {
    const auto said =
        json::parse(door_.ask(get("/v1/explain?rule=" + std::string(rule) + "&key=a")).body);
    const auto& promise = said.at_pointer("/applies/0/promise").as_object();
    return promise.contains("precise") ? promise.at("precise") : json::value();
  };
  EXPECT_EQ(precise("local"), nullptr) << "no key is precise";
  door_.engine.may_be_precise = [](const Quota&) { return true; };
  EXPECT_EQ(json::serialize(precise("local")),
            R"({"over_max":250,"under_max":250,"within_seconds":2.34375E-1})");
  EXPECT_EQ(precise("leased"), nullptr) << "copies say what they do";
}

// This node may see first that Redis is away. The units that it has left do not lower the bound.
TEST_F(HttpOverNow, IsSaidByANodeThatDecidesAlone) {
  TestDoor door({.rules = {rule("strict", Mode::kStrict)}, .access = {}});
  TestFleet::NothingAtHand gone;
  TestFleet fleet(gone);
  fleet.nodes = 3;
  door.engine.join(fleet, [] {});
  const auto said = json::parse(door.ask(get("/v1/explain?rule=strict&key=a")).body);
  const json::object& strict = said.at_pointer("/applies/0").as_object();
  EXPECT_EQ(strict.at("on_store_failure"), "local");
  EXPECT_EQ(strict.at("over_now_max"), 2 * 2'000);
  EXPECT_FALSE(strict.contains("promise")) << "that is while Redis answers";
}

}  // namespace
}  // namespace weir
