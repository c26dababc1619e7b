#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using Kind = TenantChange::Kind;

TEST(HttpTenants, AreShownOneByOneWithTheirVersion) {
  TestDoor door;
  TestReply one = door.ask(get("/admin/tenants/a%6en"));
  EXPECT_EQ(one.body, R"({"key":"ann","limit":7,"version":3})");
  EXPECT_EQ(one.fields["etag"], '"' + door.tenants.view().tag() + '"');
  EXPECT_EQ(one.fields["etag"].substr(0, 3), "\"3-");
  EXPECT_EQ(door.ask(get("/admin/tenants/bob")).status, 404);
  EXPECT_EQ(door.ask(get("/admin/tenants")).body.substr(0, 34),
            R"({"version":3,"rows":1,"plans":[],")");
}

TEST(HttpTenants, AreChangedByMethod) {
  TestDoor door;
  door.tenants.outcome.outcome = ChangeOutcome::kAdded;
  const TestReply reply =
      door.ask(request("PUT", "/admin/tenants/a%2Fb", R"({"limit":1})", "If-Match: \"3-9\"\r\n"));
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.body, R"({"version":3,"rows":1})");
  EXPECT_EQ(door.tenants.last.kind, Kind::kPut);
  EXPECT_EQ(door.tenants.last.key, "a/b");
  EXPECT_EQ(door.tenants.last.text, R"({"limit":1})");
  EXPECT_EQ(door.tenants.last.if_tag, "3-9");
  door.tenants.outcome = {
      .outcome = ChangeOutcome::kConflict, .detail = "no", .view = door.tenants.view()};
  EXPECT_EQ(door.ask(request("DELETE", "/admin/tenants/ann", "")).status, 409);
  EXPECT_EQ(door.tenants.last.kind, Kind::kRemove);
  door.tenants.outcome = {.outcome = ChangeOutcome::kNotNow,
                          .view = door.tenants.view(),
                          .retry_after = std::chrono::milliseconds(1500)};
  TestReply busy = door.ask(request("DELETE", "/admin/tenants/ann", ""));
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.fields["retry-after"], "2");
  door.tenants.outcome = {.view = door.tenants.view(), .waiting = 5};
  EXPECT_EQ(door.ask(request("PUT", "/admin/tenants?load=x-1&part=2&of=3", "key,limit")).body,
            R"({"version":3,"rows":1,"waiting":5})");
  EXPECT_EQ(door.tenants.last.kind, Kind::kReplace);
  EXPECT_EQ(door.tenants.last.part->load, "x-1");
  EXPECT_EQ(door.tenants.last.part->number, 2u);
  EXPECT_EQ(door.tenants.last.part->of, 3u);
  door.ask(request("PATCH", "/admin/tenants", "key,limit"));
  EXPECT_EQ(door.tenants.last.kind, Kind::kMerge);
  EXPECT_FALSE(door.tenants.last.part.has_value());
  EXPECT_EQ(door.ask(request("DELETE", "/admin/tenants?load=x&part=1&of=1", "")).status, 400);
  EXPECT_EQ(door.tenants.last.kind, Kind::kMerge);
  EXPECT_EQ(door.ask(request("DELETE", "/admin/tenants", R"({"key":"ann"})")).status, 400);
  EXPECT_EQ(door.ask(request("DELETE", "/admin/tenants", "")).status, 200);
  EXPECT_EQ(door.tenants.last.kind, Kind::kClear);
  EXPECT_EQ(door.ask(request("POST", "/admin/tenants", "")).fields["allow"],
            "GET, HEAD, PUT, PATCH, DELETE");
}

TEST(HttpTenants, TakeNoPartThatIsNone) {
  TestDoor door;
  for (const char* query :
       {"load=&part=1&of=1", "load=x%20y&part=1&of=1", "load=x&part=0&of=1", "load=x&part=2&of=1",
        "load=x&part=1&of=1025", "load=x", "part=1&of=1", "load=x&part=1&of=1&other=1"}) {
    EXPECT_EQ(door.ask(request("PUT", std::string("/admin/tenants?") + query, "")).status, 400)
        << query;
  }
  for (const std::string tag : {"3", "", "\"\""}) {
    EXPECT_EQ(
        door.ask(request("PUT", "/admin/tenants/ann", "{}", "If-Match: " + tag + "\r\n")).status,
        412)
        << tag;
  }
}

