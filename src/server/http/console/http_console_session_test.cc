// Signing in to the console, and what a session is good for: the console's own page, and nobody
// who makes a browser send its cookie.

#include <string>

#include <gtest/gtest.h>

#include "server/http/access.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

const HttpAccess kToken{.exposure = Exposure::kNetwork, .admin_token = "a secret of admins"};
const HttpAccess kLocal{.exposure = Exposure::kLoopback};
const std::string kPage = "X-Weir-Console: 1\r\n";
const std::string kRight = R"({"token":"a secret of admins"})";
// The requests of these tests say Host: localhost.
const std::string kOwnOrigin = "Origin: http://localhost\r\n";

TestDoor::Options with(const HttpAccess& access) { return {.rules = {}, .access = access}; }

// The field Cookie of who has signed in.
std::string sign_in(TestDoor& door) {
  TestReply reply = door.ask(post("/console/session", kRight, kPage + kOwnOrigin));
  EXPECT_EQ(reply.status, 204);
  const std::string cookie = reply.fields["set-cookie"];
  return "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n";
}

int stats(TestDoor& door, const std::string& fields) {
  return door.ask(get("/admin/stats", fields)).status;
}

TEST(HttpConsoleSession, ATokenIsExchangedForACookie) {
  TestDoor door(with(kToken));
  TestReply reply = door.ask(post("/console/session", kRight, kPage + kOwnOrigin));
  EXPECT_EQ(reply.status, 204);
  EXPECT_EQ(reply.fields["set-cookie"], "weir_console=" + std::string(64, '0') +
                                            "; HttpOnly; SameSite=Strict; Path=/; Max-Age=28800");
  EXPECT_EQ(reply.fields["cache-control"], "no-store");
  EXPECT_EQ(reply.fields.count("content-length"), 0u);
}

TEST(HttpConsoleSession, TheCookieIsOfThisPortAndOfTls) {
  TestDoor door(with(kToken));
  const auto cookie = [&](const std::string& host, const std::string& origin) {
    return door
        .ask("POST /console/session HTTP/1.1\r\nHost: " + host + "\r\nOrigin: " + origin +
             "\r\nX-Weir-Console: 1\r\nContent-Length: " + std::to_string(kRight.size()) +
             "\r\n\r\n" + kRight)
        .fields["set-cookie"];
  };
  EXPECT_TRUE(
      cookie("weir.example:8080", "http://weir.example:8080").starts_with("weir_console_8080="));
  EXPECT_TRUE(cookie("[::1]:8443", "https://[::1]:8443").starts_with("weir_console_8443="));
  EXPECT_TRUE(cookie("[::1]", "https://[::1]").ends_with("; Secure"));
  EXPECT_FALSE(cookie("[::1]", "http://[::1]").ends_with("; Secure"));
  for (const std::string host : {"localhost:1;x", "localhost:80:90", "localhost:123456"}) {
    EXPECT_TRUE(cookie(host, "http://" + host).starts_with("weir_console=")) << host;
  }

  const std::string name = sign_in(door).substr(21);
  const auto at_port = [&](const std::string& cookies) {
    return door
        .ask("GET /admin/stats HTTP/1.1\r\nHost: localhost:8080\r\n" + kPage +
             "Cookie: " + cookies + "\r\n")
        .status;
  };
  EXPECT_EQ(at_port("weir_console=" + name), 401) << "a cookie of another port";
  EXPECT_EQ(at_port("a=b; weir_console_8080=" + name), 200);
}

