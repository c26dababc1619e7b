// What pages say of adaptive rules.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/testing/switching.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace weir::testing;

class HttpAdaptive : public ::testing::Test {
 protected:
  HttpAdaptive() {
    node_.now = TestDoor::kStart;
    node_.pass(10, {});
    node_.burst(kLogin);
    node_.pass(89, {{.rule = kLogin, .counts = {.requests = 0}}});
  }

  TestReply ask(const std::string& request) { return door_.ask(request); }

  const Quota adaptive_ = quota(Algorithm::kAdaptive);
  Switching node_;
  TestDoor door_{{.rules = {{.id = "login", .quota = adaptive_},
                            {.id = "search", .quota = adaptive_},
                            {.id = "fixed", .quota = quota(Algorithm::kFixedWindow)}},
                  .access = {},
                  .switches = &node_.switches}};
};

constexpr std::string_view kFollowing =
    R"("following":{"algorithm":"sliding_window","number":3,"seconds_ago":84,"because":)"
    R"("burst ratio 0.0, 0.0 requests/s in the last 2 s and 10.0 in the last 10 s, 0 % denied"})";

TEST_F(HttpAdaptive, ExplainSaysWhatTheRuleFollowsSinceWhenAndWhy) {
  const std::string login = ask(get("/v1/explain?rule=login&key=a")).body;
  EXPECT_NE(login.find(R"("algorithm":"adaptive",)" + std::string(kFollowing)), std::string::npos)
      << login;
  const std::string search = ask(get("/v1/explain?rule=search&key=a")).body;
  EXPECT_NE(search.find(R"("following":{"algorithm":"sliding_window"},)"), std::string::npos)
      << search;
  const std::string fixed = ask(get("/v1/explain?rule=fixed&key=a")).body;
  EXPECT_EQ(fixed.find("following"), std::string::npos) << fixed;
}

TEST_F(HttpAdaptive, TheRulesSayWhatTheyFollow) {
  for (const char* path : {"/admin/rules", "/admin/rules/login"}) {
    const std::string rules = ask(get(path)).body;
    EXPECT_NE(rules.find(kFollowing), std::string::npos) << rules;
  }
  const std::string stats = ask(get("/admin/stats")).body;
  EXPECT_NE(stats.find(kFollowing), std::string::npos) << stats;
}

TEST_F(HttpAdaptive, TheMetricsShowTheSwitch) {
  const std::string json = ask(get("/metrics?format=json")).body;
  EXPECT_NE(json.find(R"("switches":[{"rule":"login","algorithm":"sliding_window","number":3,)"),
            std::string::npos)
      << json;
  EXPECT_EQ(json.find("search"), std::string::npos) << json;
  const std::string text = ask(get("/metrics?format=prometheus")).body;
  for (const char* line :
       {R"(weir_rule_active_algorithm{rule="login",algorithm="sliding_window"} 1)",
        R"(weir_rule_active_algorithm{rule="search",algorithm="sliding_window"} 1)",
        R"(weir_rule_switches_total{rule="login"} 2)",
        R"(weir_rule_switches_total{rule="search"} 0)"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(text.find(R"(weir_rule_switches_total{rule="fixed")"), std::string::npos);
}

TEST_F(HttpAdaptive, ChecksWithoutARuleAreInTheList) {
  node_.burst(kRuleless);
  const std::string json = ask(get("/metrics?format=json")).body;
  EXPECT_NE(json.find(R"("switches":[{"rule":null,"algorithm":"token_bucket","number":1,)"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("active_algorithm":"token_bucket")"), std::string::npos) << json;
}

}  // namespace
}  // namespace weir