// If one of several tags is current, the desk judges it, else the last tag. A list was refused
// before.
TEST(HttpTenants, AreMeantForAnyOfSeveralTables) {
  TestDoor door;
  const std::string now = door.tenants.view().tag();
  const std::string tag = '"' + now + '"';
  const auto put_if = [&](const std::string& fields) {
    door.tenants.last = {};
    return door.ask(request("PUT", "/admin/tenants/ann", "{}", fields)).status;
  };
  for (const auto& [value, meant] :
       std::vector<std::pair<std::string, std::string>>{{tag, now},
                                                        {"\"1-1\", " + tag, now},
                                                        {tag + ",\"1-1\"", now},
                                                        {" , \"1-1\" ,,\t" + tag + " , ", now},
                                                        {"W/\"1-1\"," + tag, now},
                                                        {"W/" + tag + ", \"1-1\"", "1-1"},
                                                        {"\"1-1\", \"2-2\"", "2-2"},
                                                        {"\"a, b\", W/\"2-2\"", "a, b"}}) {
    EXPECT_EQ(put_if("If-Match: " + value + "\r\n"), 200) << value;
    EXPECT_EQ(door.tenants.last.if_tag, meant) << value;
  }
  EXPECT_EQ(put_if("If-Match: \"1-1\"\r\nIf-Match: " + tag + "\r\n"), 200);
  EXPECT_EQ(door.tenants.last.if_tag, now);
  for (const auto& value : std::vector<std::string>{
           tag + " \"1-1\"", tag + ", 3", "*, " + tag, "W/" + tag, "w/" + tag, "W/ " + tag, "W/",
           tag + ", \"", ",", tag + "W/\"1-1\"", "W/W/" + tag, "x" + tag}) {
    EXPECT_EQ(put_if("If-Match: " + value + "\r\n"), 412) << value;
  }
  EXPECT_EQ(put_if("If-Match: *\r\nIf-Match: " + tag + "\r\n"), 412);
  EXPECT_EQ(door.tenants.last.key, "") << "nothing of it came to the desk";
}

// Once * was no condition.
TEST(HttpTenants, AreOnlyChangedIfThereIsARow) {
  TestDoor door;
  const auto ask = [&](const char* method, const char* path) {
    return door.ask(request(method, path, "{}", "If-Match: *\r\n")).status;
  };
  EXPECT_EQ(ask("PUT", "/admin/tenants/ann"), 200);
  EXPECT_EQ(door.tenants.last.if_tag, std::nullopt);
  EXPECT_EQ(ask("PATCH", "/admin/tenants"), 200);
  door.tenants.last = {};
  EXPECT_EQ(ask("PUT", "/admin/tenants/bob"), 412);
  EXPECT_EQ(door.tenants.last.key, "");
}

TEST(HttpTenants, TakeNoKeyThatIsBadlyEncoded) {
  TestDoor door;
  for (const std::string key : {"%zz", "%", "a%2", "%25%"}) {
    for (const char* const method : {"GET", "PUT", "DELETE"}) {
      const TestReply reply = door.ask(request(method, "/admin/tenants/" + key, ""));
      EXPECT_EQ(reply.status, 400) << method << key;
      EXPECT_NE(reply.body.find("a % itself is %25"), std::string::npos) << reply.body;
    }
  }
  door.ask(request("PUT", "/admin/tenants/%25zz", "{}"));
  EXPECT_EQ(door.tenants.last.key, "%zz");
}

// So that logs of addresses do not have it.
TEST(HttpTenants, HaveTheirKeyInTheBodyInstead) {
  TestDoor door;
  TestReply one = door.ask(post("/admin/tenant", R"({"key":"ann"})"));
  EXPECT_EQ(one.body, R"({"key":"ann","limit":7,"version":3})");
  EXPECT_EQ(one.fields["etag"], '"' + door.tenants.view().tag() + '"');
  EXPECT_EQ(door.ask(post("/admin/tenant", R"({"key":"a%6en"})")).status, 404);
  EXPECT_EQ(door.ask(request("PUT", "/admin/tenant", R"({"key":"a/%2F\u0020é","limit":1})")).status,
            200);
  EXPECT_EQ(door.tenants.last.kind, Kind::kPut);
  EXPECT_EQ(door.tenants.last.key, "a/%2F é");
  EXPECT_EQ(door.tenants.last.text, R"({"key":"a/%2F\u0020é","limit":1})");
  EXPECT_EQ(door.tenants.last.if_version, std::nullopt);
  door.ask(request("DELETE", "/admin/tenant", R"({"key":"ann"})", "If-Match: \"3-9\"\r\n"));
  EXPECT_EQ(door.tenants.last.kind, Kind::kRemove);
  EXPECT_EQ(door.tenants.last.key, "ann");
  EXPECT_EQ(door.tenants.last.if_tag, "3-9");
  door.tenants.last = {};
  for (const char* const method : {"POST", "PUT", "DELETE"}) {
    for (const char* const body :
         {"", "{}", "[]", R"({"key":""})", R"({"key":5})", R"({"key":"a","key":"b"})",
          R"({"key":"a","rows":1})", "{\"key\":\"\xff\"}"}) {
      EXPECT_EQ(door.ask(request(method, "/admin/tenant", body)).status, 400) << method << body;
    }
  }
  EXPECT_EQ(door.ask(post("/admin/tenant", R"({"key":"ann","limit":1})")).status, 400) << "a look";
  EXPECT_EQ(door.ask(request("DELETE", "/admin/tenant", R"({"key":"ann","limit":7})")).status, 400);
  EXPECT_EQ(door.tenants.last.key, "") << "nothing of it came to the desk";
  EXPECT_EQ(door.ask(get("/admin/tenant")).status, 405);
}