TEST(HttpConsoleSession, AWrongTokenIsRefusedAndCounts) {
  TestDoor door(with(kToken));
  const std::string wrong = post("/console/session", R"({"token":"guess"})", kPage);
  for (int i = 0; i < LoginGuard::kBurst; ++i) EXPECT_EQ(door.ask(wrong).status, 401);
  TestReply refused = door.ask(post("/console/session", kRight, kPage));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.fields["retry-after"], "6");
  EXPECT_EQ(refused.fields.count("set-cookie"), 0u);
  EXPECT_EQ(door.logins.figures().failed, std::uint64_t{LoginGuard::kBurst});
  EXPECT_EQ(stats(door, "Authorization: Bearer a secret of admins\r\n"), 429) << "it counts as one";
  for (const std::string_view body : {"", "{}", R"({"token":7})", R"({"token":"x","more":1})"}) {
    TestDoor other(with(kToken));
    EXPECT_EQ(other.ask(post("/console/session", body, kPage)).status, 400) << body;
  }
  EXPECT_EQ(door.node.sessions().size(), 0u);
}

// Ten wrong ones, each from another client of the proxy, refused the right one from all of them.
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

// A token that no field could hold would keep others waiting while it is compared.
TEST(HttpConsoleSession, ATokenThatIsTooLongIsWrong) {
  const std::string token((32 << 10) + 1, 't');
  TestDoor door(with({.exposure = Exposure::kNetwork, .admin_token = token}));
  EXPECT_EQ(door.ask(post("/console/session", R"({"token":")" + token + "\"}", kPage)).status, 401);
}

// A page at another port of this host can give the browser such cookies, which come first.
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

// Each row is a request that some page or program can make a browser send with the cookie.
TEST(HttpConsoleSession, OnlyOurOwnPageCanUseIt) {
  TestDoor door(with(kToken));
  const std::string cookie = sign_in(door);
  struct Case {
    std::string what;
    std::string fields;
    int status;
  };
  for (const Case& c : {
           Case{"the page, reading", kPage, 200},
           Case{"the page, writing", kPage + kOwnOrigin, 200},
           Case{"the page, in a browser of today",
                kPage + kOwnOrigin + "Sec-Fetch-Site: same-origin\r\n", 200},
           Case{"behind one who ends TLS", kPage + "Origin: https://localhost\r\n", 200},
           Case{"a form or a picture", "", 401},
           Case{"a form of another page", "Origin: http://evil.example\r\n", 401},
           Case{"a form of our own", kOwnOrigin, 401},
           Case{"a link", "Sec-Fetch-Site: none\r\n", 401},
           Case{"another page that has the field", kPage + "Origin: http://evil.example\r\n", 401},
           Case{"a page at another port", kPage + "Origin: http://localhost:3000\r\n", 401},
           Case{"a sandboxed page", kPage + "Origin: null\r\n", 401},
           Case{"a page of the same site", kPage + "Sec-Fetch-Site: same-site\r\n", 401},
           Case{"another site", kPage + "Sec-Fetch-Site: cross-site\r\n", 401},
           Case{"another value of the field", "X-Weir-Console: 2\r\n", 401},
           Case{"an origin that begins like ours", kPage + "Origin: http://localhost.evil\r\n",
                401},
       }) {
    EXPECT_EQ(stats(door, cookie + c.fields), c.status) << c.what;
  }
  EXPECT_EQ(stats(door, kPage), 401) << "without the cookie";
  EXPECT_EQ(stats(door, kPage + "Cookie: weir_console=" + std::string(64, '1') + "\r\n"), 401);
  EXPECT_EQ(stats(door, cookie + kPage + "Authorization: Bearer guess\r\n"), 401)
      << "a token that is shown is the one that counts";
}

TEST(HttpConsoleSession, NobodyElseCanSignInOrOut) {
  TestDoor door(with(kToken));
  const std::string cookie = sign_in(door);
  for (const std::string& fields :
       {std::string(), kOwnOrigin, kPage + "Origin: http://evil.example\r\n",
        kPage + "Sec-Fetch-Site: cross-site\r\n"}) {
    EXPECT_EQ(door.ask(post("/console/session", kRight, fields)).status, 403) << fields;
    EXPECT_EQ(door.ask(request("DELETE", "/console/session", "", cookie + fields)).status, 403);
  }
  EXPECT_EQ(stats(door, cookie + kPage), 200);
}

