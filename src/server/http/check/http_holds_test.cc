// Reservations by HTTP: what bodies may say, and what becomes of a hold.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Rule holding(std::string id, std::int64_t holds_max) {
  return {.id = std::move(id),
          .quota = *Quota::make({.limit = 100, .window = 1min}),
          .allow = {.keys = {"vip"}},
          .holds_max = holds_max};
}

struct HoldsDoor : TestDoor {
  HoldsDoor() : TestDoor({.rules = {holding("tokens", 2), holding("plain", 0)}, .access = {}}) {}

  TestReply reserve(std::string_view rest) {
    return ask(post("/v1/reserve", R"({"key":"a","rule":"tokens",)" + std::string(rest) + "}"));
  }
  TestReply commit(const std::string& token, std::string_view rest) {
    return ask(post("/v1/commit", R"({"token":")" + token + "\"," + std::string(rest) + "}"));
  }
  std::string left() {
    const std::string body = ask(post("/v1/look", R"({"key":"a","rule":"tokens","cost":0})")).body;
    const auto at = body.find("\"remaining\":") + 12;
    return body.substr(at, body.find(',', at) - at);
  }
};

std::string token_in(const TestReply& reply) {
  const auto at = reply.body.find("\"token\":\"");
  return at == reply.body.npos ? std::string() : reply.body.substr(at + 9, 32);
}

TEST(HttpHolds, HoldsAnEstimateAndChargesTheCost) {
  HoldsDoor door;
  const TestReply held = door.reserve(R"("cost":60,"hold":"30s")");
  EXPECT_EQ(held.status, 200);
  EXPECT_TRUE(held.body.starts_with(R"({"key":"a","allowed":true,"remaining":40,)")) << held.body;
  EXPECT_EQ(held.fields.at("x-ratelimit-remaining"), "40");
  EXPECT_EQ(door.left(), "40");
  const TestReply denied = door.reserve(R"("cost":41,"hold":"30s")");
  EXPECT_TRUE(denied.body.starts_with(R"({"key":"a","allowed":false,)")) << denied.body;
  EXPECT_EQ(token_in(denied), "");
  EXPECT_EQ(denied.fields.at("retry-after"), "44");

  EXPECT_EQ(door.commit(token_in(held), R"("cost":25,"more":true)").body,
            R"({"cost":25,"charged":false})");
  EXPECT_EQ(door.left(), "40");
  EXPECT_EQ(door.commit(token_in(held), R"("cost":10)").body, R"({"cost":10,"charged":true})");
  EXPECT_EQ(door.left(), "90");
  const TestReply again = door.commit(token_in(held), R"("cost":10)");
  EXPECT_EQ(again.status, 404);
  EXPECT_NE(again.body.find("urn:weir:problem:unknown-token"), std::string::npos);
  EXPECT_EQ(door.left(), "90");
}

TEST(HttpHolds, ALapseChargesTheEstimate) {
  HoldsDoor door;
  const std::string token = token_in(door.reserve(R"("cost":60,"hold":"30s")"));
  door.now += 30s;
  EXPECT_EQ(door.left(), "40");
  EXPECT_EQ(door.commit(token, R"("cost":1)").status, 404);
}

TEST(HttpHolds, AKeyHasNoMoreHoldsThanTheRuleSays) {
  HoldsDoor door;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(door.reserve(R"("cost":1,"hold":"30s")").status, 200);
  const TestReply third = door.reserve(R"("cost":1,"hold":"30s")");
  EXPECT_EQ(third.status, 429);
  EXPECT_EQ(third.fields.at("retry-after"), "30");
  EXPECT_NE(third.body.find("urn:weir:problem:too-many-holds"), std::string::npos);
  EXPECT_EQ(door.left(), "98");
}

TEST(HttpHolds, ExplainSaysWhatIsHeld) {
  HoldsDoor door;
  door.reserve(R"("cost":40,"hold":"30s")");
  door.now += 1s;
  door.reserve(R"("cost":20,"hold":"50s")");
  const std::string body = door.ask(get("/v1/explain?rule=tokens&key=a")).body;
  EXPECT_NE(body.find(R"("held":{"units":60,"holds":2,"lapses_after":29})"), std::string::npos)
      << body;
}

TEST(HttpHolds, AKeyThatNobodyCountsIsChargedNothing) {
  HoldsDoor door;
  const TestReply held =
      door.ask(post("/v1/reserve", R"({"key":"vip","rule":"tokens","cost":60,"hold":"30s"})"));
  EXPECT_EQ(door.commit(token_in(held), R"("cost":10)").body, R"({"cost":10,"charged":false})");
}

TEST(HttpHolds, RefusesWhatNobodyCanHold) {
  HoldsDoor door;
  const auto refused = [&](std::string_view body, std::string_view field) {
    const TestReply reply = door.ask(post("/v1/reserve", body));
    EXPECT_GE(reply.status, 400) << body;
    const std::string named = "\"field\":\"" + std::string(field) + "\"";
    EXPECT_NE(reply.body.find(named), std::string::npos) << reply.body;
  };
  refused(R"({"key":"a","rule":"plain","cost":1,"hold":"1s"})", "rule");
  refused(R"({"key":"a","rule":"other","cost":1,"hold":"1s"})", "rule");
  refused(R"({"key":"a","cost":1,"hold":"1s"})", "rule");
  refused(R"({"rule":"tokens","cost":1,"hold":"1s"})", "key");
  refused(R"({"key":"a","rule":"tokens","tier":"x","cost":1,"hold":"1s"})", "tier");
  refused(R"({"key":"a","rule":"tokens","cost":0,"hold":"1s"})", "cost");
  refused(R"({"key":"a","rule":"tokens","cost":-5,"hold":"1s"})", "cost");
  refused(R"({"key":"a","rule":"tokens","cost":1000000000001,"hold":"1s"})", "cost");
  refused(R"({"key":"a","rule":"tokens","cost":1})", "hold");
  refused(R"({"key":"a","rule":"tokens","cost":1,"hold":"61s"})", "hold");
  refused(R"({"key":"a","rule":"tokens","cost":1,"hold":"0s"})", "hold");
  refused(R"({"key":"a","rule":"tokens","cost":1,"hold":"1s","mode":"strict"})", "mode");
  EXPECT_EQ(door.left(), "100");
  EXPECT_EQ(door.commit("forged", R"("cost":1)").status, 404);
  EXPECT_EQ(door.commit("00000000000000000000000000000000", R"("cost":1)").status, 404);
  EXPECT_EQ(door.commit("00000000000000000000000000000000", R"("cost":-1)").status, 400);
  EXPECT_EQ(door.commit("x", R"("cost":1,"more":1)").status, 400);
  EXPECT_EQ(door.ask(post("/v1/commit", "[]")).status, 400);
}

}  // namespace
}  // namespace weir
