// Reservations by HTTP: the contents of bodies, and the ends of holds.

#include <array>
#include <barrier>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "rules/slots.h"
#include "server/http/http_test_door.h"
#include "weir/holding_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Rule holding(std::string id, std::int64_t holds_max) {
  return {.id = std::move(id),
          .quota = *Quota::make({.limit = 100, .window = 1min}),
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

struct SlotsDoor : TestDoor {
  SlotsDoor()
      : TestDoor({.rules = {{.id = "calls",
                             .quota = *slot_quota(2),
                             .effect = Rule::Effect::kConcurrency,
                             .holds_max = 2},
                            holding("tokens", 2)},
                  .access = {}}) {}

  TestReply acquire() {
    return ask(post("/v1/acquire", R"({"key":"a","rule":"calls","hold":"30s"})"));
  }
  TestReply release(const std::string& token) {
    return ask(post("/v1/release", R"({"token":")" + token + "\"}"));
  }
};

std::string token_in(const TestReply& reply) {
  const auto at = reply.body.find("\"token\":\"");
  return at == reply.body.npos ? std::string() : reply.body.substr(at + 9, 32);
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

// The hold ends in another window than it began.
TEST(HttpHolds, TheResetOfAReservationWaitsForItsEnd) {
  HoldsDoor door;
  const auto reset_in = [](const std::string& body) {
    const auto at = body.find("\"reset_after\":");
    return body.substr(at, body.find_first_of(",}", at) - at);
  };
  const std::string reserved = reset_in(door.reserve(R"("cost":40,"hold":"1m")").body);
  const TestReply looked = door.ask(post("/v1/look", R"({"key":"a","rule":"tokens","cost":0})"));
  EXPECT_EQ(reserved, reset_in(looked.body));
}

TEST(HttpHolds, ACallerMayNameTheLimit) {
  SlotsDoor door;
  const auto acquire = [&](std::string_view key, std::string_view rest) {
    return door.ask(post("/v1/acquire", R"({"key":")" + std::string(key) + R"(","hold":"30s",)" +
                                            std::string(rest) + "}"));
  };
  const TestReply first = acquire("a", R"("limit":2)");
  EXPECT_NE(first.body.find(R"("limit":2,"remaining":1,)"), std::string::npos) << first.body;
  EXPECT_NE(token_in(acquire("a", R"("limit":2)")), "");
  EXPECT_EQ(token_in(acquire("a", R"("limit":2)")), "");
  EXPECT_NE(acquire("a", R"("limit":3)").body.find(R"("remaining":0,)"), std::string::npos);
  EXPECT_NE(token_in(acquire("b", R"("limit":1)")), "");
  EXPECT_NE(token_in(acquire("b", R"("limit":1,"bucket":"x")")), "");
  EXPECT_EQ(token_in(acquire("b", R"("limit":1,"bucket":"x")")), "");
  EXPECT_NE(token_in(acquire("x", R"("limit":1,"bucket":"b")")), "");
  EXPECT_EQ(token_in(acquire("b", R"("limit":1,"bucket":"")")), "");
  const std::string long_bucket = R"("limit":1,"bucket":")" + std::string(4097, 'x') + "\"";
  EXPECT_NE(acquire("b", long_bucket).body.find("\"field\":\"bucket\""), std::string::npos);
  EXPECT_NE(token_in(door.acquire()), "");  // the rule counts by itself
  EXPECT_NE(acquire("c", R"("limit":0)").body.find(R"("retry_after":null)"), std::string::npos);
  EXPECT_EQ(door.release(token_in(first)).body, R"({"released":true})");
  for (const char* const wrong : {R"("limit":10001)", R"("limit":-1)", R"("limit":"2")",
                                  R"("limit":2,"rule":"calls")", R"("limit":2,"bucket":7)"}) {
    EXPECT_EQ(acquire("a", wrong).status, 400) << wrong;
  }
  const auto said = [&](const std::string& rest) {
    return door.ask(post("/v1/acquire", R"({"key":"a",)" + rest + "}")).body;
  };
  EXPECT_NE(said(R"("hold":"30s")").find("the id of a rule, or 'limit' in its place"),
            std::string::npos);
  EXPECT_NE(said(R"("limit":2,"hold":30)").find(R"(a duration as text, such as \"30s\")"),
            std::string::npos);
}

