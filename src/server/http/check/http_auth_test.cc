#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Fields = std::map<std::string, std::string>;

RequestMatch at_path(std::string path) {
  RequestMatch match;
  match.paths.emplace_back(std::move(path));
  return match;
}

Rule per_client(std::string id, RequestMatch match, std::int64_t limit, std::string group = "") {
  return {.id = std::move(id),
          .quota = *Quota::make({.limit = limit, .window = std::chrono::minutes(1)}),
          .group = std::move(group),
          .match = std::move(match),
          .key_parts = {{.property = KeyPart::Property::kClient}}};
}

TestDoor::Options one_login_a_minute() {
  return {.rules = {per_client("login", at_path("/login"), 1)}, .access = {}};
}

std::string ask_auth(std::string_view target, const Fields& fields,
                     std::string_view method = "GET") {
  std::string request =
      std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: weir\r\n";
  for (const auto& [name, value] : fields) request += name + ": " + value + "\r\n";
  return request + "\r\n";
}

const Fields kForwarded = {{"X-Forwarded-Method", "POST"},
                           {"X-Forwarded-Uri", "/login?next=/"},
                           {"X-Forwarded-Host", "Example.com:8080"},
                           {"X-Forwarded-For", "192.0.2.1"}};

// A proxy, what it sends, and what it is answered with: allowed once, then denied.
struct ProxyCase {
  const char* what;
  const char* target;
  const char* method;
  Fields fields;
  int allow;
  int deny;
};

TEST(ForwardAuth, HoursAreThoseOfTheWallClock) {
  auto options = one_login_a_minute();
  options.rules[0].active = Schedule::make({.from = 8h, .to = 9h});
  TestDoor door(std::move(options));
  const std::string request = ask_auth("/auth", kForwarded);  // at 8:51
  EXPECT_EQ(door.ask(request).status, 200);
  EXPECT_EQ(door.ask(request).status, 429);
  door.engine.set_wall_lead(1h);
  EXPECT_EQ(door.ask(request).status, 200);
  const std::string explained = door.ask(post("/v1/explain", R"({"path":"/login"})")).body;
  EXPECT_NE(explained.find(R"("because":"active")"), std::string::npos) << explained;
  door.engine.set_wall_lead(0s);
  EXPECT_EQ(door.ask(request).status, 429);
}

TEST(ForwardAuth, UnderstandsEachKindOfProxy) {
  for (const ProxyCase& c : {
           ProxyCase{"Traefik or Caddy", "/auth", "GET", kForwarded, 200, 429},
           ProxyCase{"Caddy with its client's query", "/auth?deny=200", "GET", kForwarded, 200,
                     429},
           ProxyCase{"nginx",
                     "/auth/nginx",
                     "GET",
                     {{"X-Original-Method", "POST"},
                      {"X-Original-URI", "/login?next=/"},
                      {"X-Real-IP", "192.0.2.1"}},
                     204,
                     403},
           ProxyCase{"nginx with other answers",
                     "/auth/nginx?allow=200&deny=429",
                     "GET",
                     {{"X-Original-Method", "POST"},
                      {"X-Original-URI", "/login"},
                      {"X-Real-IP", "192.0.2.1"}},
                     200,
                     429},
           ProxyCase{"ingress-nginx",
                     "/auth/ingress-nginx",
                     "GET",
                     {{"X-Original-Method", "POST"},
                      {"X-Original-URL", "https://example.com/login?next=/"},
                      {"X-Real-IP", "192.0.2.1"}},
                     200,
                     403},
           ProxyCase{"Envoy's ext_authz",
                     "/auth/envoy/login?deny=200",
                     "POST",
                     {{"X-Forwarded-For", "192.0.2.1"}},
                     200,
                     429},
           ProxyCase{"a HEAD request", "/auth", "HEAD", kForwarded, 200, 429},
       }) {
    TestDoor door(one_login_a_minute());
    const std::string request = ask_auth(c.target, c.fields, c.method);
    const TestReply allowed = door.ask(request);
    EXPECT_EQ(allowed.status, c.allow) << c.what;
    EXPECT_EQ(allowed.body, "") << c.what;
    const TestReply denied = door.ask(request);
    EXPECT_EQ(denied.status, c.deny) << c.what;
    EXPECT_EQ(denied.fields.at("retry-after"), "60") << c.what;
    EXPECT_EQ(denied.fields.at("ratelimit"), R"("login";r=0;t=60)") << c.what;
  }
}

