// How a connection becomes a WebSocket, and how many may listen. Who may listen is in
// tests/scenarios/http_console.yaml.

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
const std::string kPage = "X-Weir-Console: 1\r\n";
const std::string kPing = "\x89\x81\0\0\0\0p"s;

TestDoor::Options with(Use use, const HttpAccess& access = {}) {
  return {.rules = {}, .access = access, .console = {.use = use}};
}

int upgrade(TestDoor& door, const std::string& fields) {
  return door.ask(get("/console/live", kUpgrade + fields)).status;
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
  // A request before, and frames right behind it: all in one piece.
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

// Once one client took all seats of a public console.
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
