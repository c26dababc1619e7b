#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using Kind = RuleChange::Kind;
using Keep = RuleChange::Keep;

constexpr std::string_view kPath = "/admin/rules/login";

TEST(HttpRules, AreShownWithTheirVersion) {
  TestDoor door;
  TestReply all = door.ask(get("/admin/rules"));
  EXPECT_EQ(all.fields["etag"], "\"7\"");
  EXPECT_EQ(all.body, R"({"version":7,"rules":[{"id":"login","origin":"file",)"
                      R"("rule":{"id":"login"}}],"removed":["old"]})");
  TestReply one = door.ask(get(kPath));
  EXPECT_EQ(one.fields["etag"], "\"7\"");
  EXPECT_EQ(one.body, R"({"id":"login","origin":"file","rule":{"id":"login"},"version":7})");
  EXPECT_EQ(door.ask(get("/admin/rules/log%69n")).status, 200);
  EXPECT_EQ(door.ask(get("/admin/rules/none")).status, 404);
  EXPECT_EQ(door.ask(get("/admin/rules/")).status, 404);
  EXPECT_EQ(door.ask(get("/admin/rules/login/x")).status, 404);
}

TEST(HttpRules, SayOfEachLimitHowFarItMayBeOff) {
  const auto per_minute = [](std::int64_t limit) {
    return *Quota::make({.limit = limit, .window = std::chrono::minutes(1)});
  };
  TestDoor door({.rules = {{.id = "login",
                            .quota = per_minute(5),
                            .limits = {per_minute(5), per_minute(30)},
                            .tiers = {{"gold", {per_minute(50)}}}}}});
  EXPECT_NE(door.ask(get(kPath))
                .body.find("`gold`: 50 per 1m, off by 4, 29, 49 above or 5, 30, 50 below at worst"),
            std::string::npos);
}

TEST(HttpRules, SayWhereNoNumberBoundsThem) {
  const Rule login{.id = "login",
                   .quota = *Quota::make({.limit = 5, .window = std::chrono::minutes(1)})};
  const auto limits_of = [&](auto change, bool (*may_be_precise)(const Quota&) = nullptr) {
    Rule rule = login;
    change(rule);
    TestDoor door({.rules = {rule}});
    door.engine.may_be_precise = may_be_precise;
    const std::string body = door.ask(get(kPath)).body;
    const auto begin = body.find(R"("limits":")") + 10;
    return body.substr(begin, body.find('"', begin) - begin);
  };
  EXPECT_EQ(limits_of([](Rule& rule) { rule.shadow = true; }),
            "5 per 1m, without a bound: it is in shadow");
  EXPECT_EQ(limits_of([](Rule& rule) { rule.overdraft = Rule::Overdraft::kAll; }),
            "5 per 1m, without a bound: costs count whether or not they fit");
  EXPECT_EQ(
      limits_of([](Rule& rule) { rule.enforced_percent = 10; }),
      "5 per 1m, off by 4 above or 5 below at worst, for 10 % of the keys; the others are not "
      "denied");
  EXPECT_EQ(limits_of([](Rule&) {}, [](const Quota&) { return true; }),
            "5 per 1m, off by 4 (precise keys 1, give or take 235ms) above or 5 below at worst");
}

TEST(HttpRules, SayHowMuchIsMisjudged) {
  const Quota quota = *Quota::make({.limit = 5, .window = std::chrono::minutes(1)});
  TestDoor door({.rules = {{.id = "login", .quota = quota}}});
  // Its spell begins a minute ago.
  const KeyHash key{
      .high = 0 - static_cast<std::uint64_t>(epoch_us(door.now - std::chrono::minutes(1)))};
  const Charge charge{.key = key, .quota = &quota, .cost = 1};
  const RuleNumber rule = door.rules->find("login")->number;
  door.engine.error_bar = &door.error_bar;
  for (const auto ago : {std::chrono::minutes(1), std::chrono::minutes(0)}) {
    EXPECT_EQ(door.ask(get(kPath)).body.find("misjudged"), std::string::npos);
    door.error_bar.judge({rule, charge, false, false}, door.now - ago);
  }
  EXPECT_NE(door.ask(get(kPath)).body.find(R"("misjudged":{"judged":1,"denied_early":1,)"),
            std::string::npos);
}

