#include "server/resp/resp_access.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

constexpr std::string_view kWrongPass =
    "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

std::vector<Rule> rules() {
  return {{.id = "r", .quota = *Quota::make({.limit = 5, .window = std::chrono::minutes(1)})}};
}

bool may_reset(const RespAccess& access, std::string_view before = {}) {
  RespTestDoor door({.rules = rules(), .access = access});
  RespTestClient client(door);
  client.ask(before);
  return client.ask("WEIR.RESET r key\r\n").starts_with("*5");
}

TEST(RespAccess, WhoMayReset) {
  const RespAccess local{};
  const RespAccess network{.exposure = Exposure::kNetwork};
  const RespAccess token{.exposure = Exposure::kNetwork, .admin_token = "t0ken"};
  const RespAccess local_token{.admin_token = "t0ken"};
  const RespAccess both{.password = "sesame", .admin_token = "t0ken"};
  const RespAccess password{.password = "sesame"};

  EXPECT_TRUE(may_reset(local));
  EXPECT_FALSE(may_reset(network));
  EXPECT_FALSE(may_reset(network, "AUTH default x\r\n"));
  EXPECT_FALSE(may_reset(token));
  EXPECT_TRUE(may_reset(token, "AUTH t0ken\r\n"));
  EXPECT_TRUE(may_reset(token, "AUTH default t0ken\r\n"));
  EXPECT_TRUE(may_reset(token, "HELLO 3 AUTH default t0ken\r\n"));
  EXPECT_FALSE(may_reset(local_token));
  EXPECT_TRUE(may_reset(local_token, "AUTH t0ken\r\n"));
  EXPECT_FALSE(may_reset(both));
  EXPECT_FALSE(may_reset(both, "AUTH sesame\r\n"));
  EXPECT_TRUE(may_reset(both, "AUTH t0ken\r\n"));
  EXPECT_FALSE(may_reset(both, "AUTH t0ken\r\nRESET\r\n"));
  EXPECT_FALSE(may_reset(both, "AUTH t0ken\r\nAUTH sesame\r\n"));
  EXPECT_TRUE(may_reset(password, "AUTH sesame\r\n"));
}

TEST(RespAccess, ARefusalSaysWhatIsMissing) {
  RespTestDoor network({.rules = rules(), .access = {.exposure = Exposure::kNetwork}});
  EXPECT_EQ(network.ask("WEIR.RESET r k\r\n"),
            "-NOPERM 'weir.reset' is for admins: this server listens on more than loopback and "
            "has no admin token\r\n");
  RespTestDoor token({.rules = rules(), .access = {.admin_token = "t0ken"}});
  EXPECT_EQ(token.ask("WEIR.RESET r k\r\n"),
            "-NOPERM 'weir.reset' needs AUTH with the admin token\r\n");
}

TEST(RespAccess, AWrongPasswordWaitsAndHoldsUpNobodyElse) {
  RespTestDoor door({.access = {.password = "sesame"}});
  RespTestClient guesser(door);
  RespTestClient other(door);
  guesser.feed("AUTH wrong\r\nAUTH sesame\r\nPING\r\n");
  EXPECT_EQ(guesser.drink(), "");
  EXPECT_TRUE(guesser.session().input_space().empty());
  EXPECT_EQ(other.ask("AUTH sesame\r\nPING\r\n"), "+OK\r\n+PONG\r\n");
  const Instant due = guesser.session().deadline();
  EXPECT_GE(due, door.now + std::chrono::seconds(1));
  guesser.session().expired(due - Duration{1});
  EXPECT_EQ(guesser.drink(), "");
  EXPECT_EQ(guesser.wait(), std::string(kWrongPass) + "+OK\r\n+PONG\r\n");
}

TEST(RespAccess, ChecksBehindAWrongPasswordWaitAsWell) {
  RespTestDoor door({.rules = rules(), .access = {.password = "sesame"}});
  const std::string heard =
      door.ask("AUTH wrong\r\nHELLO 3 AUTH default sesame\r\nWEIR.HIT r k\r\n");
  EXPECT_TRUE(heard.starts_with(std::string(kWrongPass) + "%7\r\n"));
  EXPECT_NE(heard.find("*0\r\n*5\r\n:0\r\n:5\r\n:4\r\n:-1\r\n"), std::string::npos) << heard;
}

TEST(RespAccess, AConnectionMayBeWrongFiveTimes) {
  RespTestDoor door({.access = {.password = "sesame"}});
  RespTestClient client(door);
  std::string guesses;
  for (int i = 0; i < 100; ++i) guesses += "HELLO 2 AUTH default guess\r\n";
  const Instant before = door.now;
  std::string expected;
  for (int i = 0; i < 5; ++i) expected += kWrongPass;
  EXPECT_EQ(client.ask(guesses), expected);
  EXPECT_TRUE(client.finished());
  EXPECT_GE(door.now - before, std::chrono::seconds(5));
}

TEST(RespAccess, NewConnectionsDoNotBringNewGuesses) {
  RespTestDoor door({.access = {.password = "sesame"}});
  for (int i = 0; i < LoginGuard::kBurst; ++i) {
    RespTestClient(door).feed("AUTH guess\r\n");
  }
  RespTestClient late(door);
  EXPECT_EQ(late.ask("AUTH sesame\r\nPING\r\n"),
            "-ERR too many wrong passwords came from this address; try again later\r\n");
  EXPECT_TRUE(late.finished());
  EXPECT_EQ(door.logins.figures().failed, std::uint64_t{LoginGuard::kBurst});
  EXPECT_EQ(door.logins.figures().refused, 1u);
  door.now += LoginGuard::kPause;
  EXPECT_EQ(door.ask("AUTH sesame\r\n"), "+OK\r\n");
}

TEST(RespAccess, AGuesserThatLeavesIsForgottenWithItsReply) {
  RespTestDoor door({.access = {.password = "sesame"}});
  RespTestClient client(door);
  client.feed("AUTH guess\r\n");
  client.session().peer_closed(door.now);
  EXPECT_FALSE(client.finished());
  EXPECT_EQ(client.wait(), kWrongPass);
  EXPECT_TRUE(client.finished());
}

}  // namespace
}  // namespace weir
