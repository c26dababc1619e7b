#include <string>

#include <gtest/gtest.h>

#include "server/http/admin/http_keys_testing.h"

namespace weir {
namespace {

constexpr std::string_view kToken = "0123456789abcdef";

class HttpBusiest : public HttpKeysTest {
 protected:
  void open(KeyTexts texts) { HttpKeysTest::open(texts, {.admin_token = std::string(kToken)}); }
  TestReply busiest(std::string_view query) {
    return door_->ask(get("/admin/busiest?" + std::string(query),
                          "Authorization: Bearer " + std::string(kToken) + "\r\n"));
  }
};

TEST_F(HttpBusiest, AreShownByTheirHashes) {
  open(KeyTexts::kHidden);
  check("alice", 4);
  check("bob", 1);
  EXPECT_EQ(without_hashes(busiest("rule=login").body),
            R"({"rule":"login","by":"asked","scope":"fleet","total":5,"sampled_one_of":1,)"
            R"("nodes":[{"node":"here","total":5}],"keys":[)"
            R"({"hash":"#","count":4,"at_least":4,"at_most":4,"share":0.8,)"
            R"("nodes":[{"node":"here","count":4}]},)"
            R"({"hash":"#","count":1,"at_least":1,"at_most":1,"share":0.2,)"
            R"("nodes":[{"node":"here","count":1}]}]})");
  EXPECT_EQ(without_hashes(busiest("rule=login&by=denied&scope=node").body),
            R"({"rule":"login","by":"denied","scope":"node","total":2,"sampled_one_of":1,)"
            R"("nodes":[{"node":"here","total":2}],"keys":[)"
            R"({"hash":"#","count":2,"at_least":2,"at_most":2,"share":1,)"
            R"("nodes":[{"node":"here","count":2}]}]})");
  EXPECT_EQ(busiest("rule=api").body,
            R"({"rule":"api","by":"asked","scope":"fleet","total":0,"sampled_one_of":1,)"
            R"("nodes":[{"node":"here","total":0}],"keys":[]})");
}

TEST_F(HttpBusiest, AreNamedIfTheNodeShowsKeys) {
  open(KeyTexts::kShown);
  check("al\\u0000ice", 2);
  EXPECT_NE(busiest("rule=login").body.find(R"("key":"al\u0000ice","count":2)"), std::string::npos);
}

TEST_F(HttpBusiest, AreSumsOfTheNodesOfAFleet) {
  open(KeyTexts::kHidden);
  check("alice", 3);
  const KeyReport report{.total = 60, .rest = 2, .keys = {{7, 20, 21}}};
  door_->fleet_keys.replace({{.name = "other", .rules = {{.rule = "login", .asked = report}}}},
                            door_->now);
  EXPECT_EQ(without_hashes(busiest("rule=login&limit=1").body),
            R"({"rule":"login","by":"asked","scope":"fleet","total":63,"sampled_one_of":1,)"
            R"("nodes":[{"node":"here","total":3},{"node":"other","total":60}],"keys":[)"
            R"({"hash":"#","count":20,"at_least":20,"at_most":21,"share":0.31746031746031744,)"
            R"("nodes":[{"node":"other","count":20}]}]})");
  EXPECT_NE(busiest("rule=login").body.find(R"("at_most":5,)"), std::string::npos);
  EXPECT_EQ(busiest("rule=login&scope=node").body.find("other"), std::string::npos);
  door_->fleet_keys.set_trouble("WRONGTYPE");
  EXPECT_NE(busiest("rule=login").body.find(R"("trouble":"WRONGTYPE")"), std::string::npos);
}

TEST_F(HttpBusiest, WantTheToken) {
  open(KeyTexts::kShown);
  check("alice", 1);
  const TestReply refused = door_->ask(get("/admin/busiest?rule=login"));
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.body.find("alice"), std::string::npos);
}

TEST_F(HttpBusiest, RefuseWhatMakesNoSense) {
  open(KeyTexts::kHidden);
  for (const std::string_view query :
       {"", "rule", "by=asked", "rule=login&by=liked", "rule=login&scope=all", "rule=login&limit=0",
        "rule=login&limit=101", "rule=login&limit=-1", "rule=login&limit="}) {
    EXPECT_GE(busiest(query).status, 400) << query;
  }
  EXPECT_EQ(busiest("rule=%ff").status, 404);
  EXPECT_EQ(busiest("rule=logen").status, 404);
}

}  // namespace
}  // namespace weir
