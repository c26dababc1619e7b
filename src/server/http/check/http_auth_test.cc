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

TEST(ForwardAuth, RulesSeeTheRequestThatTheProxyHolds) {
  RequestMatch match = at_path("/login");
  match.methods = {"POST"};
  match.hosts.emplace_back("example.com");
  match.headers.push_back({.name = "X-Plan", .value = TextPattern("gold")});
  TestDoor door({.rules = {per_client("login", match, 0)}, .access = {}});
  const auto status = [&](const Fields& changes) {
    Fields fields = kForwarded;
    fields["X-Plan"] = "gold";
    for (const auto& [name, value] : changes) fields[name] = value;
    return door.ask(ask_auth("/auth", fields)).status;
  };
  EXPECT_EQ(status({}), 429);
  EXPECT_EQ(status({{"X-Forwarded-Uri", "//x/..//%6Cogin"}}), 429);
  EXPECT_EQ(status({{"X-Forwarded-Uri", "/login#x"}}), 429);
  EXPECT_EQ(status({{"X-Forwarded-Uri", "/login#?x"}}), 429);
  EXPECT_EQ(status({{"X-Forwarded-Uri", "/x/..%2flogin"}}), 429);
  EXPECT_EQ(status({{"X-Forwarded-Host", "example.com."}}), 429);
  EXPECT_EQ(status({{"X-Forwarded-Method", "GET"}}), 200);
  EXPECT_EQ(status({{"X-Forwarded-Uri", "/logins"}}), 200);
  EXPECT_EQ(status({{"X-Forwarded-Host", "example.org"}}), 200);
  EXPECT_EQ(status({{"X-Plan", "silver"}}), 200);
}

// Tomcat cuts a segment at ';' before it decodes, so each of these is /login to it, and /login
// charges each once.
TEST(ForwardAuth, TheRulesOfAllReadingsOfAPathApply) {
  const Fields nginx = {{"X-Original-Method", "POST"}, {"X-Real-IP", "192.0.2.1"}};
  for (const auto* path : {"/login;%2f..%2fx", "/login;a%2fb", "/login;%2f..%2fstatic",
                           "/x/..;/login", "/login%3Fx"}) {
    TestDoor door({.rules = {per_client("static", at_path("/static*"), 100),
                             per_client("login", at_path("/login"), 3)},
                   .access = {}});
    for (int i = 0; i < 6; ++i) {
      Fields fields = i % 2 == 0 ? kForwarded : nginx;
      fields[i % 2 == 0 ? "X-Forwarded-Uri" : "X-Original-URI"] = path;
      const TestReply reply = door.ask(ask_auth(i % 2 == 0 ? "/auth" : "/auth/nginx", fields));
      EXPECT_EQ(reply.status < 300, i < 3) << path << " " << i << " " << reply.status;
    }
  }
}

TEST(ForwardAuth, AKeyOfThePathCountsEachReading) {
  Rule rule = per_client("path", RequestMatch(), 2);
  rule.key_parts = {{.property = KeyPart::Property::kPath}};
  TestDoor door({.rules = {rule}, .access = {}});
  const auto ask = [&](std::string path) {
    Fields fields = kForwarded;
    fields["X-Forwarded-Uri"] = std::move(path);
    return door.ask(ask_auth("/auth", fields)).status;
  };
  EXPECT_EQ(ask("/login;1%2f"), 200);
  EXPECT_EQ(ask("/login;2%2f"), 200);
  EXPECT_EQ(ask("/login;3%2f"), 429);
  EXPECT_EQ(ask("/login"), 429);
  EXPECT_EQ(ask("/login;1"), 429);
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

TEST(ForwardAuth, WithoutARuleEverythingPassesAndNothingIsSaid) {
  TestDoor door;
  const TestReply reply = door.ask(ask_auth("/auth", kForwarded));
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.fields.contains("ratelimit"));
  EXPECT_EQ(door.store.batches, 0);
}

TEST(ForwardAuth, OneDenialChargesNoRule) {
  TestDoor door({.rules = {per_client("site", RequestMatch(), 10, "site"),
                           per_client("login", at_path("/login"), 1, "path")},
                 .access = {}});
  Fields elsewhere = kForwarded;
  elsewhere["X-Forwarded-Uri"] = "/";
  EXPECT_EQ(door.ask(ask_auth("/auth", kForwarded)).status, 200);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(door.ask(ask_auth("/auth", kForwarded)).status, 429);
  const TestReply reply = door.ask(ask_auth("/auth", elsewhere));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.fields.at("x-ratelimit-remaining"), "8");
}

