// A caller's own limits by HTTP.

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Rule keyed(std::string id, std::vector<KeyPart> parts) {
  return {.id = std::move(id),
          .quota = *Quota::make({.limit = 10, .window = 1min}),
          .match = RequestMatch(),
          .key_parts = std::move(parts)};
}

std::vector<Rule> rules_of_all() {
  using enum KeyPart::Property;
  std::vector<Rule> rules = {keyed("address", {{.property = kClient}}),
                             keyed("user", {{.property = kHeader, .name = "x-api-key"}}),
                             keyed("path", {{.property = kClient}, {.property = kPath}}),
                             keyed("all", {}),
                             keyed("trial", {{.property = kClient}}),
                             keyed("off", {{.property = kClient}})};
  rules[0].match->paths.emplace_back("/login");
  rules[0].name = "Logins";
  rules[4].shadow = true;
  rules[5].enabled = false;
  return rules;
}

struct LimitsDoor : TestDoor {
  LimitsDoor() : TestDoor({.rules = rules_of_all(), .access = {}}) {
    peer.address = IpAddress::parse("192.0.2.1");
  }

  std::string limits(std::string_view fields = {}) { return ask(get("/v1/limits", fields)).body; }
  void spend(std::string_view rule, std::string_view key) {
    ask(post("/check", R"({"key":")" + std::string(key) + R"(","rule":")" + std::string(rule) +
                           R"(","cost":3})"));
  }
};

constexpr std::string_view kAddress =
    R"({"rule":"address","name":"Logins","limit":10,"window_seconds":60,)";

TEST(HttpLimits, NameTheCalendarOfAWindow) {
  Rule rule = keyed("month", {{.property = KeyPart::Property::kClient}});
  rule.quota = *Quota::make(
      {.algorithm = Algorithm::kCalendarWindow, .limit = 10, .window = kCalendarUnitLengths[2]});
  TestDoor door({.rules = {rule}, .access = {}});
  door.peer.address = IpAddress::parse("192.0.2.1");
  EXPECT_NE(door.ask(get("/v1/limits"))
                .body.find(R"("limit":10,"window_seconds":2678400,"calendar":"month",)"),
            std::string::npos);
}

TEST(HttpLimits, AreThoseThatCountTheCaller) {
  LimitsDoor door;
  door.spend("address", "192.0.2.1");
  door.spend("address", "192.0.2.2");
  const std::string spent = R"("used":3,"remaining":7,"reset_after":60})";
  EXPECT_EQ(door.limits(), "{\"limits\":[" + std::string(kAddress) + spent + "]}");
  EXPECT_EQ(door.limits(), "{\"limits\":[" + std::string(kAddress) + spent + "]}") << "it is free";
}

TEST(HttpLimits, AHeaderShowsAKey) {
  LimitsDoor door;
  door.spend("user", "k1");
  const std::string said = door.limits("X-Api-Key: k1\r\n");
  EXPECT_NE(said.find(R"({"rule":"user","limit":10,"window_seconds":60,"used":3,)"),
            std::string::npos)
      << said;
  EXPECT_EQ(door.limits("X-Api-Key: k2\r\n").find("\"used\":3"), std::string::npos);
  EXPECT_EQ(door.limits("X-Api-Key: k1\r\nX-Api-Key: k2\r\n").find("\"used\":3"),
            std::string::npos);
}

TEST(HttpLimits, BelieveWhoIsNotTrustedNothing) {
  LimitsDoor door;
  door.spend("address", "192.0.2.2");
  EXPECT_NE(door.limits("X-Forwarded-For: 192.0.2.2\r\n").find("\"used\":0"), std::string::npos);
}

TEST(HttpLimits, SayThatTheCallerIsBlocked) {
  LimitsDoor door;
  door.blocks.add({.rule = "address",
                   .key = "192.0.2.1",
                   .since = door.now,
                   .until = door.now + 5min,
                   .reason = BlockReason::kManual},
                  door.now);
  EXPECT_NE(door.limits().find("\"window_seconds\":60,\"blocked_for\":300}"), std::string::npos)
      << door.limits();
}

}  // namespace
}  // namespace weir
