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
           Case{R"({"rule":"login","for":"5m"})", 400, "\"field\":\"key\""},
           Case{R"({"rule":"login","key":"","for":"5m"})", 400, "\"field\":\"key\""},
           Case{R"({"rule":"login","key":5,"for":"5m"})", 400, "\"field\":\"key\""},
           Case{R"({"rule":"login","key":"a","for":"soon"})", 400, "\"field\":\"for\""},
           Case{R"({"rule":"login","key":"a","for":"0s"})", 400, "\"field\":\"for\""},
           Case{R"({"rule":"login","key":"a","for":"367d"})", 400, "\"field\":\"for\""},
           Case{R"({"rule":"login","key":"a","for":"5m","kay":1})", 400, "did you mean"},
           Case{R"({"rule":"logni","key":"a","for":"5m"})", 404, "did you mean 'login'"},
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
