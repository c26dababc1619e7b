// /admin/events, and what other pages say of unusual traffic.

#include <string>

#include <gtest/gtest.h>

#include "server/http/admin/shared_json.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

constexpr std::string_view kPath = "/admin/events";

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
  EXPECT_EQ(door.ask(get(kPath)).body, R"({"last":0,"events":[]})");
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
    EXPECT_EQ(door.ask(get(std::string(kPath) + wrong)).status, 400) << wrong;
  }
}

TEST(HttpEvents, AreForTheAdmin) {
  const HttpAccess access{.exposure = Exposure::kNetwork, .admin_token = "0123456789abcdef"};
  TestDoor door({.rules = {}, .access = access});
  EXPECT_EQ(door.ask(get(kPath)).status, 401);
  EXPECT_EQ(door.ask(get(kPath, "Authorization: Bearer 0123456789abcdef\r\n")).status, 200);
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

}  // namespace
}  // namespace weir