TEST(HttpTenants, TakeWhatTheyAnswered) {
  TestDoor door;
  for (const std::string path : {"/admin/tenant", "/admin/tenants/ann"}) {
    const std::string answer = door.ask(get("/admin/tenants/ann")).body;
    EXPECT_EQ(door.ask(request("PUT", path, answer)).status, 200);
    EXPECT_EQ(door.tenants.last.key, "ann");
    EXPECT_EQ(door.tenants.last.text, answer);
    EXPECT_EQ(door.tenants.last.if_version, 3u);
    door.ask(request("DELETE", path, R"({"key":"ann","version":0})"));
    EXPECT_EQ(door.tenants.last.kind, Kind::kRemove);
    EXPECT_EQ(door.tenants.last.if_version, 0u);
  }
  door.ask(request("DELETE", "/admin/tenants/ann", ""));
  EXPECT_EQ(door.tenants.last.if_version, std::nullopt);
  for (const char* const version : {"-1", "1.5", "\"3\"", "null", "1e99"}) {
    const std::string body = std::string(R"({"limit":1,"version":)") + version + "}";
    const TestReply reply = door.ask(request("PUT", "/admin/tenants/ann", body));
    EXPECT_EQ(reply.status, 400) << version;
    EXPECT_NE(reply.body.find("version"), std::string::npos) << reply.body;
  }
  EXPECT_EQ(door.ask(request("PUT", "/admin/tenants/bob", R"({"key":"ann","limit":1})")).status,
            400);
  // A body may repeat a key that is not UTF-8 as answers show it, with '?'.
  EXPECT_EQ(door.ask(request("PUT", "/admin/tenants/a%ff", R"({"key":"a?","limit":1})")).status,
            200);
  EXPECT_EQ(door.tenants.last.key, "a\xff");
}

TEST(HttpTenants, AreInWhatIsExplained) {
  const Quota quota = *Quota::make({.limit = 5, .window = std::chrono::minutes(1)});
  TestDoor door({.rules = {{.id = "api", .quota = quota, .has_tenants = true}}});
  const auto explained = [&](const std::string& key) {
    return door.ask(get("/v1/explain?rule=api&key=" + key)).body;
  };
  EXPECT_EQ(explained("ann").find("tenant"), std::string::npos);
  door.engine.tenants = door.tenants.view().table;
  EXPECT_NE(explained("ann").find(R"("tenant":{"limit":7})"), std::string::npos);
  EXPECT_NE(explained("ann").find(R"("limit":7,)"), std::string::npos);
  EXPECT_EQ(explained("bob").find("tenant"), std::string::npos);
  EXPECT_EQ(explained("bob").find("override"), std::string::npos);
}

TEST(HttpTenants, GiveWayToAnOverride) {
  const Quota quota = *Quota::make({.limit = 5, .window = std::chrono::minutes(1)});
  TestDoor door({.rules = {{.id = "api",
                            .quota = quota,
                            .overrides = {{"ann", {quota}}, {"bob", {quota}}},
                            .has_tenants = true},
                           {.id = "plain", .quota = quota, .overrides = {{"ann", {quota}}}}}});
  door.engine.tenants = door.tenants.view().table;
  for (const char* const asked : {"rule=api&key=ann", "rule=api&key=bob", "rule=plain&key=ann"}) {
    const std::string said = door.ask(get(std::string("/v1/explain?") + asked)).body;
    EXPECT_NE(said.find(R"("override":true)"), std::string::npos) << said;
    EXPECT_EQ(said.find("tenant"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace weir