const Fields kNginx = {
    {"X-Original-Method", "POST"}, {"X-Original-URI", "/login"}, {"X-Real-IP", "192.0.2.1"}};

TEST(ForwardAuth, A204HasNoBodyAndNoLength) {
  TestDoor door(one_login_a_minute());
  const std::string reply = door.converse(ask_auth("/auth/nginx", kNginx));
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 204 No Content\r\n")) << reply;
  EXPECT_EQ(reply.find("Content-"), std::string::npos) << reply;
  EXPECT_TRUE(reply.ends_with("\r\n\r\n")) << reply;
}

TEST(ForwardAuth, RefusesAPathOfTooManyReadingsOrLimits) {
  std::vector<Rule> rules;
  for (int i = 0; i < 9; ++i) {
    const std::string id = "rule-" + std::to_string(i);
    rules.push_back(per_client(id, RequestMatch(), 100, id));
    rules.back().key_parts = {{.property = KeyPart::Property::kPath}};
  }
  TestDoor door({.rules = rules, .access = {}});
  const auto ask = [&](std::string path) {
    Fields fields = kForwarded;
    fields["X-Forwarded-Uri"] = std::move(path);
    return door.ask(ask_auth("/auth", fields));
  };
  EXPECT_EQ(ask("/x").status, 200);
  const TestReply many_limits = ask("/x;y");
  EXPECT_EQ(many_limits.status, 400);
  EXPECT_NE(many_limits.body.find("16 limits"), std::string::npos) << many_limits.body;
  const TestReply many_readings = ask("//a;b%2f..%5c..%2fc/../d%253f");
  EXPECT_EQ(many_readings.status, 400);
  EXPECT_NE(many_readings.body.find("4 ways"), std::string::npos) << many_readings.body;
}

TEST(ForwardAuth, TellsTheLimitsOfAllRules) {
  TestDoor door({.rules = {per_client("wide", RequestMatch(), 100, "a"),
                           per_client("narrow", RequestMatch(), 2, "b")},
                 .access = {}});
  const TestReply reply = door.ask(ask_auth("/auth", kForwarded));
  EXPECT_EQ(reply.fields.at("ratelimit"), R"("wide";r=99;t=60, "narrow";r=1;t=60)");
  EXPECT_EQ(reply.fields.at("ratelimit-policy"), R"("wide";q=100;w=60, "narrow";q=2;w=60)");
}

TEST(ForwardAuth, ClientsAreCountedApartAndTheirForgeriesIgnored) {
  TestDoor door(one_login_a_minute());
  const auto status = [&](const Fields& changes) {
    Fields fields = kForwarded;
    for (const auto& [name, value] : changes) fields[name] = value;
    return door.ask(ask_auth("/auth", fields)).status;
  };
  EXPECT_EQ(status({}), 200);
  EXPECT_EQ(status({{"X-Forwarded-For", "203.0.113.7, 192.0.2.1"}}), 429);
  EXPECT_EQ(status({{"X-Real-IP", "203.0.113.7"}}), 429);
  EXPECT_EQ(status({{"X-Original-URI", "/harmless"}, {"X-Original-Method", "GET"}}), 429);
  EXPECT_EQ(status({{"X-Forwarded-For", "192.0.2.2"}}), 200);
}

TEST(ForwardAuth, RefusesStrangersAndProxiesThatSayTooLittle) {
  TestDoor door(one_login_a_minute());
  EXPECT_EQ(door.ask(ask_auth("/auth/nginx", kForwarded)).status, 400);
  EXPECT_EQ(door.ask(ask_auth("/auth", kNginx)).status, 400);
  EXPECT_EQ(door.ask(ask_auth("/auth", {{"X-Forwarded-Uri", "/login"}})).status, 400);
  EXPECT_EQ(door.ask(ask_auth("/auth/ingress-nginx",
                              {{"X-Original-Method", "GET"}, {"X-Original-URL", "/login"}}))
                .status,
            400);
  EXPECT_EQ(door.ask(ask_auth("/auth/apache", kForwarded)).status, 404);
  EXPECT_EQ(door.ask(ask_auth("/auth/nginx/x", kNginx)).status, 404);
  EXPECT_EQ(door.ask(ask_auth("/auth/nginx?allow=201", kNginx)).status, 400);
  EXPECT_EQ(door.ask(ask_auth("/auth/nginx?deny=500", kNginx)).status, 400);
  EXPECT_EQ(door.ask(ask_auth("/auth/nginx?client=x-client", kNginx)).status, 400);
  EXPECT_EQ(door.ask(ask_auth("/auth/nginx?denny=403", kNginx)).status, 400);
  EXPECT_EQ(door.ask(ask_auth("/authority", kForwarded)).status, 404);

  door.peer.address = IpAddress::parse("203.0.113.7");
  const TestReply reply = door.ask(ask_auth("/auth", kForwarded));
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("trusted_proxies"), std::string::npos) << reply.body;
  door.peer.address = IpAddress::parse("127.0.0.1");
  EXPECT_EQ(door.ask(ask_auth("/auth", kForwarded)).status, 200);
}

