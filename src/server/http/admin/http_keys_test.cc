// The admin routes' answers about keys beyond tests/scenarios: floods, fleets, taken places.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
            R"("share":0.31746031746031744,"nodes":[{"node":"other","count":20}]}],)"
            R"("nodes_heard":2})");
  EXPECT_NE(told("/admin/busiest?rule=login").find(R"("at_most":5,)"), std::string::npos);
  EXPECT_EQ(told("/admin/busiest?rule=login&scope=node").find("other"), std::string::npos);
  door_.fleet_keys.set_trouble("WRONGTYPE");
  EXPECT_NE(told("/admin/busiest?rule=login").find(R"("trouble":"WRONGTYPE")"), std::string::npos);
}

// Once a flood of one rule hid the denials of others in its second, and the reply did not say so.
TEST_F(HttpKeys, DenialsSayHowManyAFloodHasLeftNoPlaceForAndShowEachRule) {
  for (int i = 0; i < 100; ++i) check("flood" + std::to_string(i), 3);
  check("alice", 4, "api");
  EXPECT_NE(told("/admin/denials?rule=api").find(R"("total":1,)"), std::string::npos);
  EXPECT_NE(told("/admin/denials").find(R"("total":8,"forgotten":93,)"), std::string::npos);
  EXPECT_NE(told("/admin/denials?rule=api&key=alice").find(R"("total":1,"forgotten":93,)"),
            std::string::npos);
}

// Any text of a key is one value of JSON, and one cell of CSV that no spreadsheet computes.
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

TEST_F(HttpKeys, ABlockSaysWhatLetsItsKeyPass) {
  std::vector<Rule> rules(4, {.id = "off", .quota = quota_});
  rules[0].enabled = false;
  rules[1].id = "shadow";
  rules[1].shadow = true;
  rules[2].id = "spares";
  rules[2].enforced_percent = 0;
  rules[3].id = "denies";
  TestDoor door({.rules = rules, .access = {}});
  for (const auto& [rule, why] : {std::pair("off", "the rule is not in force"),
                                  {"shadow", "the rule is in shadow"},
                                  {"spares", "the rule spares this key"},
                                  {"denies", ""}}) {
    const std::string asked = R"({"key":"a","rule":")" + std::string(rule) + "\"";
    const std::string said = door.ask(post("/admin/blocks", asked + R"(,"for":"5m"})")).body;
    const bool passes = !std::string_view(why).empty();
    EXPECT_EQ(said.find("passes_because") != said.npos, passes) << said;
    EXPECT_NE(said.find(why), said.npos) << said;
    const std::string checked = door.ask(post("/check", asked + "}")).body;
    EXPECT_EQ(checked.find(R"("allowed":true)") != checked.npos, passes) << checked;
  }
}

TEST_F(HttpKeys, ABlockOfAnAddressIsNoDigestWhateverTheRulesKey) {
  const KeyPart cookie{.property = KeyPart::Property::kCookie, .name = "sid"};
  TestDoor door(
      {.rules = {{.id = "session", .quota = quota_, .key_parts = {cookie}}}, .access = {}});
  const auto of = [](std::string_view key, std::string_view rest = {}) {
    return R"({"rule":"session","key":")" + std::string(key) + "\"" + std::string(rest) + "}";
  };
  const auto is_blocked = [&](std::string_view key, const char* client) {
    return door.blocks.until("session", key, IpAddress::parse(client), door.now).has_value();
  };
  for (const auto& [key, listed] : {std::pair("203.0.113.7", "203.0.113.7"),
                                    {"203.0.113.0/24", "203.0.113.0/24"},
                                    {"::ffff:203.0.113.7", "203.0.113.7"}}) {
    const TestReply made = door.ask(post("/admin/blocks", of(key, R"(,"for":"5m")")));
    EXPECT_EQ(made.status, 200) << made.body;
    EXPECT_NE(made.body.find("\"key\":\"" + std::string(listed) + "\""), std::string::npos);
    EXPECT_TRUE(is_blocked("any", "203.0.113.7")) << key;
    EXPECT_FALSE(is_blocked("any", "203.0.114.7")) << key;
    EXPECT_EQ(door.ask(request("DELETE", "/admin/blocks", of(key))).status, 200) << key;
    EXPECT_FALSE(is_blocked("any", "203.0.113.7")) << key;
  }
}

TEST_F(HttpKeys, BlocksSayWhetherTheFleetIsTold) {
  const auto told = [&] { return this->told("/admin/blocks?limit=0"); };
  EXPECT_EQ(told(), R"({"total":0,"blocks":[]})") << "there is no fleet";
  door_.blocks.share(BlockAudience::kFleet);
  EXPECT_EQ(told(), R"({"total":0,"blocks":[],"told":true})");
  door_.ask(post("/admin/blocks", R"({"key":"a","for":"5m"})"));
  EXPECT_EQ(told(), R"({"total":1,"blocks":[],"told":false})");
  door_.blocks.take_news(BlockAudience::kFleet, 9);
  EXPECT_EQ(told(), R"({"total":1,"blocks":[],"told":false})") << "Redis has not answered";
  door_.blocks.fleet_has_heard();
  EXPECT_EQ(told(), R"({"total":1,"blocks":[],"told":true})");
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
