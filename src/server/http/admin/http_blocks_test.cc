#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPath = "/admin/blocks";

class HttpBlocks : public testing::Test {
 protected:
  TestReply lift(std::string_view body) { return door_.ask(request("DELETE", kPath, body)); }
  bool is_allowed(std::string_view key) {
    const auto body = R"({"rule":"login","key":")" + std::string(key) + "\"}";
    return door_.ask(post("/check", body)).body.find("\"allowed\":true") != std::string::npos;
  }

  const Quota quota_ =
      *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = 100, .window = 60s});
  TestDoor door_{{.rules = {{.id = "login", .quota = quota_}}, .access = {}}};
};

TEST_F(HttpBlocks, AreAddedListedAndLifted) {
  EXPECT_EQ(door_.ask(get(kPath)).body, R"({"total":0,"blocks":[]})");
  const TestReply added = door_.ask(post(kPath, R"({"rule":"login","key":"a","for":"5m"})"));
  EXPECT_EQ(added.status, 200);
  EXPECT_EQ(added.body, R"({"rule":"login","key":"a","reason":"manual",)"
                        R"("blocked_for_seconds":0,"ends_in_seconds":300})");
  EXPECT_FALSE(is_allowed("a"));
  EXPECT_TRUE(is_allowed("b"));
  door_.now += 1min;
  EXPECT_EQ(door_.ask(get(kPath)).body,
            R"({"total":1,"blocks":[{"rule":"login","key":"a","reason":"manual",)"
            R"("blocked_for_seconds":60,"ends_in_seconds":240}]})");
  EXPECT_EQ(lift(R"({"rule":"login","key":"a"})").body, R"({"lifted":true})");
  EXPECT_TRUE(is_allowed("a"));
  EXPECT_EQ(lift(R"({"rule":"login","key":"a"})").status, 404);
}

// It answered 200, and nobody was blocked.
TEST_F(HttpBlocks, MayBeOfNetworks) {
  const TestReply added = door_.ask(post(
      kPath, R"({"rule":"login","key":"2001:DB8::/32","for":"5m","by":"carol","why":"bots"})"));
  EXPECT_EQ(added.body, R"({"rule":"login","key":"2001:db8::/32","reason":"manual","by":"carol",)"
                        R"("why":"bots","blocked_for_seconds":0,"ends_in_seconds":300})");
  EXPECT_EQ(door_.ask(post(kPath, R"({"rule":"login","key":"203.0.113.0/24","for":"5m"})")).status,
            200);
  EXPECT_FALSE(is_allowed("203.0.113.9"));
  EXPECT_FALSE(is_allowed("2001:db8:1::9"));
  EXPECT_TRUE(is_allowed("203.0.114.9"));
  EXPECT_EQ(lift(R"({"rule":"login","key":"203.0.113.0/24"})").status, 200);
  EXPECT_TRUE(is_allowed("203.0.113.9"));
}

TEST_F(HttpBlocks, MayBeOfAllRules) {
  const TestReply added = door_.ask(post(kPath, R"({"key":"203.0.113.0/24","for":"5m"})"));
  EXPECT_EQ(added.body, R"({"rule":null,"key":"203.0.113.0/24","reason":"manual",)"
                        R"("blocked_for_seconds":0,"ends_in_seconds":300})");
  EXPECT_FALSE(is_allowed("203.0.113.9"));
  const auto ruleless = [&] {
    return door_.ask(post("/check", R"({"key":"203.0.113.9","limit":5,"window":60})")).body;
  };
  EXPECT_NE(ruleless().find("\"allowed\":false"), std::string::npos);
  EXPECT_EQ(lift(R"({"key":"203.0.113.0/24"})").status, 200);
  EXPECT_TRUE(is_allowed("203.0.113.9"));
  EXPECT_NE(ruleless().find("\"allowed\":true"), std::string::npos);
}

TEST_F(HttpBlocks, WithoutARuleAllOfAKeyAreLifted) {
  door_.ask(post(kPath, R"({"rule":"login","key":"a","for":"5m"})"));
  door_.ask(post(kPath, R"({"key":"a","for":"5m"})"));
  EXPECT_EQ(lift(R"({"key":"a"})").body, R"({"lifted":true})");
  EXPECT_TRUE(is_allowed("a"));
  EXPECT_EQ(lift(R"({"key":"a"})").status, 404);
}

TEST_F(HttpBlocks, SayWhenNobodyWasBlocked) {
  for (int bits = 32; bits > 16; --bits) {
    const auto body = R"({"key":"10.0.0.0/)" + std::to_string(bits) + R"(","for":"5m"})";
    EXPECT_EQ(door_.ask(post(kPath, body)).status, 200);
  }
  const TestReply refused = door_.ask(post(kPath, R"({"key":"10.0.0.0/9","for":"5m"})"));
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.body.find("Nobody was blocked"), std::string::npos) << refused.body;
}