TEST(ForwardAuth, ShowsTheRuleThatPressesMost) {
  TestDoor door({.rules = {per_client("wide", RequestMatch(), 100, "a"),
                           per_client("narrow", RequestMatch(), 2, "b")},
                 .access = {}});
  const TestReply reply = door.ask(ask_auth("/auth", kForwarded));
  EXPECT_EQ(reply.fields.at("x-ratelimit-limit"), "2");
}

TEST(ForwardAuth, TellsTheLimitsOfAllRules) {
  TestDoor door({.rules = {per_client("wide", RequestMatch(), 100, "a"),
                           per_client("narrow", RequestMatch(), 2, "b")},
                 .access = {}});
  const TestReply reply = door.ask(ask_auth("/auth", kForwarded));
  EXPECT_EQ(reply.fields.at("ratelimit"), R"("wide";r=99;t=60, "narrow";r=1;t=60)");
  EXPECT_EQ(reply.fields.at("ratelimit-policy"), R"("wide";q=100;w=60, "narrow";q=2;w=60)");
}

TEST(ForwardAuth, OfTwoDenialsShowsTheOneThatLastsLonger) {
  Rule blocks = per_client("blocks", RequestMatch(), 1, "b");
  blocks.denial.blocks = {std::chrono::minutes(5)};
  TestDoor door({.rules = {per_client("short", RequestMatch(), 1, "a"), blocks}, .access = {}});
  door.ask(ask_auth("/auth", kForwarded));
  door.ask(ask_auth("/auth", kForwarded));
  const TestReply reply = door.ask(ask_auth("/auth", kForwarded));
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.fields.at("retry-after"), "300");
}

TEST(ForwardAuth, ShadowRulesCountButNeverDeny) {
  Rule shadow = per_client("shadow", RequestMatch(), 0, "a");
  shadow.shadow = true;
  TestDoor door({.rules = {shadow, per_client("login", RequestMatch(), 1, "b")}, .access = {}});
  const TestReply reply = door.ask(ask_auth("/auth", kForwarded));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.fields.at("ratelimit"), R"("login";r=0;t=60)");
  EXPECT_EQ(door.traffic.summary(door.now).total_denied(), 1u);
  EXPECT_EQ(door.ask(ask_auth("/auth", kForwarded)).status, 429);
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
  rule.denial.body =
      std::get<TextTemplate>(TextTemplate::parse(R"({"error":"no","to":"{{header:x-name}}"})"));
  rule.denial.headers.push_back(
      {.name = "IP", .value = std::get<TextTemplate>(TextTemplate::parse("{{client}}"))});
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

TEST(ForwardAuth, ADenialBlocksTheClient) {
  Rule rule = per_client("login", at_path("/login"), 1);
  rule.denial.blocks = {std::chrono::minutes(5)};
  TestDoor door({.rules = {rule}, .access = {}});
  const auto ask = [&] { return door.ask(ask_auth("/auth", kForwarded)); };
  EXPECT_EQ(ask().status, 200);
  const TestReply first = ask();
  EXPECT_EQ(first.status, 429);
  EXPECT_EQ(first.fields.at("retry-after"), "300") << "the denial that starts the block";
  EXPECT_EQ(first.fields.at("ratelimit"), R"("login";r=0;t=300)");
  const int batches = door.store.batches;
  EXPECT_EQ(ask().fields.at("retry-after"), "300");
  EXPECT_EQ(door.store.batches, batches) << "a block is found before any counter";
}

TEST(ForwardAuth, CostsAndTiersComeFromTheRequest) {
  Rule rule = per_client("api", RequestMatch(), 10);
  rule.cost_from = KeyPart{.property = KeyPart::Property::kHeader, .name = "X-Cost"};
  rule.tier = KeyPart{.property = KeyPart::Property::kHeader, .name = "X-Plan"};
  rule.tiers["gold"] = {*Quota::make({.limit = 100, .window = std::chrono::minutes(1)})};
  TestDoor door({.rules = {rule}, .access = {}});
  const auto remaining = [&](std::string cost, std::string plan) {
    Fields fields = kForwarded;
    fields["X-Cost"] = std::move(cost);
    fields["X-Plan"] = std::move(plan);
    return door.ask(ask_auth("/auth", fields)).fields.at("x-ratelimit-remaining");
  };
  EXPECT_EQ(remaining("3", ""), "7");
  EXPECT_EQ(remaining("-5", ""), "6") << "nobody gives units back by a header";
  EXPECT_EQ(remaining("0", ""), "5");
  EXPECT_EQ(remaining("many", "silver"), "4");
  EXPECT_EQ(remaining("-99999999999999999999", ""), "3");
  EXPECT_EQ(remaining("99999999999999999999", ""), "3") << "more than a number holds is denied";
  EXPECT_EQ(remaining("4", "gold"), "89");
  std::string twice = ask_auth("/auth", kForwarded);
  twice.insert(twice.size() - 2, "X-Plan: gold\r\nX-Cost: 1\r\nX-Cost: 50\r\n");
  EXPECT_EQ(door.ask(twice).fields.at("x-ratelimit-remaining"), "39") << "the largest";
}

