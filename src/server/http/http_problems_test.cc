// Every way to be refused, by what the client sees.

#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

struct Case {
  std::string request;
  int status;
  std::string_view type;  // of the problem
  std::string_view part;  // of its JSON
};

TEST(HttpProblems, AreProblemJson) {
  const std::string http = "about:blank";
  const std::string json = "urn:weir:problem:malformed-json";
  const std::string field = "urn:weir:problem:invalid-field";
  for (const Case& c : {
           Case{get("/nothing"), 404, http, R"("title":"Not Found")"},
           Case{get("/chek"), 404, http, "did you mean '/check'?"},
           Case{get("/check/"), 404, http, "did you mean '/check'?"},
           Case{get("/CHECK"), 404, http, "did you mean '/check'?"},
           Case{get("*"), 404, http, "expected one of /check"},
           Case{get("http://host/nothing"), 404, http, ""},
           Case{get("/check"), 405, http, "Methods here: POST."},
           Case{get("/check?key=a"), 405, http, "Methods here: POST."},
           Case{post("/health", ""), 405, http, "Methods here: GET, HEAD."},
           Case{"DELETE /v1/reset HTTP/1.1\r\nHost: a\r\n\r\n", 405, http, "Methods here: POST."},

           Case{post("/check", ""), 400, json, "The body is empty"},
           Case{post("/check", "[]"), 400, json, "not a JSON object"},
           Case{post("/check", "{"), 400, json, "not valid JSON"},
           Case{post("/check", "{\"key\":\"\xFF\"}"), 400, json, "UTF-8"},
           Case{post("/check", "key=a"), 400, json, "not a JSON object"},

           Case{post("/check", "{}"), 400, field, R"("field":"key","expected":"a string of 1)"},
           Case{post("/v1/look", "{}"), 400, field, R"("field":"key")"},
           Case{post("/v1/reset", "{}"), 400, field, R"("field":"key")"},
           Case{post("/v1/check", R"({"checks":[5]})"), 400, field, R"("field":"checks[0]")"},
           Case{post("/check", R"({"checks":[]})"), 400, field, R"("field":"checks")"},
           Case{post("/v1/look", R"({"checks":[]})"), 400, field, R"("field":"checks")"},
           Case{post("/check", R"({"key":"a","limit":5.0,"window":1})"), 400, field,
                R"("detail":"limit: expected an integer from 0 to 1000000000000")"},
           Case{post("/check", R"({"ke\"y":1})"), 400, field, R"("field":"ke\"y")"},
           Case{post("/check", R"({"key":"a","rule":"r"})"), 404, "urn:weir:problem:unknown-rule",
                R"("field":"rule")"},

           Case{get("/admin/denials?limit=5&foo=1"), 400, field,
                R"("detail":"foo: there is no such parameter here; expected one of rule, key,)"},
           Case{get("/admin/denials?sinc=5m"), 400, field, "did you mean 'since'?"},
           Case{get("/admin/busiest?rul=a"), 400, field, R"("field":"rul","expected":"rule")"},
           Case{get("/admin/blocks?Limit=5"), 400, field, "did you mean 'limit'?"},
           Case{get("/admin/events?after=5"), 400, field, "; expected since"},
           Case{get("/admin/rules?id=login"), 400, field, "; expected none"},
           Case{get("/admin/rules/login?persist=true"), 400, field, "; expected none"},
           Case{get("/admin/stats?%ff=1"), 400, field, R"("field":"?","expected":"nothing")"},
           Case{get("/v1/explain?heder:X-App=web"), 400, field, R"("field":"heder:X-App")"},
           Case{post("/v1/explain?path=/", "{}"), 400, field, R"("field":"path")"},
           Case{request("DELETE", "/admin/blocks?rule=login", R"({"key":"a"})"), 400, field,
                R"("field":"rule","expected":"nothing")"},
           Case{request("PATCH", "/admin/rules/login?persists=true", "{}"), 400, field,
                "did you mean 'persist'?"},

           Case{"nonsense\r\n\r\n", 400, http, "not well-formed"},
           Case{"GET / HTTP/1.1\r\n\r\n", 400, http, "requires a Host field"},
           Case{"GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", 417, http, "100-continue"},
           Case{"GET / HTTP/4.0\r\n\r\n", 505, http, "HTTP/1.0 and HTTP/1.1"},
       }) {
    TestDoor door;
    TestReply reply = door.ask(c.request);
    EXPECT_EQ(reply.status, c.status) << c.request;
    EXPECT_EQ(reply.fields["content-type"], "application/problem+json");
    EXPECT_EQ(reply.fields.count("x-process-time"), 1u);
    EXPECT_EQ(reply.fields.count("date"), 1u);
    const std::string start = "{\"type\":\"" + std::string(c.type) + "\",\"title\":\"";
    EXPECT_TRUE(reply.body.starts_with(start)) << reply.body;
    EXPECT_NE(reply.body.find(c.part), std::string::npos) << reply.body;
    EXPECT_NE(reply.body.find("\"status\":" + std::to_string(c.status)), std::string::npos);
  }
}

TEST(HttpProblems, OfTheMethodSayWhichIsAllowed) {
  TestDoor door;
  EXPECT_EQ(door.ask(get("/check")).fields["allow"], "POST");
  EXPECT_EQ(door.ask(post("/metrics", "")).fields["allow"], "GET, HEAD");
}

TEST(HttpProblems, OfContentTypeThereAreNone) {
  const std::string body = R"({"key":"a","limit":1,"window":60})";
  for (const std::string_view type : {"application/x-www-form-urlencoded", "text/plain", "x"}) {
    TestDoor door;
    const auto field = "Content-Type: " + std::string(type) + "\r\n";
    EXPECT_EQ(door.ask(post("/check", body, field)).status, 200);
  }
}

TEST(HttpProblems, TargetsMayBeAbsolute) {
  TestDoor door;
  EXPECT_EQ(door.ask(get("http://host:80/health?x")).status, 200);
  EXPECT_EQ(door.ask(get("http://host")).status, 200);
}

}  // namespace
}  // namespace weir