TEST_F(HttpBlocks, AreListedByRuleAndUpToALimit) {
  for (const char key : {'a', 'b', 'c'}) {
    door_.blocks.add({.rule = key == 'c' ? "api" : "login",
                      .key = std::string(1, key),
                      .since = door_.now,
                      .until = door_.now + 1h},
                     door_.now);
  }
  const auto count = [&](std::string_view query) {
    const std::string body = door_.ask(get(std::string(kPath) + std::string(query))).body;
    std::size_t blocks = 0;
    for (auto at = body.find("\"reason\""); at != std::string::npos; ++blocks) {
      at = body.find("\"reason\"", at + 1);
    }
    return blocks;
  };
  EXPECT_EQ(count(""), 3u);
  EXPECT_EQ(count("?rule=login"), 2u);
  EXPECT_EQ(count("?limit=2"), 2u);
  EXPECT_EQ(count("?rule=api&limit=0"), 0u);
  EXPECT_EQ(door_.ask(get("/admin/blocks?limit=x")).status, 400);
  const TestReply unknown = door_.ask(get("/admin/blocks?rule=logni"));
  EXPECT_EQ(unknown.status, 404) << "it was an empty list";
  EXPECT_NE(unknown.body.find("did you mean 'login'"), std::string::npos) << unknown.body;
  EXPECT_EQ(door_.ask(get("/admin/blocks?limit=10001")).status, 400);
}

TEST_F(HttpBlocks, RefuseWhatMakesNoSense) {
  struct Case {
    std::string body;
    int status;
    std::string part;
  };
  for (const Case& c : {
           Case{"", 400, "one JSON object"},
           Case{"[]", 400, "one JSON object"},
           Case{R"({"rule":"login","key":"\ud800","for":"5m"})", 400, "one JSON object"},
           Case{R"({"rule":"login","key":"a"})", 400, "\"field\":\"for\""},
           Case{R"({"key":"a","key":"b","for":"5m"})", 400, "key: expected the field only once"},
           Case{R"({"rule":"login","for":"5m"})", 400, "\"field\":\"key\""},
           Case{R"({"rule":"login","key":"","for":"5m"})", 400, "\"field\":\"key\""},
           Case{R"({"rule":"login","key":5,"for":"5m"})", 400, "\"field\":\"key\""},
           Case{R"({"rule":"login","key":"a","for":"soon"})", 400, "\"field\":\"for\""},
           Case{R"({"rule":"login","key":"a","for":"0s"})", 400, "\"field\":\"for\""},
           Case{R"({"rule":"login","key":"a","for":"367d"})", 400, "\"field\":\"for\""},
           Case{R"({"rule":"login","key":"a","for":"5m","kay":1})", 400, "did you mean"},
           Case{R"({"rule":"logni","key":"a","for":"5m"})", 404, "did you mean 'login'"},
           Case{R"({"rule":"","key":"a","for":"5m"})", 400, "\"field\":\"rule\""},
           Case{R"({"key":"203.0.113.7/24","for":"5m"})", 400, "the network 203.0.113.0/24"},
           Case{R"({"key":"::ffff:203.0.113.0/120","for":"5m"})", 400, "network 203.0.113.0/24"},
           Case{R"({"key":"300.1.1.0/24","for":"5m"})", 400, "a network such as"},
           Case{R"({"key":"203.0.113/24","for":"5m"})", 400, "a network such as"},
           Case{R"({"key":"2001:db8::/129","for":"5m"})", 400, "a network such as"},
           Case{R"({"key":"0.0.0.0/0","for":"5m"})", 400, "/0 is everybody"},
           Case{R"({"key":"a","for":"5m","why":7})", 400, "\"field\":\"why\""},
           Case{R"({"key":"a","for":"5m","by":")" + std::string(65, 'x') + "\"}", 400,
                "at most 64 bytes"},
       }) {
    const TestReply reply = door_.ask(post(kPath, c.body));
    EXPECT_EQ(reply.status, c.status) << c.body;
    EXPECT_NE(reply.body.find(c.part), std::string::npos) << reply.body;
  }
  EXPECT_TRUE(door_.blocks.empty());
}

TEST_F(HttpBlocks, AreForAdmins) {
  TestDoor open({.rules = {}, .access = {.exposure = Exposure::kNetwork}});
  EXPECT_EQ(open.ask(get(kPath)).status, 403);
  EXPECT_EQ(open.ask(post(kPath, "{}")).status, 403);
  EXPECT_EQ(open.ask(request("DELETE", kPath, "{}")).status, 403);
}

}  // namespace
}  // namespace weir
