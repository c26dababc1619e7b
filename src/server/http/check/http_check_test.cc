#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Rule rule(std::string id, const QuotaSpec& spec, bool enabled = true) {
  return {.id = std::move(id), .quota = *Quota::make(spec), .enabled = enabled};
}

TestDoor::Options with_rules() {
  return {
      .rules = {rule("login", {.algorithm = Algorithm::kFixedWindow, .limit = 1, .window = 1min}),
                rule("off", {.limit = 7, .window = 1500ms}, false)},
      .access = {}};
}

std::string answer(TestDoor& door, std::string_view path, std::string_view body) {
  return door.ask(post(path, body)).body;
}

TEST(HttpCheck, ToTheLetter) {
  TestDoor door;
  EXPECT_EQ(door.converse(post("/check", R"({"key":"user_123","limit":100,"window":60})")),
            "HTTP/1.1 200 OK\r\n"
            "Date: Sun, 06 Nov 1994 08:51:17 GMT\r\n"
            "Content-Type: application/json\r\n"
            "Content-Length: 140\r\n"
            "X-Process-Time: 0.000000\r\n"
            "X-RateLimit-Limit: 100\r\n"
            "X-RateLimit-Remaining: 99\r\n"
            "X-RateLimit-Reset: 60\r\n"
            "RateLimit: \"default\";r=99;t=60\r\n"
            "RateLimit-Policy: \"default\";q=100;w=60\r\n"
            "\r\n"
            R"({"key":"user_123","allowed":true,"remaining":99,"algorithm":"sliding_window",)"
            R"("retry_after":0,"backoff_level":0,"limit":100,"reset_after":60})");
}

TEST(HttpCheck, TheDateIsTheWallClocksAndCountersAreNot) {
  TestDoor door;
  const std::string body = post("/check", R"({"key":"a","limit":9,"window":60})");
  const TestReply before = door.ask(body);
  EXPECT_EQ(before.fields.at("date"), "Sun, 06 Nov 1994 08:51:17 GMT");
  door.engine.set_wall_lead(1h);
  const TestReply after = door.ask(body);
  EXPECT_EQ(after.fields.at("date"), "Sun, 06 Nov 1994 09:51:17 GMT");
  EXPECT_EQ(after.fields.at("x-ratelimit-remaining"), "7");
  door.engine.set_wall_lead(-1h);
  EXPECT_EQ(door.ask(body).fields.at("date"), "Sun, 06 Nov 1994 07:51:17 GMT");
}

TEST(HttpCheck, DeniesWithStatus200) {
  TestDoor door;
  const std::string body = R"({"key":"a","limit":1,"window":0.25,"algorithm":"fixed_window"})";
  door.ask(post("/check", body));
  TestReply reply = door.ask(post("/check", body));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"key":"a","allowed":false,"remaining":0,"algorithm":"fixed_window",)"
                        R"("retry_after":0.25,"backoff_level":0,"limit":1,"reset_after":0.25})");
  EXPECT_EQ(reply.fields["retry-after"], "1");
  EXPECT_EQ(reply.fields["x-ratelimit-remaining"], "0");
  EXPECT_EQ(reply.fields["ratelimit"], "\"default\";r=0;t=1");
  EXPECT_EQ(reply.fields["ratelimit-policy"], "\"default\";q=1");
}

TEST(HttpCheck, NeverHasNoRetry) {
  TestDoor door;
  TestReply reply = door.ask(post("/check", R"({"key":"a","limit":1,"window":60,"cost":2})"));
  EXPECT_NE(reply.body.find(R"("allowed":false,)"), std::string::npos);
  EXPECT_NE(reply.body.find(R"("retry_after":null,)"), std::string::npos);
  EXPECT_EQ(reply.fields.count("retry-after"), 0u);
}

TEST(HttpCheck, KeysComeBackAsTheyWere) {
  TestDoor door;
  const auto key = [&](std::string_view json) {
    const std::string body =
        answer(door, "/check", "{\"key\":" + std::string(json) + " ,\"limit\":9,\"window\":60}");
    return body.substr(7, body.find(",\"allowed\"") - 7);
  };
  for (const std::string_view json :
       {R"("a")", R"("\u0000")", R"("\"\\\/")", "\"\xC3\xA9\"", R"("\ud83d\ude00")"}) {
    EXPECT_EQ(key(json), json);
  }
  // The same key, however it is written.
  EXPECT_NE(
      answer(door, "/check", R"({"key":"\u0061","limit":9,"window":60})").find(R"("remaining":7)"),
      std::string::npos);
  EXPECT_EQ(key("\"" + std::string(4096, 'k') + "\"").size(), 4098u);
}

