// What the admin routes tell of keys beyond tests/scenarios: floods, fleets, places that are taken.

#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

class HttpKeys : public testing::Test {
 protected:
  void check(const std::string& key, int times, const std::string& rule = "login") {
    for (int i = 0; i < times; ++i) {
      door_.ask(post("/check", R"({"rule":")" + rule + R"(","key":")" + key + "\"}"));
    }
  }
  std::string told(std::string_view path) { return door_.ask(get(path)).body; }

  const Quota quota_ = *Quota::make(
      {.algorithm = Algorithm::kFixedWindow, .limit = 2, .window = std::chrono::seconds(60)});
  TestDoor door_{
      {.rules = {{.id = "login", .quota = quota_}, {.id = "api", .quota = quota_}}, .access = {}}};
};

TEST_F(HttpKeys, TheBusiestAreSumsOfTheNodesOfAFleet) {
  check("alice", 3);
  const KeyReport report{.total = 60, .rest = 2, .keys = {{7, 20, 21}}};
  door_.fleet_keys.replace({{.name = "other", .rules = {{.rule = "login", .asked = report}}}},
                           door_.now);
  EXPECT_EQ(told("/admin/busiest?rule=login&limit=1"),
            R"({"rule":"login","by":"asked","scope":"fleet","total":63,"sampled_one_of":1,)"
            R"("nodes":[{"node":"here","total":3},{"node":"other","total":60}],"keys":[)"
            R"({"hash":"0000000000000007","count":20,"at_least":20,"at_most":21,)"
            R"("share":0.31746031746031744,"nodes":[{"node":"other","count":20}]}]})");
  EXPECT_NE(told("/admin/busiest?rule=login").find(R"("at_most":5,)"), std::string::npos);
  EXPECT_EQ(told("/admin/busiest?rule=login&scope=node").find("other"), std::string::npos);
  door_.fleet_keys.set_trouble("WRONGTYPE");
  EXPECT_NE(told("/admin/busiest?rule=login").find(R"("trouble":"WRONGTYPE")"), std::string::npos);
}

// A flood of one rule hid the denials of others in its second, and the reply did not say so.
TEST_F(HttpKeys, DenialsSayHowManyAFloodHasLeftNoPlaceForAndShowEachRule) {
  for (int i = 0; i < 100; ++i) check("flood" + std::to_string(i), 3);
  check("alice", 4, "api");
  EXPECT_NE(told("/admin/denials?rule=api").find(R"("total":1,)"), std::string::npos);
  EXPECT_NE(told("/admin/denials").find(R"("total":8,"forgotten":93,)"), std::string::npos);
  EXPECT_NE(told("/admin/denials?rule=api&key=alice").find(R"("total":1,"forgotten":93,)"),
            std::string::npos);
}

// Whatever a key says, it is one value of JSON and one cell of CSV, that no spreadsheet computes.
TEST_F(HttpKeys, HostileKeysAreValuesAndCells) {
  TestDoor shows(
      {.rules = {{.id = "login", .quota = quota_}}, .access = {}, .key_texts = KeyTexts::kShown});
  const std::string rest(1'000, 'x');
  for (const std::string key : {"=cmd|'/c calc'!A1", R"(<img src=x onerror=\"alert(1)\">)",
                                R"(\u202Eevil\u2069)", R"(a\u0000b)", R"(a\r\nb,\"c)"}) {
    for (int i = 0; i < 3; ++i) {
      shows.ask(post("/check", R"({"rule":"login","key":")" + key + rest + "\"}"));
    }
  }
  const std::string json = shows.ask(get("/admin/denials")).body;
  EXPECT_NE(json.find(R"("total":5,)"), std::string::npos);
  EXPECT_NE(json.find(R"("key":"a\u0000bxx)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"(onerror=\"alert(1)\">xx)"), std::string::npos) << json;
  EXPECT_EQ(json.find(std::string(CoreDenials::kTextMax, 'x')), std::string::npos);
  const std::string csv = shows.ask(get("/admin/denials", "Accept: text/csv\r\n")).body;
  EXPECT_NE(csv.find(R"(,login,"'=cmd|'/c calc'!A1xx)"), std::string::npos) << csv;
  EXPECT_NE(csv.find(R"x(,login,"<img src=x onerror=""alert(1)"">xx)x"), std::string::npos) << csv;
  EXPECT_NE(csv.find(R"(,login,a?bxx)"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",login,\"a\r\nb,\"\"cxx"), std::string::npos) << csv;
}

TEST_F(HttpKeys, ABlockSaysWhenNobodyWasBlocked) {
  const auto block = [&](int bits) {
    return door_.ask(
        post("/admin/blocks", R"({"key":"10.0.0.0/)" + std::to_string(bits) + R"(","for":"5m"})"));
  };
  for (int bits = 32; bits > 16; --bits) EXPECT_EQ(block(bits).status, 200);
  const TestReply refused = block(9);
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.body.find("Nobody was blocked"), std::string::npos) << refused.body;
}

}  // namespace
}  // namespace weir