TEST(ForwardAuth, ADenialIsAnsweredAsItsRuleSays) {
  Rule rule = per_client("login", at_path("/login"), 0);
  rule.denial.status = 403;
  rule.denial.content_type = "application/json";
  rule.denial.body = *TextTemplate::parse(R"({"error":"no","to":"{{header:x-name}}"})");
  rule.denial.headers.push_back({.name = "IP", .value = *TextTemplate::parse("{{client}}")});
  TestDoor door({.rules = {rule}, .access = {}});
  Fields fields = kForwarded;
  fields["X-Name"] = R"("}<b>)";
  const TestReply reply = door.ask(ask_auth("/auth", fields));
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.body, R"({"error":"no","to":"\"}<b>"})");
  EXPECT_EQ(reply.fields.at("content-type"), "application/json");
  EXPECT_EQ(reply.fields.at("ip"), "192.0.2.1");
  EXPECT_TRUE(reply.fields.contains("ratelimit"));
  EXPECT_EQ(door.ask(ask_auth("/auth/nginx", kNginx)).status, 403) << "what nginx understands";
}

// "a@example.com", "example.com/x" and "a.example, example.com" were hosts that no rule knew.
TEST(ForwardAuth, RefusesWhatIsNoHost) {
  TestDoor door(one_login_a_minute());
  for (const std::string host : {"a@example.com", "example.com/x", "a b", "a.example,example.com",
                                 "a.example, example.com", "<a>"}) {
    Fields fields = kForwarded;
    fields["X-Forwarded-Host"] = host;
    EXPECT_EQ(door.ask(ask_auth("/auth", fields)).status, 400) << host;
  }
  for (const std::string uri : {"http://a@example.com/login", "http://a:b@example.com/login",
                                "https://a,b/login", "https://a b/login"}) {
    Fields fields = kForwarded;
    fields["X-Forwarded-Uri"] = uri;
    EXPECT_EQ(door.ask(ask_auth("/auth", fields)).status, 400) << uri;
  }
  EXPECT_EQ(door.ask(ask_auth("/auth", kForwarded)).status, 200);
}

// Where one of several would do, the origin could take another than the rules.
TEST(ForwardAuth, RefusesHeadersThatMustNotBeRepeated) {
  Rule rule = per_client("login", at_path("/login"), 100);
  rule.match->claims = {{.name = "plan", .value = TextPattern("free")}};
  TestDoor door({.rules = {rule}, .access = {}});
  for (const std::string header : {"Authorization: Bearer a\r\n", "X-Forwarded-Uri: /\r\n",
                                   "x-forwarded-method: GET\r\n", "X-Forwarded-Host: h\r\n"}) {
    std::string request = ask_auth("/auth", kForwarded);
    request.insert(request.size() - 2, header + header);
    EXPECT_EQ(door.ask(request).status, 400) << header;
  }
  std::string once = ask_auth("/auth", kForwarded);
  once.insert(once.size() - 2, "Authorization: Bearer a\r\n");
  EXPECT_EQ(door.ask(once).status, 200);
}

TEST(ForwardAuth, SaysWhenTheStoreCannotAnswer) {
  TestDoor door(one_login_a_minute());
  door.store.broken = true;
  EXPECT_EQ(door.ask(ask_auth("/auth", kForwarded)).status, 503);
}

// Any from 400 to 599, which need not have a name.
TEST(ForwardAuth, ADenialHasTheStatusOfItsRule) {
  for (const int status : {402, 418, 429, 599}) {
    Rule rule{.id = "r", .quota = *Quota::make({.limit = 0, .window = std::chrono::minutes(1)})};
    rule.match.emplace();
    rule.denial.status = status;
    TestDoor door({.rules = {rule}, .access = {}});
    EXPECT_EQ(door.ask(get("/auth",
                           "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /\r\n"
                           "X-Forwarded-Host: h\r\n"))
                  .status,
              status);
  }
}

}  // namespace
}  // namespace weir