TEST(HttpHolds, ExplainSaysWhichSlotsAreTaken) {
  SlotsDoor door;
  door.acquire();
  door.now += 1s;
  const std::string body = door.ask(get("/v1/explain?rule=calls&key=a")).body;
  for (const char* const part :
       {R"("of":"concurrency")", R"("decided_by":"counter")", R"("limit":2)", R"("remaining":1)",
        R"("held":{"units":1,"holds":1,"lapses_after":29})"}) {
    EXPECT_NE(body.find(part), std::string::npos) << part << ": " << body;
  }
  EXPECT_EQ(body.find("algorithm"), std::string::npos) << body;
  const std::string metrics = door.ask(get("/metrics?format=prometheus")).body;
  EXPECT_NE(metrics.find("\nweir_holds 1\n"), std::string::npos);
}

TEST(HttpHolds, SlotsAreNoUnitsAndUnitsNoSlots) {
  SlotsDoor door;
  const std::string slot = token_in(door.acquire());
  const auto status = [&](std::string_view path, const std::string& body) {
    return door.ask(post(path, body)).status;
  };
  EXPECT_EQ(status("/v1/commit", R"({"cost":9,"more":true,"token":")" + slot + "\"}"), 404);
  EXPECT_EQ(status("/v1/commit", R"({"cost":9,"token":")" + slot + "\"}"), 404);
  const std::string units = token_in(
      door.ask(post("/v1/reserve", R"({"key":"a","rule":"tokens","cost":1,"hold":"30s"})")));
  EXPECT_EQ(door.release(units).status, 404);
  for (const char* const path : {"/check", "/v1/check", "/v1/look", "/v1/reset"}) {
    const TestReply refused = door.ask(post(path, R"({"key":"a","rule":"calls"})"));
    EXPECT_EQ(refused.status, 400) << path;
    EXPECT_NE(refused.body.find("/v1/acquire"), std::string::npos) << refused.body;
  }
  EXPECT_EQ(status("/v1/reserve", R"({"key":"a","rule":"calls","cost":1,"hold":"30s"})"), 400);
  EXPECT_EQ(status("/v1/acquire", R"({"key":"a","rule":"tokens","hold":"30s"})"), 400);
  EXPECT_EQ(status("/v1/acquire", R"({"key":"a","rule":"other","hold":"30s"})"), 404);
  EXPECT_EQ(status("/v1/acquire", R"({"key":"a","rule":"calls"})"), 400);
  EXPECT_EQ(status("/v1/acquire", R"({"key":"a","rule":"calls","hold":"25h"})"), 400);
  EXPECT_EQ(status("/v1/acquire", R"({"key":"a","rule":"calls","hold":"1s","cost":2})"), 400);
  EXPECT_EQ(status("/v1/release", R"({"token":1})"), 400);
  EXPECT_EQ(door.release("forged").status, 404);
  EXPECT_NE(door.acquire().body.find("\"remaining\":0"), std::string::npos);
}

TEST(HttpHolds, ACallerMayNameTheQuota) {
  HoldsDoor door;
  const auto reserve = [&](std::string_view rest, std::string_view key = "a") {
    return door.ask(post("/v1/reserve", R"({"hold":"30s","key":")" + std::string(key) + "\"," +
                                            std::string(rest) + "}"));
  };
  constexpr std::string_view kQuota = R"("limit":100,"window":"1m")";
  const std::string quota = "," + std::string(kQuota);
  const TestReply held = reserve(R"("cost":60)" + quota);
  EXPECT_TRUE(held.body.starts_with(R"({"key":"a","allowed":true,"remaining":40,)")) << held.body;
  EXPECT_EQ(held.fields.at("x-ratelimit-remaining"), "40");
  EXPECT_EQ(held.fields.at("ratelimit-policy"), R"("default";q=100;w=60)");
  EXPECT_TRUE(held.fields.at("ratelimit").starts_with(R"("default";r=40;)"));
  EXPECT_EQ(token_in(reserve(R"("cost":41)" + quota)), "");
  EXPECT_NE(token_in(reserve(R"("cost":41,"bucket":"b")" + quota)), "");
  EXPECT_NE(token_in(reserve(R"("cost":41)" + quota, "b")), "");
  EXPECT_EQ(door.left(), "100");  // the rule counts by itself, and so do checks
  const TestReply check = door.ask(post("/check", R"({"key":"a")" + quota + "}"));
  EXPECT_TRUE(check.body.starts_with(R"({"key":"a","allowed":true,"remaining":99,)")) << check.body;
  EXPECT_EQ(door.commit(token_in(held), R"("cost":10)").body, R"({"cost":10,"charged":true})");
  const TestReply rest = reserve(R"("cost":90)" + quota);
  EXPECT_TRUE(rest.body.starts_with(R"({"key":"a","allowed":true,"remaining":0,)")) << rest.body;
  door.now += 30s;  // it lapses, and is charged
  EXPECT_EQ(token_in(reserve(R"("cost":1)" + quota)), "");
  for (const std::string_view algorithm : {"fixed_window", "sliding_log", "token_bucket"}) {
    const std::string by = R"("cost":60,"algorithm":")" + std::string(algorithm) + "\"" + quota;
    EXPECT_NE(token_in(reserve(by)), "") << algorithm;
    EXPECT_EQ(token_in(reserve(by)), "") << algorithm;
  }
}

