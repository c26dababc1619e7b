#include "server/http/access.h"

#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"
#include "server/http/routes.h"

namespace weir {
namespace {

const HttpAccess kOpen{.exposure = Exposure::kNetwork};
const HttpAccess kLocalToken{.exposure = Exposure::kLoopback, .admin_token = "secret"};
const HttpAccess kOpenToken{.exposure = Exposure::kNetwork, .admin_token = "secret"};

TEST(Access, NothingGoesOnBehindAGuessTooMany) {
  TestDoor door({.rules = {}, .access = kOpenToken});
  const std::string guess = get("/admin/stats", "Authorization: Bearer guess\r\n");
  for (int i = 0; i < LoginGuard::kBurst; ++i) EXPECT_EQ(door.ask(guess).status, 401);
  const std::string heard = door.converse(guess + guess + get("/health"));
  EXPECT_EQ(heard.find("HTTP/1.1", 1), std::string::npos) << "it goes on behind a refusal";
  EXPECT_EQ(door.logins.figures().failed, std::uint64_t{LoginGuard::kBurst});
  EXPECT_EQ(door.logins.figures().refused, 1u);
}

// Once wrong tokens behind a proxy locked out all clients behind it, and its machine.
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

}  // namespace
}  // namespace weir
