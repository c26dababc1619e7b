// A connection: bytes arrive and leave in any pieces, bad bytes included.

#include "server/resp/resp_session.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

const std::string kCheck = command({"CL.THROTTLE", "user", "15", "30", "60"});

TEST(RespSession, HttpIsDroppedWithoutAReply) {
  for (const char* said : {"POST / HTTP/1.1\r\nHost: a\r\n\r\n", "post x\r\n",
                           "Host: localhost\r\n", "*1\r\n$4\r\nPOST\r\n", "HOST: x\r\nPING\r\n"}) {
    RespTestDoor door;
    RespTestClient client(door);
    EXPECT_EQ(client.ask(said), "") << said;
    EXPECT_TRUE(client.finished()) << said;
  }
  RespTestDoor door;
  RespTestClient client(door);
  EXPECT_TRUE(client.ask("GET / HTTP/1.1\r\nHost: a\r\nPING\r\n").starts_with("-ERR unknown"));
  EXPECT_TRUE(client.finished());
  RespTestClient pipelined(door);
  EXPECT_TRUE(pipelined.ask(kCheck + "POST / HTTP/1.1\r\n").starts_with("*5\r\n"));
}

TEST(RespSession, RepliesDoNotDependOnHowBytesArrive) {
  const std::string said =
      kCheck + kCheck + "PING\r\nECHO \"a\\x00b\"\r\nHELLO 3\r\n\r\n*0\r\n" +
      command({"COMMAND", "DOCS", "ping"}) + kCheck + "CL.THROTTLE x y\r\nNOPE 1 2\r\nINFO\r\n" +
      command({"ECHO", std::string(5000, 'x')}) + kCheck + "RESET\r\n" + "*1\r\n:1\r\n" + kCheck;
  RespTestDoor whole;
  const std::string expected = whole.ask(said);
  EXPECT_TRUE(expected.ends_with("-ERR Protocol error: expected '$', got ':'\r\n"));
  for (const std::size_t piece : {1, 2, 3, 5, 7, 16, 31, 64, 100, 1000, 4000}) {
    RespTestDoor door;
    EXPECT_EQ(RespTestClient(door).ask_in_pieces(said, piece), expected) << piece;
  }
}

// Ten thousand commands, cut in two at every boundary and at every place within one command.
TEST(RespSession, ALongPipelineCutAnywhere) {
  constexpr std::size_t kCommands = 10'000;
  const std::string check = command({"CL.THROTTLE", "k", "9", "1", "60", "0"});
  const std::string answer = "*5\r\n:0\r\n:10\r\n:10\r\n:-1\r\n:0\r\n";
  std::string said;
  for (std::size_t i = 0; i < kCommands; ++i) said += check;
  std::string expected;
  for (std::size_t i = 0; i < kCommands; ++i) expected += answer;
  RespTestDoor door;
  for (std::size_t cut = 1; cut <= check.size(); ++cut) {
    RespTestClient client(door);
    const std::size_t at = (kCommands / 2) * check.size() + cut;
    std::string heard = client.ask(said.substr(0, at));
    heard += client.ask(said.substr(at));
    EXPECT_EQ(heard, expected) << cut;
  }
  RespTestClient one_by_one(door);  // a cut at every boundary
  EXPECT_EQ(one_by_one.ask_in_pieces(said, check.size()), expected);
}

TEST(RespSession, AClientThatDoesNotReadIsNotReadFrom) {
  RespTestDoor door;
  RespTestClient client(door);
  const std::string echo = command({"ECHO", std::string(32'000, 'x')});
  std::string said;
  for (int i = 0; i < 100; ++i) said += echo;
  std::string_view rest = said;
  while (!rest.empty()) {
    const std::size_t fed = client.feed(rest);
    if (fed == 0) break;
    rest.remove_prefix(fed);
  }
  EXPECT_FALSE(rest.empty()) << "all 3 MB were taken in";
  EXPECT_GE(client.session().output().size(), RespSession::kLimits.output_max);
  EXPECT_LE(client.session().output().size(), RespSession::kLimits.output_max + 40'000);
  // It goes on when the client reads, first with the bytes that were held back.
  std::string heard = client.drink();
  heard += client.ask(rest);
  EXPECT_EQ(heard.size(), 100 * (std::string_view("$32000\r\n\r\n").size() + 32'000));
}

TEST(RespSession, AClientThatSaysNoMoreGetsWhatIsDue) {
  RespTestDoor door;
  RespTestClient client(door);
  client.feed(kCheck + "PING\r\nPI");
  client.session().peer_closed(door.now);
  EXPECT_TRUE(client.finished());
  EXPECT_TRUE(client.drink().ends_with("+PONG\r\n"));
}

TEST(RespSession, Deadlines) {
  RespTestDoor door;
  RespTestClient client(door);
  Session& session = client.session();
  EXPECT_EQ(session.deadline(), door.now + RespSession::kLimits.idle_max);
  client.ask("PING\r\n");
  EXPECT_EQ(session.deadline(), door.now + RespSession::kLimits.warm_max);
  door.now = session.deadline();
  session.expired(door.now);
  EXPECT_FALSE(session.finished()) << "only its buffers were given back";
  EXPECT_EQ(session.deadline(),
            door.now - RespSession::kLimits.warm_max + RespSession::kLimits.idle_max);
  EXPECT_EQ(client.ask("PING\r\n"), "+PONG\r\n");
  door.now += RespSession::kLimits.idle_max;
  session.expired(door.now);
  EXPECT_TRUE(session.finished());
}

TEST(RespSession, ACommandThatDoesNotArrive) {
  RespTestDoor door;
  RespTestClient client(door);
  client.ask("*1\r\n$4\r\nPI");
  door.now += RespSession::kLimits.request_max - 1s;
  EXPECT_EQ(client.ask("N"), "");
  EXPECT_EQ(client.session().deadline(), door.now + 1s) << "a byte bought it time";
  door.now += 1s;
  client.session().expired(door.now);
  EXPECT_EQ(client.drink(),
            "-ERR Protocol error: the command did not arrive within 10 seconds\r\n");
  EXPECT_TRUE(client.finished());
}

TEST(RespSession, AClientThatTakesNothingIsGivenUp) {
  RespTestDoor door;
  RespTestClient client(door);
  client.feed("PING\r\n");
  EXPECT_EQ(client.session().deadline(), door.now + RespSession::kLimits.stalled_max);
  door.now += RespSession::kLimits.stalled_max;
  client.session().expired(door.now);
  EXPECT_TRUE(client.finished());
  EXPECT_EQ(client.session().output(), "");
}

TEST(RespSession, Drain) {
  RespTestDoor door;
  RespTestClient idle(door);
  idle.session().drain();
  EXPECT_TRUE(idle.finished());
  RespTestClient busy(door);
  busy.ask("PIN");
  busy.session().drain();
  EXPECT_FALSE(busy.finished());
  EXPECT_EQ(busy.ask("G\r\n"), "+PONG\r\n");
  EXPECT_TRUE(busy.finished());
}

}  // namespace
}  // namespace weir