TEST(HttpConsoleSession, EndsWhenItIsSignedOutOrOld) {
  TestDoor door(with(kToken));
  const std::string one = sign_in(door);
  const std::string other = sign_in(door);
  TestReply out = door.ask(request("DELETE", "/console/session", "", one + kPage));
  EXPECT_EQ(out.status, 204);
  EXPECT_TRUE(out.fields["set-cookie"].starts_with("weir_console=; "));
  EXPECT_TRUE(out.fields["set-cookie"].ends_with("Max-Age=0"));
  EXPECT_EQ(stats(door, one + kPage), 401);
  EXPECT_EQ(stats(door, other + kPage), 200);
  door.now += ConsoleSessions::kIdleMax;
  EXPECT_EQ(stats(door, other + kPage), 401);
}

TEST(HttpConsoleSession, ThePageLearnsWhatItHasToAskFor) {
  const auto said = [](TestDoor& door, const std::string& fields) {
    return door.ask(get("/console/session", fields)).body;
  };
  TestDoor guarded(with(kToken));
  const std::string cookie = sign_in(guarded);
  EXPECT_EQ(said(guarded, kPage),
            R"({"needed":true,"signed_in":false,"public":false,"version":"1.2.3","node":"here"})");
  EXPECT_NE(said(guarded, cookie + kPage).find(R"("signed_in":true)"), std::string::npos);
  EXPECT_NE(
      said(guarded, "Authorization: Bearer a secret of admins\r\n").find(R"("signed_in":false)"),
      std::string::npos)
      << "a place to try tokens";
  TestDoor local(with(kLocal));
  EXPECT_EQ(said(local, kPage),
            R"({"needed":false,"signed_in":true,"public":false,"version":"1.2.3","node":"here"})");
  EXPECT_EQ(local.ask(post("/console/session", kRight, kPage)).status, 409);
  TestDoor open({.rules = {},
                 .access = {.exposure = Exposure::kNetwork},
                 .console = {.use = ConsoleOptions::Use::kPublic}});
  EXPECT_EQ(said(open, kPage),
            R"({"needed":false,"signed_in":false,"public":true,"version":"1.2.3","node":"here"})");
}

// On loopback without a token no session is needed, and of all pages only the console gets in.
TEST(HttpConsoleSession, WithoutATokenTheConsoleMayDoWhatItsMachineMay) {
  TestDoor door(with(kLocal));
  EXPECT_EQ(stats(door, ""), 200);
  EXPECT_EQ(stats(door, kPage + kOwnOrigin + "Sec-Fetch-Site: same-origin\r\n"), 200);
  EXPECT_EQ(stats(door, kPage), 200);
  EXPECT_EQ(stats(door, "Sec-Fetch-Site: none\r\n"), 200) << "typed by a person";
  EXPECT_EQ(stats(door, "Sec-Fetch-Site: same-origin\r\n"), 200) << "a link of our page";
  EXPECT_EQ(stats(door, "Sec-Fetch-Site: same-site\r\n"), 403);
  EXPECT_EQ(stats(door, kOwnOrigin), 403) << "a form could send this";
  EXPECT_EQ(stats(door, "Sec-Fetch-Site: cross-site\r\n"), 403);
  EXPECT_EQ(stats(door, kPage + "Origin: http://localhost:3000\r\n"), 403);
  EXPECT_EQ(stats(door, kPage + "Origin: null\r\n"), 403);
  const std::string rebound = "GET /admin/stats HTTP/1.1\r\nHost: evil.example\r\n" + kPage +
                              "Origin: http://evil.example\r\n\r\n";
  EXPECT_EQ(door.ask(rebound).status, 403);
  EXPECT_EQ(door.ask("GET /console/session HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
}

TEST(HttpConsoleSession, WithoutAConsoleThereIsNone) {
  TestDoor door({.rules = {}, .access = kToken, .console = {}});
  EXPECT_EQ(door.ask(post("/console/session", kRight, kPage)).status, 404);
  EXPECT_EQ(door.ask(get("/console/session")).status, 404);
}

}  // namespace
}  // namespace weir
