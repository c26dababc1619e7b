// A hostile client and the Redis door: each command gets one reply, or the connection ends. Other
// clients go on.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

RespTestDoor::Options with_a_rule() {
  return {.rules = {{.id = "r", .quota = *Quota::make({.limit = 3, .window = 1min})}},
          .access = {}};
}

TEST(RespAttack, MistakesInAPipelineCostThemselves) {
  RespTestDoor door(with_a_rule());
  RespTestClient client(door);
  const std::string heard = client.ask(
      "WEIR.HIT r k\r\nWEIR.HIT s k\r\nNONSENSE\r\nWEIR.HIT r k x\r\nWEIR.HIT r k\r\n"
      "WEIR.MHIT ALL r k 1 s k 1\r\nCL.THROTTLE k a b c\r\nWEIR.HIT r k\r\n"
      "WEIR.HIT r k\r\n");
  std::string kinds;
  for (std::size_t at = 0; at < heard.size(); at = heard.find('\n', at) + 1) {
    if (heard[at] != ':') kinds += heard[at];
  }
  EXPECT_EQ(kinds, "*---*--**");
  EXPECT_NE(heard.find(":0\r\n:3\r\n:0\r\n"), std::string::npos) << "the third is the last allowed";
  EXPECT_TRUE(heard.substr(heard.rfind('*')).starts_with("*5\r\n:1\r\n"));
  EXPECT_FALSE(client.finished());
}

TEST(RespAttack, NumbersOfArraysAndTextsAreBounded) {
  for (const char* const said :
       {"*1025\r\n", "*2147483648\r\n", "*4294967297\r\n", "*9223372036854775807\r\n",
        "*18446744073709551617\r\n", "*-9223372036854775809\r\n", "*1\r\n$65537\r\n",
        "*1\r\n$4294967300\r\n", "*1\r\n$9223372036854775807\r\n", "*1\r\n$-1\r\n", "*+1\r\n",
        "*01\r\n", "*1 \r\n", "*\r\n", "*1\r\n$\r\n", "*1\r\n:1\r\n", "*1\r\n*1\r\n"}) {
    RespTestDoor door;
    RespTestClient client(door);
    const std::string heard = client.ask("PING\r\n" + std::string(said) + "PING\r\n");
    EXPECT_TRUE(heard.starts_with("+PONG\r\n-ERR Protocol error: ")) << said << heard;
    EXPECT_EQ(heard.find("PONG", 7), std::string::npos) << said;
    EXPECT_TRUE(client.finished()) << said;
  }
}

// Arguments as many and as long as allowed, but not all of them together.
TEST(RespAttack, ACommandIsBoundedAsAWhole) {
  RespTestDoor door;
  RespTestClient client(door);
  std::string said = "*1024\r\n";
  for (int i = 0; i < 17; ++i) said += "$65536\r\n" + std::string(65'536, 'x') + "\r\n";
  EXPECT_EQ(client.ask(said), "-ERR Protocol error: too big request\r\n");
  EXPECT_TRUE(client.finished());
}

TEST(RespAttack, KeysAreBytesOfAnyKind) {
  RespTestDoor door(with_a_rule());
  for (const std::string& key :
       {"\0"s, "\xff\xfe"s, "\r\n"s, std::string(65'536, 'k'), "*1\r\n$4\r\nPING\r\n"s, ""s}) {
    EXPECT_TRUE(door.ask(command({"WEIR.HIT", "r", key})).starts_with("*5\r\n:0\r\n:3\r\n:2\r\n"));
    const std::string unknown = door.ask(command({"WEIR.HIT", key, "k"}));
    EXPECT_TRUE(unknown.starts_with("-ERR ")) << unknown;
    EXPECT_EQ(unknown.find("\r\n"), unknown.size() - 2) << "one line";
  }
}

// Refused commands leave nothing behind.
TEST(RespAttack, NamesAndPatternsCostWhatTheyAreLong) {
  RespTestDoor door;
  std::string stars;
  for (int i = 0; i < 30'000; ++i) stars += "*?";
  EXPECT_EQ(door.ask(command({"CONFIG", "GET", stars})), "*0\r\n");
  EXPECT_EQ(door.ask(command({"CONFIG", "GET", std::string(60'000, '*')})).substr(0, 4), "*8\r\n");
  EXPECT_TRUE(door.ask(command({std::string(60'000, 'x'), "y"})).size() < 400);
  EXPECT_TRUE(door.ask(command({"CLIENT", std::string(60'000, 'x')})).size() < 400);
  EXPECT_TRUE(door.ask(command({"HELLO", "3", std::string(60'000, 'x')})).size() < 400);
  EXPECT_TRUE(door.ask(command({"CLIENT", "SETNAME", std::string(60'000, 'x')})).size() < 400);
  EXPECT_TRUE(door.ask(command({"CL.THROTTLE", "k", std::string(60'000, '9'), "1", "1"})).size() <
              400);
}

// Once 8 KiB of names got an answer of 2 MiB, on each of any number of connections.
TEST(RespAttack, RepliesAboutManyNamesAreBounded) {
  RespTestDoor door;
  for (const char* const about : {"DOCS", "INFO"}) {
    std::vector<std::string> words = {"COMMAND", about};
    for (int i = 0; i < 64; ++i) words.emplace_back("client");
    EXPECT_LT(door.ask(command(words)).size(), 200'000u) << about;
    words.emplace_back("client");
    EXPECT_EQ(door.ask(command(words)), "-ERR at most 64 names at a time\r\n") << about;
  }
}

}  // namespace
}  // namespace weir