TEST(HttpRules, AreSaidInWordsAndWhereTheyHold) {
  TestDoor door(
      {.rules = {{.id = "login",
                  .quota = *Quota::make({.limit = 5, .window = std::chrono::minutes(1)})}}});
  door.desk.holds = {.version = 3, .nodes = {{.name = "a"}, {.name = "b", .why_not = "no"}}};
  EXPECT_EQ(
      door.ask(get(kPath)).body,
      R"({"id":"login","origin":"file","rule":{"id":"login"},"version":7,"in_force":true,"words":)"
      R"({"requests":"checks that name the rule","key":"the key that they name",)"
      R"("limits":"5 per 1m, off by 4 above or 5 below at worst","denial":""},)"
      R"("fleet":{"version":3,"told":true,"runs":1,"nodes":)"
      R"([{"node":"a","runs":true,"why_not":null},)"
      R"({"node":"b","runs":false,"why_not":"no"}]}})");
}

TEST(HttpRules, AreChangedByMethod) {
  TestDoor door;
  door.desk.outcome.warnings = {"one", "two"};
  TestReply reply = door.ask(request("PUT", kPath, "{\"x\":1}"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.fields["etag"], "\"8\"");
  EXPECT_EQ(reply.body, R"({"id":"login","version":8,"persisted":false,"warnings":["one","two"]})");
  EXPECT_EQ(door.desk.last.kind, Kind::kPut);
  EXPECT_EQ(door.desk.last.id, "login");
  EXPECT_EQ(door.desk.last.text, "{\"x\":1}");
  EXPECT_EQ(door.desk.last.keep, Keep::kUntilReload);
  EXPECT_EQ(door.desk.last.if_version, std::nullopt);
  door.desk.outcome.warnings = {};
  EXPECT_EQ(door.ask(request("PATCH", kPath, R"({"enabled":true})")).body,
            R"({"id":"login","version":8,"persisted":false,"warnings":[]})");
  EXPECT_EQ(door.desk.last.kind, Kind::kPatch);
  EXPECT_EQ(door.desk.last.text, R"({"enabled":true})");
  reply =
      door.ask(request("DELETE", std::string(kPath) + "?persist=true", "", "If-Match: \"12\"\r\n"));
  EXPECT_EQ(reply.body, R"({"id":"login","version":8,"persisted":true})");
  EXPECT_EQ(door.desk.last.kind, Kind::kRemove);
  EXPECT_EQ(door.desk.last.keep, Keep::kInFile);
  EXPECT_EQ(door.desk.last.if_version, 12u);
}

// Once a change of such a rule was answered with about:blank.
TEST(HttpRules, ThatDoNotExistAreUnknownByEveryMethod) {
  TestDoor door;
  door.desk.outcome = {
      .outcome = ChangeOutcome::kUnknown, .detail = "There is no rule of this id.", .version = 7};
  TestReply none = door.ask(get("/admin/rules/logni"));
  EXPECT_EQ(none.fields["etag"], "\"7\"");
  const std::string shown = none.body;
  EXPECT_NE(shown.find("urn:weir:problem:unknown-rule"), std::string::npos) << shown;
  for (const std::string_view method : {"PATCH", "DELETE"}) {
    TestReply reply = door.ask(request(method, "/admin/rules/logni", R"({"limit":2})"));
    EXPECT_EQ(reply.status, 404) << method;
    EXPECT_EQ(reply.body, shown) << method;
    EXPECT_EQ(reply.fields["etag"], "\"7\"") << method;
  }
  door.desk.outcome.detail = "This version is not in the history.";
  const TestReply back = door.ask(post("/admin/history", R"({"back_to":2})"));
  EXPECT_NE(back.body.find("about:blank"), std::string::npos) << back.body;
}

TEST(HttpRules, AreJudgedBeforeTheyAreChanged) {
  TestDoor door;
  door.desk.verdict = {.findings = {{.line = 3, .column = 7, .text = "no"},
                                    {.text = "hm", .weight = RuleFinding::Weight::kWarning}},
                       .changes = {"changed login: key"},
                       .json = R"({"id":"login"})"};
  EXPECT_EQ(door.ask(post("/admin/rules/validate?id=log%20in", "id: x")).body,
            R"({"ok":false,"problems":[{"line":3,"column":7,"text":"no","warning":false},)"
            R"({"line":1,"column":1,"text":"hm","warning":true}],)"
            R"("changes":["changed login: key"],"json":{"id":"login"}})");
  EXPECT_EQ(door.desk.last_trial.id, "log in");
  EXPECT_EQ(door.desk.last_trial.text, "id: x");
  door.desk.verdict = {};
  EXPECT_EQ(door.ask(post("/admin/rules/validate", "")).body,
            R"({"ok":true,"problems":[],"changes":[],"json":null})");
  door.desk.verdict = {.outcome = ChangeOutcome::kNotNow,
                       .detail = "Too many changes wait for their turn."};
  EXPECT_EQ(door.ask(post("/admin/rules/validate", "")).status, 503);
  EXPECT_EQ(door.ask(get("/admin/rules/validate")).status, 404) << "a rule may have this id";
}

TEST(HttpRules, ADryRunIsOfOneSecondToOneDay) {
  TestDoor door;
  door.desk.verdict.dry_runs = {{.rule = "login", .unknown = "Nobody knows."}};
  for (const char* over : {"", "0s", "999ms", "25h", "-5m", "x"}) {
    const auto path = std::string("/admin/rules/validate?dry_run=") + over;
    const TestReply reply = door.ask(post(path.c_str(), ""));
    EXPECT_EQ(reply.status, 400) << over;
    EXPECT_NE(reply.body.find("a duration from 1s to 1d"), std::string::npos) << reply.body;
  }
  EXPECT_EQ(door.ask(post("/admin/rules/validate?dry_run=90s", "")).body,
            R"({"ok":true,"problems":[],"changes":[],"json":null,)"
            R"("dry_runs":[{"rule":"login","unknown":"Nobody knows."}]})");
  EXPECT_EQ(door.desk.last_trial.over, std::chrono::seconds(90));
}

TEST(HttpRules, AVersionOfTheHistoryHasItsRules) {
  TestDoor door;
  EXPECT_EQ(door.ask(get("/admin/history/6")).body,
            R"({"version":6,"at":"1970-01-01T00:00:00Z","seconds_ago":784111877,)"
            R"("origin":"file","changes":[],)"
            R"("rules":[{"id":"old","rule":{"id":"old"}}]})");
  for (const std::string_view none : {"5", "x", "-1", "7x"}) {
    EXPECT_EQ(door.ask(get("/admin/history/" + std::string(none))).status, 404) << none;
  }
}

TEST(HttpRules, RefuseWhatMakesNoSense) {
  TestDoor door;
  EXPECT_EQ(door.ask(request("PUT", std::string(kPath).append("?persist=yes"), "{}")).status, 400);
  for (const std::string_view field : {"", "7", "\"x\"", "\"\"", "\"", "W/\"7\"", "\"-1\""}) {
    EXPECT_EQ(
        door.ask(request("PUT", kPath, "{}", "If-Match: " + std::string(field) + "\r\n")).status,
        412)
        << field;
  }
  EXPECT_EQ(door.desk.last.id, "");
  door.desk.outcome = {.outcome = ChangeOutcome::kConflict, .detail = "no \xff", .version = 9};
  TestReply reply = door.ask(request("PUT", kPath, "{}", "If-Match: *\r\n"));
  EXPECT_EQ(reply.status, 409);
  EXPECT_NE(reply.body.find("\"detail\":\"no ?\""), std::string::npos) << reply.body;
}

TEST(HttpRules, AreMeantForAnyOfSeveralVersions) {
  TestDoor door;
  const auto put_if = [&](std::string_view field, std::string_view path = kPath) {
    door.desk.last = {};
    return door.ask(request("PUT", path, "{}", "If-Match: " + std::string(field) + "\r\n")).status;
  };
  EXPECT_EQ(put_if("\"6\", \"7\", \"5\""), 200);
  EXPECT_EQ(door.desk.last.if_version, 7u);
  EXPECT_EQ(put_if("\"6\", \"8\""), 200);
  EXPECT_EQ(door.desk.last.if_version, 8u) << "the desk says that it is not";
  EXPECT_EQ(put_if("*"), 200);
  EXPECT_EQ(door.desk.last.if_version, std::nullopt);
  EXPECT_EQ(put_if("*", "/admin/rules/logni"), 412);
  EXPECT_EQ(put_if("\"x\""), 412);
  EXPECT_EQ(door.desk.last.id, "");
}

// Once the field was ignored, and the rule overwritten.
TEST(HttpRules, ARuleThatIsToBeNew) {
  TestDoor door;
  EXPECT_EQ(door.ask(request("PUT", kPath, "{}")).status, 200);
  EXPECT_FALSE(door.desk.last.if_new);
  EXPECT_EQ(door.ask(request("PUT", kPath, "{}", "If-None-Match: *\r\n")).status, 200);
  EXPECT_TRUE(door.desk.last.if_new);
  door.desk.last = {};
  for (const std::string_view field : {"\"7\"", "7", "\"7\", *"}) {
    EXPECT_EQ(door.ask(request("PUT", kPath, "{}", "If-None-Match: " + std::string(field) + "\r\n"))
                  .status,
              412)
        << field;
  }
  EXPECT_EQ(door.desk.last.id, "");
}

TEST(HttpRules, HaveAHistory) {
  TestDoor door;
  EXPECT_EQ(door.ask(get("/admin/history")).body,
            R"({"history":[{"version":7,"at":"1994-11-06T08:51:15Z","seconds_ago":1.5,)"
            R"("origin":"request","who":"192.0.2.1",)"
            R"("by":"carol","why":"bots","changes":["added login: x","removed old"]},)"
            R"({"version":6,"at":"1970-01-01T00:00:00Z","seconds_ago":784111877,)"
            R"("origin":"file","changes":[]}]})");
}

TEST(HttpRules, HaveEachAHistoryOfItsOwn) {
  TestDoor door;
  EXPECT_EQ(door.ask(get("/admin/history?rule=login")).body,
            R"({"history":[{"version":7,"at":"1994-11-06T08:51:15Z","seconds_ago":1.5,)"
            R"("origin":"request","who":"192.0.2.1",)"
            R"("by":"carol","why":"bots","changes":["added login: x"],"rule":{"id":"login"}}]})");
  EXPECT_EQ(door.ask(get("/admin/history?rule=old")).body,
            R"({"history":[{"version":7,"at":"1994-11-06T08:51:15Z","seconds_ago":1.5,)"
            R"("origin":"request","who":"192.0.2.1",)"
            R"("by":"carol","why":"bots","changes":["removed old"],"rule":null},)"
            R"({"version":6,"at":"1970-01-01T00:00:00Z","seconds_ago":784111877,)"
            R"("origin":"file","changes":[],)"
            R"("rule":{"id":"old"}}]})");
  EXPECT_EQ(door.ask(get("/admin/history?rule=none")).body, R"({"history":[]})");
}

TEST(HttpRules, HearWhoChangesThemAndWhy) {
  TestDoor door;
  door.ask(request("PATCH", std::string(kPath) + "?by=carol&why=too%20many%20%22bots%22", "{}"));
  EXPECT_EQ(door.desk.last.author,
            (RuleAuthor{.who = "a Unix socket", .by = "carol", .why = "too many \"bots\""}));
  door.desk.last = {};
  EXPECT_EQ(door.ask(post("/admin/history?by=" + std::string(65, 'x'), R"({"back_to":6})")).status,
            400);
  EXPECT_EQ(
      door.ask(request("DELETE", std::string(kPath) + "?why=" + std::string(257, 'x'), "")).status,
      400);
  EXPECT_EQ(door.desk.last.author, RuleAuthor{});
  door.ask(post("/admin/history?why=back", R"({"back_to":6})"));
  EXPECT_EQ(door.desk.last.author.why, "back");
}

TEST(HttpRules, GoBack) {
  TestDoor door;
  TestReply reply = door.ask(post("/admin/history", R"({"back_to":6})", "If-Match: \"7\"\r\n"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.fields["etag"], "\"8\"");
  EXPECT_EQ(reply.body, R"({"version":8,"back_to":6})");
  EXPECT_EQ(door.desk.last.kind, Kind::kGoBack);
  EXPECT_EQ(door.desk.last.back_to, 6u);
  EXPECT_EQ(door.desk.last.if_version, 7u);
  door.desk.last = {};
  for (const std::string_view body : {"{}", R"({"back_to":0})", R"({"back_to":-1})",
                                      R"({"back_to":"6"})", R"({"back_to":1.5})"}) {
    EXPECT_EQ(door.ask(post("/admin/history", body)).status, 400) << body;
  }
  EXPECT_EQ(door.desk.last.back_to, 0u);
}

}  // namespace
}  // namespace weir
