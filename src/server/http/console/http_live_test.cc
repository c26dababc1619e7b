// /console/live and /console/live.json: who may listen, and how a connection becomes a WebSocket.

#include <boost/json.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "observe/recent_traffic.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::string_literals;
using Use = ConsoleOptions::Use;

const HttpAccess kToken{.exposure = Exposure::kNetwork, .admin_token = "a secret of admins"};
const std::string kUpgrade =
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const std::string kOwnOrigin = "Origin: http://localhost\r\n";
const std::string kForeign = "Origin: http://evil.example\r\n";
const std::string kPage = "X-Weir-Console: 1\r\n";
const std::string kPing = "\x89\x81\0\0\0\0p"s;

TestDoor::Options with(Use use, const HttpAccess& access = {}) {
  return {.rules = {}, .access = access, .console = {.use = use}};
}

int upgrade(TestDoor& door, const std::string& fields) {
  return door.ask(get("/console/live", kUpgrade + fields)).status;
}

int poll(TestDoor& door, const std::string& fields) {
  return door.ask(get("/console/live.json", fields)).status;
}

std::string cookie_of(TestDoor& door) {
  TestReply reply =
      door.ask(post("/console/session", R"({"token":"a secret of admins"})", kPage + kOwnOrigin));
  const std::string cookie = reply.fields["set-cookie"];
  return "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n";
}

