#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Rule rule(std::string id, std::string_view path) {
  Rule made{
      .id = std::move(id),
      .quota = *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = 2, .window = 60s})};
  made.match.emplace();
  made.match->paths.emplace_back(std::string(path));
  made.key_parts = {{.property = KeyPart::Property::kClient}};
  return made;
}

class HttpExplain : public testing::Test {
 protected:
  HttpExplain() {
    Rule post_only = rule("post-only", "/login");
    post_only.match->methods = {"POST"};
    post_only.group = "other";
    Rule off = rule("off", "/login");
    off.enabled = false;
    Rule named{.id = "named", .quota = off.quota};
    named.descriptor = DescriptorMatch{.domain = "edge", .entries = {{.key = "user"}}};
    Rule at_b = rule("at-b", "/login");
    at_b.match->hosts.emplace_back("b");
    door_.emplace(TestDoor::Options{
        .rules = {at_b, rule("login", "/login"), rule("later", "/*"), post_only, off, named},
        .access = {}});
  }
  std::string explain(std::string_view body) { return door_->ask(post("/v1/explain", body)).body; }
  std::optional<TestDoor> door_;
};

TEST_F(HttpExplain, SaysWhichRulesApplyAndWhyOthersDoNot) {
  EXPECT_EQ(explain(R"({"path":"/login?x","client":"192.0.2.1"})"),
            R"({"mode":"local","applies":[{"rule":"login","key":"192.0.2.1","cost":1,)"
            R"("enabled":true,"shadow":false,"decided_by":"counter","would":"allow",)"
            R"("over":false,"mode":"local",)"
            R"("algorithm":"fixed_window","limit":2,"window_seconds":60,"remaining":2,)"
            R"("retry_after":0,"reset_after":0}],"would":"allow","others":[)"
            R"({"rule":"at-b","because":"host"},)"
            R"({"rule":"later","because":"an earlier rule of its group applies"},)"
            R"({"rule":"post-only","because":"method"},)"
            R"({"rule":"off","because":"it is disabled"},)"
            R"({"rule":"named","because":"it has no 'match'"}]})");
}

// As a proxy's question is: a rule is not found by a spelling here and missed there.
TEST_F(HttpExplain, ReadsTheRequestAsForwardAuthDoes) {
  const std::string said = explain(R"({"path":"/login","host":"a.example","client":"192.0.2.1"})");
  for (const char* body :
       {R"({"path":"/login#x","host":"a.example","client":"192.0.2.1"})",
        R"({"path":"/%6Cogin?a#b","host":"a.example","client":"::ffff:192.0.2.1"})",
        R"({"path":"/login","host":"A.Example.:8080","client":"192.0.2.1"})"}) {
    EXPECT_EQ(explain(body), said) << body;
  }
  EXPECT_NE(said.find(R"({"rule":"at-b","because":"host"})"), std::string::npos) << said;
  EXPECT_NE(explain(R"({"path":"/login","host":"B:80"})").find(R"("applies":[{"rule":"at-b")"),
            std::string::npos);
}

TEST_F(HttpExplain, SaysWhatBecomesOfTheWholeRequest) {
  const std::string_view body = R"({"path":"/login","method":"POST","client":"192.0.2.1"})";
  EXPECT_NE(explain(body).find(R"(],"would":"allow")"), std::string::npos) << explain(body);
  door_->ask(post("/check", R"({"rule":"post-only","key":"192.0.2.1","cost":2})"));
  EXPECT_NE(explain(body).find(R"(],"would":"deny")"), std::string::npos) << explain(body);
}

TEST_F(HttpExplain, ShowsTheCounterAndChargesNothing) {
  door_->ask(post("/check", R"({"rule":"named","key":"alice"})"));
  for (int i = 0; i < 3; ++i) {
    const std::string said = explain(R"({"rule":"named","key":"alice"})");
    EXPECT_NE(said.find(R"("remaining":1)"), std::string::npos) << said;
    EXPECT_EQ(explain(R"({"domain":"edge","entries":{"user":"alice"}})"), said);
  }
  door_->blocks.add(
      {.rule = "named", .key = "alice", .since = door_->now, .until = door_->now + 9s}, door_->now);
  const std::string said = explain(R"({"rule":"named","key":"alice"})");
  EXPECT_NE(said.find(R"("decided_by":"blocked","would":"deny")"), std::string::npos) << said;
  EXPECT_NE(said.find(R"("retry_after":9)"), std::string::npos) << said;
}

TEST_F(HttpExplain, TellsABurstFromWhatComesEachWindow) {
  const auto bucket =
      Quota::make({.algorithm = Algorithm::kTokenBucket, .limit = 10, .window = 1s, .burst = 30});
  door_.emplace(TestDoor::Options{.rules = {{.id = "bucket", .quota = *bucket}}, .access = {}});
  const std::string said = explain(R"({"rule":"bucket","key":"alice"})");
  EXPECT_NE(said.find(R"("limit":30,"window_seconds":1,"per_window":10,"remaining":30)"),
            std::string::npos)
      << said;
}

