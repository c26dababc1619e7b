// Guessers, long tokens and other people's cookies at the console's sign-in.
// tests/scenarios/http_console.yaml has the uses of a session.

#include <string>

#include <gtest/gtest.h>

#include "server/http/access.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

const HttpAccess kToken{.exposure = Exposure::kNetwork, .admin_token = "a secret of admins"};
const std::string kPage = "X-Weir-Console: 1\r\n";
const std::string kRight = R"({"token":"a secret of admins"})";
// The requests of these tests say Host: localhost.
const std::string kOwnOrigin = "Origin: http://localhost\r\n";

TestDoor::Options with(const HttpAccess& access) { return {.rules = {}, .access = access}; }

// The field Cookie of a signed-in client.
std::string sign_in(TestDoor& door) {
  TestReply reply = door.ask(post("/console/session", kRight, kPage + kOwnOrigin));
  EXPECT_EQ(reply.status, 204);
  const std::string cookie = reply.fields["set-cookie"];
  return "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n";
}

int stats(TestDoor& door, const std::string& fields) {
  return door.ask(get("/admin/stats", fields)).status;
}

// Once ten wrong tokens, each from another client of the proxy, locked out all of its clients.
TEST(HttpConsoleSession, GuessersBehindAProxyLockOutNobodyElse) {
  TestDoor door(with(kToken));
  door.peer = {.address = IpAddress::parse("127.0.0.1")};
  const auto status = [&](std::string_view body, const std::string& forwarded = "") {
    return door.ask(post("/console/session", body, kPage + forwarded)).status;
  };
  const auto from = [](int client) {
    return "X-Forwarded-For: 192.0.2." + std::to_string(client) + "\r\n";
  };
  for (int i = 0; i < 2 * LoginGuard::kBurst; ++i) {
    EXPECT_EQ(status(R"({"token":"guess"})", from(i)), 401);
  }
  EXPECT_EQ(status(kRight, from(99)), 204);
  EXPECT_EQ(status(kRight), 204);
  EXPECT_EQ(stats(door, "Authorization: Bearer a secret of admins\r\n"), 200);
}

// A token that fits into no field would keep others waiting while it is compared.
TEST(HttpConsoleSession, ATokenThatIsTooLongIsWrong) {
  const std::string token((32 << 10) + 1, 't');
  TestDoor door(with({.exposure = Exposure::kNetwork, .admin_token = token}));
  EXPECT_EQ(door.ask(post("/console/session", R"({"token":")" + token + "\"}", kPage)).status, 401);
}

// A page at another port of this host can set such cookies, which come first.
TEST(HttpConsoleSession, ACookieOfTheSameNameHidesNoSession) {
  TestDoor door(with(kToken));
  const std::string ours = sign_in(door).substr(8);  // without "Cookie: "
  const std::string junk = "weir_console=" + std::string(64, 'f');
  EXPECT_EQ(stats(door, kPage + "Cookie: " + junk + "; weir_console=; " + ours), 200);
  EXPECT_EQ(stats(door, kPage + "Cookie: " + junk + "\r\nCookie: " + ours), 200);
  std::string many;
  for (std::size_t i = 1; i < AccessClaim::kSessionsMax; ++i) many += junk + "; ";
  EXPECT_EQ(stats(door, kPage + "Cookie: " + many + ours), 200);
  EXPECT_EQ(stats(door, kPage + "Cookie: " + many + junk + "; " + ours), 401) << "it is bounded";
  const std::string both = kPage + "Cookie: " + junk + "; " + ours;
  EXPECT_EQ(door.ask(request("DELETE", "/console/session", "", both)).status, 204);
  EXPECT_EQ(stats(door, kPage + "Cookie: " + ours), 401) << "it has not signed out";
}

}  // namespace
}  // namespace weir