// "X-App: other" before "X-App: web" evaded a rule for web, and each new X-Key before one's own
// was a fresh counter.
TEST(ForwardAuth, RepeatedHeadersEvadeNoRule) {
  Rule rule = per_client("web", RequestMatch(), 1);
  rule.match->headers = {{.name = "X-App", .value = TextPattern("web")}};
  rule.key_parts = {{.property = KeyPart::Property::kHeader, .name = "X-Key"}};
  TestDoor door({.rules = {rule}, .access = {}});
  const auto status = [&](std::string_view headers) {
    std::string request = ask_auth("/auth", kForwarded);
    request.insert(request.size() - 2, headers);
    return door.ask(request).status;
  };
  EXPECT_EQ(status("X-App: web\r\nX-Key: mine\r\n"), 200);
  EXPECT_EQ(status("X-App: web\r\nX-Key: mine\r\n"), 429);
  EXPECT_EQ(status("X-App: other\r\nX-App: web\r\nX-Key: mine\r\n"), 429);
  EXPECT_EQ(status("X-App: web\r\nX-Key: mine\r\nX-Key: mine\r\n"), 429);
  EXPECT_EQ(status("X-App: web\r\nX-Key: 1\r\nX-Key: mine\r\n"), 200) << "as without a key";
  EXPECT_EQ(status("X-App: web\r\nX-Key: 2\r\nX-Key: mine\r\n"), 429);
  EXPECT_EQ(status("X-App: web\r\nX-Key: 3\r\nX-Key: 4\r\nX-Key: mine\r\n"), 429);
  EXPECT_EQ(status("X-App: web\r\n"), 429);

  EXPECT_EQ(status("X-App: other, web\r\nX-Key: mine\r\n"), 429) << "joined by a proxy";
  EXPECT_EQ(status("X-App: web\r\nX-Key: mine, mine\r\n"), 429);
  EXPECT_EQ(status("X-App: web\r\nX-Key: 5, mine\r\n"), 429);
}

// Clients without a key, or with a forged one, shared one counter: each spent the others' limit.
TEST(ForwardAuth, ClientsWithoutAKeyDoNotShareACounter) {
  Rule rule = per_client("api", RequestMatch(), 1);
  rule.key_parts = {{.property = KeyPart::Property::kHeader, .name = "X-Key"}};
  TestDoor door({.rules = {rule}, .access = {}});
  const auto status = [&](const char* client, const char* key) {
    Fields fields = kForwarded;
    fields["X-Forwarded-For"] = client;
    if (*key != '\0') fields["X-Key"] = key;
    return door.ask(ask_auth("/auth", fields)).status;
  };
  EXPECT_EQ(status("192.0.2.1", ""), 200);
  EXPECT_EQ(status("192.0.2.1", ""), 429);
  EXPECT_EQ(status("192.0.2.2", ""), 200) << "a stranger";
  EXPECT_EQ(status("192.0.2.3", "client 192.0.2.4"), 200);
  EXPECT_EQ(status("192.0.2.4", ""), 200) << "whose name somebody has sent";
}

// "GET http://example.com/login" was the path /http:/example.com/login.
TEST(ForwardAuth, AWholeUrlEvadesNoRule) {
  Rule rule = per_client("login", at_path("/login"), 0);
  rule.match->hosts = {TextPattern("example.com")};
  TestDoor door({.rules = {rule}, .access = {}});
  const auto status = [&](std::string uri) {
    Fields fields = kForwarded;
    fields["X-Forwarded-Uri"] = std::move(uri);
    return door.ask(ask_auth("/auth", fields)).status;
  };
  EXPECT_EQ(status("http://example.com/login"), 429);
  EXPECT_EQ(status("HTTPS://Example.com:443//login?a=://b"), 429);
  EXPECT_EQ(status("http://other.example/login"), 200);
  EXPECT_EQ(status("/http://example.com/login"), 200);
  EXPECT_EQ(status("*"), 200);
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

// One rule, one counter: through /auth and by the rule's name.
TEST(ForwardAuth, SharesItsCountersWithChecksByName) {
  TestDoor door(one_login_a_minute());
  EXPECT_EQ(door.ask(ask_auth("/auth", kForwarded)).status, 200);
  const TestReply reply = door.ask(post("/check", R"({"rule":"login","key":"192.0.2.1"})"));
  EXPECT_NE(reply.body.find("\"allowed\":false"), std::string::npos) << reply.body;
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