TEST(HttpLive, AConnectionBecomesAWebSocket) {
  TestDoor door;
  const auto session = door.door.make_session(door.peer, door.now);
  // A request before, and frames right behind: all in one piece.
  feed(*session, get("/health") + get("/console/live", kUpgrade) + kPing, door.now);
  const std::string output = drink(*session, door.now);
  std::string_view rest = output;
  EXPECT_EQ(take_reply(rest).status, 200);
  TestReply reply = take_reply(rest);
  EXPECT_EQ(reply.status, 101);
  EXPECT_EQ(reply.fields["upgrade"], "websocket");
  EXPECT_EQ(reply.fields["connection"], "Upgrade");
  EXPECT_EQ(reply.fields["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(reply.fields.count("content-length"), 0u);
  EXPECT_EQ(rest, "");
  ASSERT_TRUE(session->finished());
  const auto live = session->successor(door.now);
  ASSERT_NE(live, nullptr);
  EXPECT_EQ(drink(*live, door.now), "\x81\x07{\"t\":0}\x8a\x01p");
  EXPECT_FALSE(live->finished());
}

TEST(HttpLive, WhoOnlyAsksIsToldHow) {
  TestDoor door;
  TestReply reply = door.ask(get("/console/live"));
  EXPECT_EQ(reply.status, 426);
  EXPECT_EQ(reply.fields["upgrade"], "websocket");
  EXPECT_EQ(reply.fields["sec-websocket-version"], "13");
  reply = door.ask(get("/console/live",
                       "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                       "Sec-WebSocket-Key: short\r\n"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(door.ask(post("/console/live", "")).status, 405);
}

TEST(HttpLive, IsForThoseWhoMayUseTheAdminRoutes) {
  TestDoor local(with(Use::kOn));
  EXPECT_EQ(upgrade(local, ""), 101) << "a program on this machine";
  EXPECT_EQ(upgrade(local, kOwnOrigin), 101) << "the console";
  EXPECT_EQ(upgrade(local, kForeign), 403);
  EXPECT_EQ(upgrade(local, "Origin: http://localhost:3000\r\n"), 403);
  EXPECT_EQ(upgrade(local, kOwnOrigin + "Sec-Fetch-Site: cross-site\r\n"), 403);
  EXPECT_EQ(poll(local, ""), 200);
  EXPECT_EQ(poll(local, kPage), 200);
  EXPECT_EQ(poll(local, kForeign), 403);

  TestDoor guarded(with(Use::kOn, kToken));
  const std::string cookie = cookie_of(guarded);
  EXPECT_EQ(upgrade(guarded, kOwnOrigin), 401);
  EXPECT_EQ(upgrade(guarded, cookie + kOwnOrigin), 101);
  EXPECT_EQ(upgrade(guarded, cookie), 401) << "no browser";
  EXPECT_EQ(upgrade(guarded, cookie + kForeign), 401);
  EXPECT_EQ(upgrade(guarded, "Authorization: Bearer a secret of admins\r\n"), 101);
  EXPECT_EQ(poll(guarded, cookie + kPage), 200);
  EXPECT_EQ(poll(guarded, cookie), 401);
  EXPECT_EQ(upgrade(guarded, "Authorization: Bearer guess\r\n"), 401);
  EXPECT_EQ(guarded.logins.figures().failed, 1u);
}

TEST(HttpLive, ThePublicSeesFigures) {
  for (const HttpAccess& access : {kToken, HttpAccess{.exposure = Exposure::kNetwork}}) {
    TestDoor door(with(Use::kPublic, access));
    EXPECT_EQ(upgrade(door, kOwnOrigin), 101);
    EXPECT_EQ(upgrade(door, ""), 101);
    EXPECT_EQ(upgrade(door, kForeign), 403);
    EXPECT_EQ(poll(door, ""), 200);
    EXPECT_NE(door.ask(get("/admin/stats", kPage)).status, 200);
  }
  TestDoor closed(with(Use::kOn, {.exposure = Exposure::kNetwork}));
  EXPECT_EQ(upgrade(closed, kOwnOrigin), 403);
  EXPECT_EQ(poll(closed, ""), 403);
  TestDoor off(with(Use::kOff));
  EXPECT_EQ(upgrade(off, ""), 404);
  EXPECT_EQ(poll(off, ""), 404);
}

TEST(HttpLive, SoManyMayListenAndNoMore) {
  TestDoor door;
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < LiveFeed::kConsolesMax; ++i) {
    auto session = door.door.make_session(door.peer, door.now);
    feed(*session, get("/console/live", kUpgrade), door.now);
    drink(*session, door.now);
    sessions.push_back(session->successor(door.now));
    ASSERT_NE(sessions.back(), nullptr);
  }
  TestReply refused = door.ask(get("/console/live", kUpgrade));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.fields["retry-after"], "5");
  sessions.pop_back();
  EXPECT_EQ(upgrade(door, ""), 101);
}

// One client took all places of a console that is public.
TEST(HttpLive, StrangersFromOneNetworkHaveSomePlaces) {
  TestDoor door(with(Use::kPublic, kToken));
  const std::string cookie = cookie_of(door);
  std::vector<std::unique_ptr<Session>> sessions;
  const auto listens = [&](const std::string& fields) {
    auto session = door.door.make_session(door.peer, door.now);
    feed(*session, get("/console/live", kUpgrade + fields), door.now);
    const std::string said = drink(*session, door.now);
    sessions.push_back(session->successor(door.now));
    return said.substr(9, 3);
  };
  const auto fill = [&](const std::string& fields) {
    for (int i = 0; i < LiveFeed::kStrangersMax; ++i) EXPECT_EQ(listens(fields), "101") << fields;
    EXPECT_EQ(listens(fields), "503") << fields;
  };
  door.peer = {.address = IpAddress::parse("2001:db8::1")};
  fill("");
  door.peer = {.address = IpAddress::parse("2001:db8::2")};
  EXPECT_EQ(listens(""), "503") << "of the same network";
  EXPECT_EQ(listens(cookie + kOwnOrigin), "101") << "signed in";
  door.peer = {.address = IpAddress::parse("127.0.0.1")};
  fill("X-Forwarded-For: 192.0.2.1\r\n");
  fill("X-Forwarded-For: 192.0.2.2\r\n");
  fill("");
  sessions.clear();
  EXPECT_EQ(door.live.consoles(), 0);
  fill("");
}

TEST(HttpLive, TheSecondsAreThoseOfTheLastMinutes) {
  TestDoor door;
  EXPECT_EQ(door.ask(get("/console/live.json?seconds=600")).body, R"({"seconds":[]})");
  for (const std::string_view bad : {"0", "-1", "x", "", "99999999999999999999"}) {
    EXPECT_EQ(door.ask(get("/console/live.json?seconds=" + std::string(bad))).status, 400) << bad;
  }
  TestReply now = door.ask(get("/console/live.json"));
  EXPECT_EQ(now.body, R"({"t":0})");
  EXPECT_EQ(now.fields["cache-control"], "no-store");
}

TEST(HttpLive, WhoLeavesTheHandshakeLeavesItsPlace) {
  TestDoor door;
  EXPECT_EQ(upgrade(door, ""), 101);
  EXPECT_EQ(door.live.consoles(), 0);
}

TEST(HttpLive, NobodyBeginsToListenWhileTheServerStops) {
  TestDoor door;
  door.node.start_draining();
  EXPECT_EQ(upgrade(door, ""), 503);
  EXPECT_EQ(door.live.consoles(), 0);
}

}  // namespace
}  // namespace weir
