// Checks and forward-auth beyond tests/scenarios: clocks, batches, outages.

#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// One login a minute for each client.
Rule login() {
  Rule rule{.id = "login",
            .quota = *Quota::make({.limit = 1, .window = 1min}),
            .match = RequestMatch(),
            .key_parts = {{.property = KeyPart::Property::kClient}}};
  rule.match->paths.emplace_back("/login");
  return rule;
}

const std::string kLoginAtAProxy = get("/auth",
                                       "X-Forwarded-Method: POST\r\nX-Forwarded-Uri: /login\r\n"
                                       "X-Forwarded-For: 192.0.2.1\r\n");

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

TEST(HttpCheck, AnExplanationTakesHoursFromTheWallClock) {
  Rule rule = login();
  rule.active = Schedule::make({.from = 8h, .to = 9h});
  TestDoor door({.rules = {rule}, .access = {}});
  door.engine.set_wall_lead(1h);  // from 8:51 on
  const std::string explained = door.ask(post("/v1/explain", R"({"path":"/login"})")).body;
  EXPECT_NE(explained.find(R"("because":"active")"), std::string::npos) << explained;
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

TEST(HttpCheck, AnOutageIsNotADenial) {
  TestDoor door;
  door.store.broken = true;
  const std::string single = R"({"key":"a","limit":1,"window":60})";
  const std::string expected =
      R"({"type":"urn:weir:problem:store-unavailable","title":"The store is unavailable",)"
      R"("status":503,"detail":"The store did not answer in time, so nobody knows what it did."})";
  for (const std::string_view path : {"/check", "/v1/check", "/v1/look", "/v1/reset"}) {
    const TestReply reply = door.ask(post(path, single));
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.body, expected);
    EXPECT_EQ(reply.fields.at("retry-after"), "1");
  }
  EXPECT_EQ(door.ask(post("/v1/check", "{\"checks\":[" + single + "]}")).status, 503);
  door.use_rules(std::make_shared<const RuleSet>(std::vector{login()}));
  EXPECT_EQ(door.ask(kLoginAtAProxy).status, 503);
  EXPECT_EQ(door.traffic.summary(door.now).store_errors, 6u);
  EXPECT_EQ(door.traffic.summary(door.now).total_denied(), 0u);
  door.store.broken = false;
  EXPECT_EQ(door.ask(post("/check", single)).status, 200);
}

// Once a batch first charged what always counts: the charge behind a check made it denied.
TEST(HttpCheck, APipelinedChargeIsChargedAfterTheCheckBeforeIt) {
  TestDoor door;
  const std::string key = R"({"key":"a","limit":10,"window":86400,"cost":)";
  const std::string replies =
      door.converse(post("/check", key + "1}") + post("/check", key + R"(20,"charge":"always"})"));
  EXPECT_LT(replies.find(R"("allowed":true)"), replies.find(R"("allowed":false)"));
  EXPECT_NE(replies.find(R"("remaining":9)"), std::string::npos) << replies;
}

}  // namespace
}  // namespace weir
