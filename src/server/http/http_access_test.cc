#include "server/http/access.h"

#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"
#include "server/http/routes.h"

namespace weir {
namespace {

const HttpAccess kLocal{.exposure = Exposure::kLoopback};
const HttpAccess kOpen{.exposure = Exposure::kNetwork};
const HttpAccess kLocalToken{.exposure = Exposure::kLoopback, .admin_token = "secret"};
const HttpAccess kOpenToken{.exposure = Exposure::kNetwork, .admin_token = "secret"};

int status(const HttpAccess& access, std::string_view authorization) {
  const auto refusal =
      access_refusal(access, {.authorization = authorization, .origin = {}, .host = {}});
  return refusal ? refusal->problem.status : 200;
}

TEST(Access, DependsOnTokenAndExposure) {
  EXPECT_EQ(status(kLocal, ""), 200);
  EXPECT_EQ(status(kLocal, "Bearer whatever"), 200);
  EXPECT_EQ(status(kOpen, ""), 403);
  EXPECT_EQ(status(kOpen, "Bearer whatever"), 403);
  for (const HttpAccess& access : {kLocalToken, kOpenToken}) {
    EXPECT_EQ(status(access, ""), 401);
    EXPECT_EQ(status(access, "Bearer secret"), 200);
    EXPECT_EQ(status(access, "bearer secret"), 200);
    EXPECT_EQ(status(access, "Bearer secre"), 401);
    EXPECT_EQ(status(access, "Bearer secrets"), 401);
    EXPECT_EQ(status(access, "Bearer secretsecret"), 401);
    EXPECT_EQ(status(access, "Bearer Secret"), 401);
    EXPECT_EQ(status(access, "Bearer "), 401);
    EXPECT_EQ(status(access, "Bearer"), 401);
    EXPECT_EQ(status(access, "Basic secret"), 401);
    EXPECT_EQ(status(access, "secret"), 401);
  }
}

// HTTP/1 took the last, HTTP/2 and the reader of tokens the first.
TEST(Access, AnAuthorizationIsSentOnce) {
  TestDoor door({.rules = {}, .access = kOpenToken});
  const std::string start = "GET /admin/stats HTTP/1.1\r\nHost: h\r\n";
  const std::string right = "Authorization: Bearer secret\r\n";
  EXPECT_EQ(door.ask(start + right + "\r\n").status, 200);
  EXPECT_EQ(door.ask(start + "authorization: Bearer x\r\n" + right + "\r\n").status, 400);
  EXPECT_EQ(door.ask(start + right + "Authorization:\r\n\r\n").status, 400);
  EXPECT_EQ(door.ask(start + right + right + right + "\r\n").status, 400);
}

// Any page in the operator's browser can send such a request.
TEST(Access, AWebPageNeedsAToken) {
  EXPECT_EQ(
      access_refusal(kLocal, {.authorization = {}, .origin = "http://evil.example", .host = {}})
          ->problem.status,
      403);
  EXPECT_FALSE(access_refusal(
      kLocalToken,
      {.authorization = "Bearer secret", .origin = "http://console.example", .host = {}}));
  const std::string body = R"({"key":"a","limit":1,"window":60})";
  TestDoor door({.rules = {}, .access = kLocal});
  EXPECT_EQ(door.ask(post("/v1/reset", body, "Origin: null\r\n")).status, 403);
  EXPECT_EQ(door.ask(post("/v1/reset", body)).status, 200);
}

// Its name can be made to lead to 127.0.0.1 after the page was loaded.
TEST(Access, ANameThatLeadsHereNeedsAToken) {
  const auto status = [](std::string_view host) {
    const auto refusal = access_refusal(kLocal, {.authorization = {}, .origin = {}, .host = host});
    return refusal ? refusal->problem.status : 200;
  };
  for (const std::string_view own : {"", "localhost", "LocalHost:8080", "localhost.:80",
                                     "127.0.0.1", "192.0.2.1:8080", "[::1]", "[::1]:8080"}) {
    EXPECT_EQ(status(own), 200) << own;
  }
  for (const std::string_view other :
       {"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
        "[evil]", "[", "localhos", ":", "[::1].evil.example", "[::1]:80.evil.example",
        "localhost:80.evil.example", "[::1]evil"}) {
    EXPECT_EQ(status(other), 403) << other;
  }
  EXPECT_FALSE(access_refusal(
      kLocalToken, {.authorization = "Bearer secret", .origin = {}, .host = "weir.internal:8080"}));
}

TEST(Access, TokensCannotBeGuessedFaster) {
  TestDoor door({.rules = {}, .access = kOpenToken});
  const auto stats = [&](std::string_view token) {
    return door.ask(get("/admin/stats", "Authorization: " + std::string(token) + "\r\n"));
  };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(door.ask(get("/admin/stats")).status, 401);  // no guess
  for (int i = 0; i < LoginGuard::kBurst; ++i) {
    EXPECT_EQ(stats(i % 2 == 0 ? "Bearer guess" : "Basic Z3Vlc3M6").status, 401);
  }
  TestReply refused = stats("Bearer secret");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.fields["retry-after"], "6");
  EXPECT_EQ(refused.fields["connection"], "close");
  EXPECT_EQ(door.logins.figures().failed, std::uint64_t{LoginGuard::kBurst});
  EXPECT_EQ(door.logins.figures().refused, 1u);