TEST_F(HttpExplain, TakesTheDescriptionFromAQuery) {
  const auto by_get = [&](const std::string& query) {
    return door_->ask(get("/v1/explain?" + query)).body;
  };
  EXPECT_EQ(by_get("path=/login%3Fx&client=192.0.2.1&header:X-App=web"),
            explain(R"({"path":"/login?x","client":"192.0.2.1","headers":{"X-App":"web"}})"));
  EXPECT_EQ(by_get("rule=named&key=%61lice"), explain(R"({"rule":"named","key":"alice"})"));
  EXPECT_EQ(by_get("domain=edge&entry:user=alice"),
            explain(R"({"domain":"edge","entries":{"user":"alice"}})"));
  for (const std::string query :
       {"", "pth=/", "path=/&client=me", "path=/&headers=1", "path=%FF", "path=/&header:%FF=1"}) {
    const TestReply reply = door_->ask(get("/v1/explain?" + query));
    EXPECT_EQ(reply.status, 400) << query << reply.body;
  }
}

TEST_F(HttpExplain, TakesTheFirstOfARepeatedParameter) {
  const auto explained = [&](std::string_view query) {
    return door_->ask(get("/v1/explain?" + std::string(query))).body;
  };
  EXPECT_EQ(explained("rule=named&key=a&key=b&rule=off"), explained("rule=named&key=a"));
}

TEST_F(HttpExplain, AListIsAHeaderSeveralTimes) {
  Rule web = rule("web", "/login");
  web.match->headers = {{.name = "X-App", .value = TextPattern("web")}};
  TestDoor door({.rules = {web}, .access = {}});
  const auto applies = [&](std::string_view body) {
    return door.ask(post("/v1/explain", body)).body.find(R"("applies":[{"rule":"web")") !=
           std::string::npos;
  };
  EXPECT_TRUE(applies(R"({"path":"/login","headers":{"X-App":["a","web"]}})"));
  EXPECT_FALSE(applies(R"({"path":"/login","headers":{"X-App":["a","b"]}})"));
}

TEST_F(HttpExplain, ReadsTheValuesOfHeadersAsDoorsDo) {
  Rule web = rule("web", "/login");
  web.match->headers = {{.name = "X-App", .value = TextPattern("web")}};
  TestDoor door({.rules = {web}, .access = {}});
  const auto ask = [&](std::string_view value) {
    return door.ask(post(
        "/v1/explain", R"({"path":"/login","headers":{"X-App":")" + std::string(value) + R"("}})"));
  };
  EXPECT_NE(ask(R"(\t web\t)").body.find(R"("applies":[{"rule":"web")"), std::string::npos);
  EXPECT_EQ(ask(R"(web\u000b)").status, 400);
  EXPECT_EQ(ask(R"(web\u00a0)").status, 400);
}

TEST_F(HttpExplain, SaysWhichPartsOfAKeyAreMissing) {
  Rule keyed = rule("keyed", "/keyed");
  keyed.key_parts = {{.property = KeyPart::Property::kHeader, .name = "X-Key"}};
  keyed.missing = MissingPart::kDeny;
  Rule users = keyed;
  users.id = "users";
  users.missing = MissingPart::kSkip;
  Rule visitors = rule("visitors", "/keyed");
  users.group = visitors.group = "visitors";
  TestDoor door({.rules = {keyed, users, visitors}, .access = {}});
  const auto explained = [&](std::string_view headers) {
    return door
        .ask(post("/v1/explain", R"({"path":"/keyed","client":"192.0.2.1","headers":{)" +
                                     std::string(headers) + "}}"))
        .body;
  };
  const std::string none = explained("");
  EXPECT_NE(none.find(R"("rule":"keyed","key":"client 192.0.2.1",)"
                      R"("missing":[{"part":"header:X-Key","because":"the request lacks it"}])"),
            std::string::npos)
      << none;
  EXPECT_NE(none.find(R"("decided_by":"missing_key","would":"deny")"), std::string::npos) << none;
  EXPECT_NE(none.find(R"({"rule":"users","because":"its key is missing"})"), std::string::npos);
  EXPECT_NE(none.find(R"({"rule":"visitors","key":"192.0.2.1")"), std::string::npos) << none;
  const std::string both = explained(R"("X-Key":["a","b"])");
  EXPECT_NE(both.find("it has several values, so none of them counts"), std::string::npos) << both;
  const std::string one = explained(R"("X-Key":"a")");
  EXPECT_EQ(one.find("missing"), std::string::npos) << one;
  EXPECT_EQ(one.find(R"("token")"), std::string::npos) << "no rule looks at tokens";
}

TEST_F(HttpExplain, SaysWhyADescriptorLeadsNowhere) {
  EXPECT_EQ(explain(R"({"domain":"edge","entries":{"key":"a"}})"),
            R"({"mode":"local","applies":[],"because":"no descriptor leads there"})");
  EXPECT_EQ(explain(R"({"domain":"egde","entries":{"user":"a"}})"),
            R"({"mode":"local","applies":[],"because":"no such domain"})");
}

TEST_F(HttpExplain, RefusesWhatMakesNoSense) {
  for (const std::string_view body :
       {"", "{}", R"({"path":1})", R"({"path":"/","client":"me"})", R"({"path":"/","headers":[]})",
        R"({"path":"/","headers":{"a":1}})", R"({"path":"/","headers":{"a":["b",1]}})",
        R"({"domain":"d","entries":{}})", R"({"rule":"named"})", R"({"pth":"/"})"}) {
    EXPECT_EQ(door_->ask(post("/v1/explain", body)).status, 400) << body;
  }
  EXPECT_EQ(door_->ask(post("/v1/explain", R"({"rule":"x","key":"a"})")).status, 404);
}

}  // namespace
}  // namespace weir