TEST(HttpCheck, BucketsAlgorithmsAndWindowsAreApart) {
  TestDoor door;
  const auto remaining = [&](std::string_view fields) {
    const std::string body =
        answer(door, "/check", "{\"key\":\"a\",\"limit\":9" + std::string(fields) + "}");
    return body[body.find("\"remaining\":") + 12];
  };
  EXPECT_EQ(remaining(R"(,"window":60)"), '8');
  EXPECT_EQ(remaining(R"(,"window":60)"), '7');
  EXPECT_EQ(remaining(R"(,"window":60,"bucket":"b")"), '8');
  EXPECT_EQ(remaining(R"(,"window":60,"algorithm":"fixed_window")"), '8');
  EXPECT_EQ(remaining(R"(,"window":61)"), '8');
  EXPECT_EQ(remaining(R"(,"window":60,"cost":3)"), '4');
  EXPECT_EQ(remaining(R"(,"window":60,"cost":-2)"), '6');
  EXPECT_EQ(remaining(R"(,"window":60,"cost":0)"), '6');
}

TEST(HttpCheck, TokenBucketsHaveABurst) {
  TestDoor door;
  TestReply reply = door.ask(post(
      "/check", R"({"key":"a","limit":10,"window":60,"algorithm":"token_bucket","burst":20})"));
  EXPECT_EQ(reply.fields["x-ratelimit-limit"], "20");
  EXPECT_EQ(reply.fields["ratelimit-policy"], "\"default\";q=20;w=120");
  reply = door.ask(post("/check", R"({"key":"a","limit":10,"window":60,"burst":20})"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find(R"("field":"burst")"), std::string::npos) << reply.body;
}

TEST(HttpCheck, RulesBringTheQuota) {
  TestDoor door(with_rules());
  TestReply reply = door.ask(post("/check", R"({"key":"a","rule":"login"})"));
  EXPECT_NE(reply.body.find(R"("allowed":true,"remaining":0,"algorithm":"fixed_window")"),
            std::string::npos);
  EXPECT_EQ(reply.fields["ratelimit-policy"], "\"login\";q=1;w=60");
  reply = door.ask(post("/check", R"({"key":"a","rule":"login"})"));
  EXPECT_NE(reply.body.find(R"("allowed":false)"), std::string::npos);
  EXPECT_EQ(reply.fields["ratelimit"], "\"login\";r=0;t=60");
}

TEST(HttpCheck, ARuleOfSeveralLimitsTellsThemAll) {
  Rule api = rule("api", {.limit = 2, .window = 1min});
  api.limits = {api.quota, *Quota::make({.limit = 9, .window = 24h})};
  TestDoor door({.rules = {api}, .access = {}});
  const TestReply reply = door.ask(post("/check", R"({"key":"a","rule":"api"})"));
  EXPECT_EQ(reply.fields.at("x-ratelimit-limit"), "2");
  EXPECT_EQ(reply.fields.at("ratelimit"), R"("api";r=1;t=60, "api/2";r=8;t=86400)");
  EXPECT_EQ(reply.fields.at("ratelimit-policy"), R"("api";q=2;w=60, "api/2";q=9;w=86400)");
}

TEST(HttpCheck, TheSettingsSayWhichFieldsAreSent) {
  TestDoor door({.rules = {},
                 .access = {},
                 .headers = {.fields = RateLimitStyle::Fields::kDraft7,
                             .x_limit = false,
                             .x_remaining = false,
                             .reset = RateLimitStyle::Reset::kEpoch}});
  const std::string text = door.converse(post("/check", R"({"key":"a","limit":9,"window":60})"));
  const auto start = text.find("X-RateLimit");
  EXPECT_EQ(text.substr(start, text.find("\r\n\r\n") - start),
            "X-RateLimit-Reset: 784111937\r\n"
            "RateLimit: limit=9, remaining=8, reset=60\r\n"
            "RateLimit-Policy: 9;w=60");
}

TEST(HttpCheck, UnknownRulesAreNotFound) {
  TestDoor door(with_rules());
  TestReply reply = door.ask(post("/check", R"({"key":"a","rule":"logn"})"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.fields["content-type"], "application/problem+json");
  EXPECT_EQ(reply.body,
            R"({"type":"urn:weir:problem:unknown-rule","title":"There is no such rule",)"
            R"("status":404,"detail":"There is no rule with this id; did you mean 'login'?",)"
            R"("field":"rule","expected":"login"})");
  EXPECT_EQ(TestDoor().ask(post("/check", R"({"key":"a","rule":"x"})")).status, 404);
}

// A misspelt tier had the rule's own limits.
TEST(HttpCheck, UnknownTiersAreRefused) {
  const Quota one = *Quota::make({.limit = 1, .window = std::chrono::minutes(1)});
  const Quota ten = *Quota::make({.limit = 10, .window = std::chrono::minutes(1)});
  Rule api{.id = "api", .quota = one, .tiers = {{"premium", {ten}}, {"basic", {one}}}};
  TestDoor door({.rules = {api, {.id = "plain", .quota = one}}, .access = {}});
  const auto ask = [&](const char* path, std::string_view rule, std::string_view tier) {
    return door.ask(post(path, R"({"key":"a","rule":")" + std::string(rule) + R"(","tier":")" +
                                   std::string(tier) + "\"}"));
  };
  EXPECT_EQ(ask("/check", "api", "premium").status, 200);
  for (const char* path : {"/check", "/v1/check", "/v1/look", "/v1/reset", "/v1/explain"}) {
    const TestReply none = ask(path, "api", "");
    EXPECT_EQ(none.status, 400) << path;
    EXPECT_NE(none.body.find("expected one of basic, premium, or no 'tier' for the rule's own"),
              std::string::npos)
        << path << none.body;
    const TestReply reply = ask(path, "api", "premum");
    EXPECT_EQ(reply.status, 400) << path;
    EXPECT_NE(
        reply.body.find(R"("detail":"tier: the rule has no such tier; did you mean 'premium'?",)"
                        R"("field":"tier","expected":"premium")"),
        std::string::npos)
        << path << reply.body;
  }
  EXPECT_NE(ask("/check", "api", "gold").body.find("expected one of basic, premium"),
            std::string::npos);
  for (const char* tier : {"gold", ""}) {
    EXPECT_NE(ask("/check", "plain", tier).body.find("the rule has no tiers"), std::string::npos);
  }
  EXPECT_EQ(door.ask(get("/v1/explain?rule=api&key=a&tier=")).status, 400);
}

TEST(HttpCheck, DisabledRulesAllowAndCountNothing) {
  TestDoor door(with_rules());
  for (int i = 0; i < 20; ++i) {
    TestReply reply = door.ask(post("/check", R"({"key":"a","rule":"off"})"));
    EXPECT_EQ(reply.body, R"({"key":"a","allowed":true,"remaining":7,"algorithm":"sliding_window",)"
                          R"("retry_after":0,"backoff_level":0,"limit":7,"reset_after":0})");
  }
  EXPECT_EQ(door.store.batches, 0);
  EXPECT_EQ(door.traffic.summary(door.now).total_allowed(), 0u);
  // Between others, none takes another's decision.
  const std::string off = post("/check", R"({"key":"a","rule":"off"})");
  const std::string on = post("/check", R"({"key":"b","limit":1,"window":60})");
  const std::string output = door.converse(off + on + off + on);
  std::string_view rest = output;
  for (const std::string_view expected : {"7,", "0,", "7,", "0,"}) {
    const std::string body = take_reply(rest).body;
    EXPECT_EQ(body.substr(body.find("\"remaining\":") + 12, 2), expected);
  }
}

TEST(HttpCheck, WhatCannotBeEnforcedNamesItsField) {
  TestDoor door;
  for (const std::string_view window : {"0", "1e-9", "\"0s\"", "400000000", "\"367d\""}) {
    const TestReply reply =
        door.ask(post("/check", R"({"key":"a","limit":1,"window":)" + std::string(window) + "}"));
    EXPECT_EQ(reply.status, 400) << window;
    EXPECT_NE(reply.body.find(R"("field":"window")"), std::string::npos) << reply.body;
  }
}

TEST(HttpCheck, ListsAreAnsweredInOrder) {
  TestDoor door(with_rules());
  EXPECT_EQ(answer(door, "/v1/check",
                   R"({"checks":[{"key":"a","limit":1,"window":60},{"key":"a","rule":"off"},)"
                   R"({"key":"a","limit":1,"window":60}]})"),
            R"({"results":[{"key":"a","allowed":true,"remaining":0,"algorithm":"sliding_window",)"
            R"("retry_after":0,"backoff_level":0,"limit":1,"reset_after":60},)"
            R"({"key":"a","allowed":true,"remaining":7,"algorithm":"sliding_window",)"
            R"("retry_after":0,"backoff_level":0,"limit":7,"reset_after":0},)"
            R"({"key":"a","allowed":false,"remaining":0,"algorithm":"sliding_window",)"
            R"("retry_after":60,"backoff_level":0,"limit":1,"reset_after":60}]})");
}

TEST(HttpCheck, ListsMayBeLong) {
  TestDoor door;
  std::string body = R"({"checks":[)";
  for (int i = 0; i < 256; ++i) {
    body += (i > 0 ? ",{" : "{") + std::string(R"("key":"k)") + std::to_string(i) + "\\u0000" +
            std::string(3'000, 'x') + R"(","limit":1,"window":60})";
  }
  const TestReply reply = door.ask(post("/v1/check", body + "]}"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(door.store.batches, 16);
  EXPECT_EQ(door.traffic.summary(door.now).total_allowed(), 256u);
  std::size_t at = 0;
  for (int i = 0; i < 256; ++i) {
    at = reply.body.find("\"key\":\"k" + std::to_string(i) + "\\u0000xxx", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(HttpCheck, AtomicListsAreAllOrNothing) {
  TestDoor door;
  const std::string both = R"({"checks":[{"key":"a","limit":5,"window":60},)"
                           R"({"key":"b","limit":1,"window":60}],"atomic":true})";
  EXPECT_TRUE(answer(door, "/v1/check", both).starts_with(R"({"allowed":true,"results":[{)"));
  const std::string denied = answer(door, "/v1/check", both);
  EXPECT_TRUE(denied.starts_with(R"({"allowed":false,"results":[{"key":"a","allowed":true,)"));
  // a was charged once.
  EXPECT_NE(
      answer(door, "/v1/look", R"({"key":"a","limit":5,"window":60})").find(R"("remaining":4)"),
      std::string::npos);
}

TEST(HttpCheck, OneBadCheckRefusesTheList) {
  TestDoor door(with_rules());
  const std::string start = R"({"checks":[{"key":"a","limit":5,"window":60},)";
  TestReply reply = door.ask(post("/v1/check", start + R"({"key":"b","limit":1,"window":0}]})"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find(R"("field":"checks[1].window")"), std::string::npos) << reply.body;
  EXPECT_NE(reply.body.find(R"("detail":"checks[1].window: expected )"), std::string::npos);
  reply = door.ask(post("/v1/check", start + R"({"key":"b","rule":"x"}]})"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_NE(reply.body.find(R"("field":"checks[1].rule")"), std::string::npos) << reply.body;
  EXPECT_EQ(door.store.batches, 0);
}

TEST(HttpCheck, TheVersionedPathTakesASingleCheck) {
  TestDoor door;
  TestReply reply = door.ask(post("/v1/check", R"({"key":"a","limit":5,"window":60})"));
  EXPECT_TRUE(reply.body.starts_with(R"({"key":"a","allowed":true,"remaining":4,)"));
  EXPECT_EQ(reply.fields["x-ratelimit-remaining"], "4");
}

TEST(HttpCheck, LookingSpendsNothing) {
  TestDoor door;
  const std::string body = R"({"key":"a","limit":5,"window":60})";
  door.ask(post("/check", body));
  for (int i = 0; i < 10; ++i) {
    TestReply reply = door.ask(post("/v1/look", body));
    EXPECT_EQ(reply.fields["x-ratelimit-remaining"], "4");
  }
  EXPECT_EQ(door.traffic.summary(door.now).looks, 10u);
  EXPECT_EQ(door.traffic.summary(door.now).total_allowed(), 1u);
}

TEST(HttpCheck, ResettingForgets) {
  TestDoor door;
  const std::string body = R"({"key":"a","limit":1,"window":60})";
  door.ask(post("/check", body));
  EXPECT_EQ(door.ask(post("/v1/reset", body)).fields["x-ratelimit-remaining"], "1");
  EXPECT_NE(answer(door, "/check", body).find(R"("allowed":true)"), std::string::npos);
}

TEST(HttpCheck, AnOutageIsNotADenial) {
  TestDoor door;
  door.store.broken = true;
  const std::string single = R"({"key":"a","limit":1,"window":60})";
  const std::string expected =
      R"({"type":"urn:weir:problem:store-unavailable","title":"The store is unavailable",)"
      R"("status":503,"detail":"The store did not answer. Nothing was decided."})";
  for (const std::string_view path : {"/check", "/v1/check", "/v1/look", "/v1/reset"}) {
    const TestReply reply = door.ask(post(path, single));
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.body, expected);
  }
  EXPECT_EQ(door.ask(post("/v1/check", "{\"checks\":[" + single + "]}")).status, 503);
  EXPECT_EQ(door.traffic.summary(door.now).store_errors, 5u);
  EXPECT_EQ(door.traffic.summary(door.now).total_denied(), 0u);
  door.store.broken = false;
  EXPECT_EQ(door.ask(post("/check", single)).status, 200);
}

// One batch charges first what counts always: the check was denied by the charge behind it.
TEST(HttpCheck, APipelinedChargeIsChargedAfterTheCheckBeforeIt) {
  TestDoor door(with_rules());
  const std::string key = R"({"key":"a","limit":10,"window":86400,"cost":)";
  const std::string replies =
      door.converse(post("/check", key + "1}") + post("/check", key + R"(20,"charge":"always"})"));
  EXPECT_LT(replies.find(R"("allowed":true)"), replies.find(R"("allowed":false)"));
  EXPECT_NE(replies.find(R"("remaining":9)"), std::string::npos) << replies;
}

TEST(HttpCheck, WhatDoesNotFitTakesWhatIsLeftIfItSaysSo) {
  TestDoor door(with_rules());
  const std::string start = R"({"key":"a","limit":10,"window":60,"cost":7,"charge":)";
  EXPECT_NE(answer(door, "/check", start + "\"drain\"}").find(R"("remaining":3)"),
            std::string::npos);
  const std::string denied = answer(door, "/check", start + "\"drain\"}");
  EXPECT_NE(denied.find(R"("allowed":false,"remaining":0)"), std::string::npos) << denied;
  const std::string reset = answer(door, "/check", start + "\"reset\"}");
  EXPECT_NE(reset.find(R"("allowed":true,"remaining":10)"), std::string::npos) << reset;
}

TEST(HttpCheck, AResetInPlaceOfAChargeIsForAdmins) {
  TestDoor door({.rules = with_rules().rules,
                 .access = {.exposure = Exposure::kNetwork, .admin_token = "secret"}});
  const std::string check = R"({"key":"a","rule":"login","charge":"reset"})";
  EXPECT_EQ(door.ask(post("/check", check)).status, 401);
  EXPECT_EQ(door.ask(post("/v1/check", check)).status, 401);
  EXPECT_EQ(door.ask(post("/check", check, "Authorization: Bearer secret\r\n")).status, 200);
  const TestReply listed = door.ask(post("/v1/check", R"({"checks":[)" + check + "]}"));
  EXPECT_EQ(listed.status, 400);
  EXPECT_NE(listed.body.find("checks[0].charge"), std::string::npos) << listed.body;
}

TEST(HttpCheck, NothingIgnoresAChargeThatIsToCountAlways) {
  TestDoor door(with_rules());
  for (const std::string_view path : {"/v1/look", "/v1/reset"}) {
    const TestReply reply = door.ask(post(path, R"({"key":"a","rule":"login","charge":"always"})"));
    EXPECT_EQ(reply.status, 400) << path;
    EXPECT_NE(reply.body.find("charge"), std::string::npos);
  }
  EXPECT_EQ(door.ask(post("/check", R"({"key":"a","rule":"login","charge":"never"})")).status, 400);
}

}  // namespace
}  // namespace weir