  const std::string pipeline = get("/admin/stats", "Authorization: Bearer guess\r\n");
  const std::string heard = door.converse(pipeline + pipeline + get("/health"));
  EXPECT_EQ(heard.find("HTTP/1.1", 1), std::string::npos) << "it goes on behind a refusal";

  door.peer = {.address = IpAddress::parse("192.0.2.1")};
  EXPECT_EQ(stats("Bearer secret").status, 200);
  door.peer = {};
  door.now += LoginGuard::kPause;
  EXPECT_EQ(stats("Bearer secret").status, 200);
}

// Wrong tokens behind a proxy locked out everybody behind it, and its machine.
TEST(Access, GuessersBehindAProxyCountEachForItself) {
  TestDoor door({.rules = {}, .access = kLocalToken});
  door.peer = {.address = IpAddress::parse("127.0.0.1")};
  const auto stats = [&](std::string_view token, const std::string& forwarded = "") {
    return door
        .ask(
            get("/admin/stats", "Authorization: Bearer " + std::string(token) + "\r\n" + forwarded))
        .status;
  };
  const auto from = [](int client) {
    return "X-Forwarded-For: 6.6.6.6, 192.0.2." + std::to_string(client) + "\r\n";
  };
  for (int i = 0; i < LoginGuard::kBurst; ++i) EXPECT_EQ(stats("guess", from(1)), 401);
  EXPECT_EQ(stats("secret", from(1)), 429);
  EXPECT_EQ(stats("secret", from(2)), 200) << "another client of the proxy";
  EXPECT_EQ(stats("secret"), 200) << "the machine itself";
  for (int client = 3; client < 60; ++client) EXPECT_EQ(stats("guess", from(client)), 401);
  EXPECT_EQ(stats("secret", from(60)), 200);
  for (int i = 0; i < 20; ++i) stats("guess", "X-Forwarded-For: 127.0.0.1\r\n");
  EXPECT_EQ(stats("secret"), 200) << "somebody has claimed to be the machine itself";
}

TEST(Access, OnlyATrustedPeerNamesItsClient) {
  TestDoor door({.rules = {}, .access = kOpenToken});
  door.peer = {.address = IpAddress::parse("203.0.113.1")};
  const auto stats = [&](std::string_view token, int client) {
    return door
        .ask(get("/admin/stats", "Authorization: Bearer " + std::string(token) +
                                     "\r\nX-Forwarded-For: 192.0.2." + std::to_string(client) +
                                     "\r\n"))
        .status;
  };
  for (int i = 0; i < LoginGuard::kBurst; ++i) EXPECT_EQ(stats("guess", i), 401);
  EXPECT_EQ(stats("secret", 99), 429);
}

TEST(Access, AnEmptyTokenOpensNothing) {
  const HttpAccess access{.exposure = Exposure::kLoopback, .admin_token = ""};
  EXPECT_EQ(status(access, ""), 401);
  EXPECT_EQ(status(access, "Bearer "), 401);
}

TEST(Access, EveryAdminRouteIsGuarded) {
  TestDoor open({.rules = {}, .access = kOpen});
  TestDoor guarded({.rules = {}, .access = kOpenToken});
  int routes = 0;
  for (const Route& route : open.door.core().routes().all()) {
    if (route.access != RouteAccess::kAdmin) continue;
    ++routes;
    for (const std::string_view method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
      const std::string asked = request(method, route.path, "{}");
      const int status = open.ask(asked).status;
      EXPECT_TRUE(status == 403 || status == 405) << asked;
      EXPECT_EQ(guarded.ask(asked).status, status == 403 ? 401 : 405) << asked;
    }
  }
  EXPECT_GT(routes, 10);
}

TEST(Access, AResetInPlaceOfAChargeIsForAdmins) {
  TestDoor door({.rules = {}, .access = kOpenToken});
  const std::string check = R"({"key":"a","limit":1,"window":60,"charge":"reset"})";
  EXPECT_EQ(door.ask(post("/check", check)).status, 401);
  EXPECT_EQ(door.ask(post("/v1/check", check)).status, 401);
  EXPECT_EQ(door.ask(post("/check", check, "Authorization: Bearer secret\r\n")).status, 200);
  const TestReply listed = door.ask(post("/v1/check", R"({"checks":[)" + check + "]}"));
  EXPECT_EQ(listed.status, 400);
  EXPECT_NE(listed.body.find("checks[0].charge"), std::string::npos) << listed.body;
}

TEST(Access, GuardsWhatChangesOrTells) {
  const std::string body = R"({"key":"a","limit":1,"window":60})";
  TestDoor open({.rules = {}, .access = kOpen});
  EXPECT_EQ(open.ask(get("/admin/stats")).status, 403);
  EXPECT_EQ(open.ask(post("/v1/reset", body)).status, 403);
  EXPECT_EQ(open.ask(post("/check", body)).status, 200);
  EXPECT_EQ(open.ask(get("/metrics")).status, 200);

  TestDoor guarded({.rules = {}, .access = kOpenToken});
  TestReply reply = guarded.ask(get("/admin/stats"));
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.fields["www-authenticate"], "Bearer");
  EXPECT_EQ(reply.body.find("secret"), std::string::npos);
  const std::string token = "Authorization: Bearer secret\r\n";
  EXPECT_EQ(guarded.ask(get("/admin/stats", token)).status, 200);
  EXPECT_EQ(guarded.ask(post("/v1/reset", body, token)).status, 200);
}

}  // namespace
}  // namespace weir