TEST(HttpHolds, AKeyWithoutARuleHasABoundOfHolds) {
  HoldsDoor door;
  const auto reserve = [&] {
    return door.ask(
        post("/v1/reserve", R"({"key":"a","limit":100000,"window":"1h","cost":1,"hold":"30s"})"));
  };
  for (int i = 0; i < kRulelessHoldsMax; ++i) ASSERT_NE(token_in(reserve()), "") << i;
  const TestReply over = reserve();
  EXPECT_EQ(over.status, 429);
  EXPECT_EQ(over.fields.at("retry-after"), "30");
}

TEST(HttpHolds, RefusesQuotasThatHoldNothing) {
  HoldsDoor door;
  const auto refused = [&](std::string_view rest, std::string_view field, std::string_view why) {
    const TestReply reply = door.ask(post("/v1/reserve", R"({"key":"a",)" + std::string(rest)));
    EXPECT_EQ(reply.status, 400) << rest;
    const std::string named = "\"field\":\"" + std::string(field) + "\"";
    EXPECT_NE(reply.body.find(named), std::string::npos) << reply.body;
    EXPECT_NE(reply.body.find(why), std::string::npos) << reply.body;
  };
  for (const char* const algorithm : {"adaptive", "exponential_backoff"}) {
    refused(R"("limit":9,"window":60,"cost":1,"hold":"1s","algorithm":")" + std::string(algorithm) +
                "\"}",
            "algorithm", "needs counters that give units back");
  }
  refused(R"("limit":9,"window":60,"cost":1,"hold":"1s","mode":"async"})", "mode",
          "write 'mode: strict' or local");
  refused(R"("limit":9,"cost":1,"hold":"1s"})", "window", "the field is missing");
  refused(R"("limit":9,"window":60,"hold":"1s"})", "cost",
          "an integer from 1 to 1000000000000, but the field is missing");
  refused(R"("limit":9,"window":60,"cost":1})", "hold", "the field is missing");
  refused(R"("limit":9,"window":60,"cost":1,"hold":"61s"})", "hold", "from 1ms to the window, 1m");
  refused(R"("limit":9,"window":60,"cost":1,"hold":5})", "hold", "such as \\\"30s\\\"");
  refused(R"("limit":9,"window":60,"cost":1,"hold":"1s","hold":"1s"})", "hold", "only once");
  refused(R"("limit":9,"window":60,"cost":1,"holt":"1s"})", "holt", "did you mean 'hold'?");
  refused(R"("limit":9,"window":60,"cost":1,"hold":"1s","charge":"always"})", "charge", "commit");
  refused(R"("limit":9,"window":60,"cost":1,"hold":"1s","tier":"x"})", "tier", "a rule's");
  refused(R"("limit":9,"window":60,"cost":1,"hold":"1s","rule":"tokens"})", "limit", "the rule");
  refused(R"("checks":[{"key":"a","rule":"tokens","cost":1}],"hold":"1s"})", "checks", "no such");
  const TestReply at_check =
      door.ask(post("/v1/check", R"({"key":"a","limit":9,"window":60,"hold":"1s"})"));
  EXPECT_EQ(at_check.status, 400);
  EXPECT_NE(at_check.body.find("\"field\":\"hold\""), std::string::npos) << at_check.body;
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
  refused(R"({"key":"a","cost":1,"hold":"1s"})", "limit");
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

TEST(RulelessSlots, AreTheSameForCoresThatMakeThemAtOnce) {
  constexpr std::int64_t kFrom = 9'000;  // no other test has made them
  constexpr std::size_t kLimits = 500;
  std::array<std::array<const Rule*, kLimits>, 2> made{};
  std::barrier together(2);
  const auto make = [&](std::size_t core) {
    for (std::size_t i = 0; i < kLimits; ++i) {
      together.arrive_and_wait();
      made[core][i] = &ruleless_slots(kFrom + static_cast<std::int64_t>(i));
    }
  };
  {
    const std::jthread other([&] { make(1); });
    make(0);
  }
  EXPECT_EQ(made[0], made[1]);
  for (std::size_t i = 0; i < kLimits; ++i) {
    EXPECT_EQ(made[0][i]->holds_max, kFrom + static_cast<std::int64_t>(i));
  }
}

}  // namespace
}  // namespace weir
