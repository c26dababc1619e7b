// WEIR.HIT and its kin: checks by rules of the configuration.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

std::vector<Rule> rules() {
  const auto three = Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = 3, .window = 10s});
  const auto bucket =
      Quota::make({.algorithm = Algorithm::kTokenBucket, .limit = 4, .window = 1s, .burst = 2});
  return {{.id = "login", .quota = *three},
          {.id = "search", .quota = *bucket},
          {.id = "off", .quota = *three, .enabled = false}};
}

// At the beginning of a window, so that times are round.
struct Door : RespTestDoor {
  Door() : RespTestDoor({.rules = rules(), .access = {}}) {
    now = instant_from_epoch_us(1'000'000'000'000'000);
  }

  // ":0\r\n:3\r\n" as " 0 3", arrays as "[".
  std::string hear(const std::string& said) {
    std::string reply = ask(said + "\r\n");
    std::string text;
    while (!reply.empty()) {
      const auto end = reply.find("\r\n");
      const std::string line = reply.substr(0, end);
      if (line[0] == ':') text += " " + line.substr(1);
      if (line[0] == '*') text += "[" + line.substr(1) + "]";
      if (line[0] == '-') text += line;
      reply.erase(0, end + 2);
    }
    return text;
  }
};

TEST(RespRules, Hit) {
  Door door;
  EXPECT_EQ(door.hear("WEIR.HIT login alice"), "[5] 0 3 2 -1 10");
  EXPECT_EQ(door.hear("weir.hit login alice 2"), "[5] 0 3 0 -1 10");
  door.now += 2500ms;
  EXPECT_EQ(door.hear("WEIR.HIT login alice"), "[5] 1 3 0 8 8");
  EXPECT_EQ(door.hear("WEIR.HIT login alice -1"), "[5] 0 3 1 -1 8");
  EXPECT_EQ(door.hear("WEIR.HIT login alice 0"), "[5] 0 3 1 -1 8");
  EXPECT_EQ(door.hear("WEIR.HIT login alice 4"), "[5] 1 3 1 -1 8");
  EXPECT_EQ(door.hear("WEIR.HIT login bob"), "[5] 0 3 2 -1 8");
  EXPECT_EQ(door.hear("WEIR.HIT search alice"), "[5] 0 2 1 -1 1");
}

TEST(RespRules, SecondsRoundUp) {
  Door door;
  door.now += 9'999'999us;
  EXPECT_EQ(door.hear("WEIR.HIT login a 3"), "[5] 0 3 0 -1 1");
  EXPECT_EQ(door.hear("WEIR.HIT login a"), "[5] 1 3 0 1 1");
}

TEST(RespRules, LookAndReset) {
  Door door;
  EXPECT_EQ(door.hear("WEIR.LOOK login a"), "[5] 0 3 3 -1 0");
  EXPECT_EQ(door.hear("WEIR.HIT login a 3"), "[5] 0 3 0 -1 10");
  EXPECT_EQ(door.hear("WEIR.LOOK login a"), "[5] 1 3 0 10 10");
  EXPECT_EQ(door.hear("WEIR.LOOK login a 0"), "[5] 0 3 0 -1 10");
  EXPECT_EQ(door.hear("WEIR.RESET login a"), "[5] 0 3 3 -1 0");
  EXPECT_EQ(door.hear("WEIR.HIT login a"), "[5] 0 3 2 -1 10");
}

// One batch charges first what counts always: the hit was denied by the charge behind it.
TEST(RespRules, AChargeBehindAHitIsChargedAfterIt) {
  Door door;
  EXPECT_EQ(door.hear("WEIR.HIT login a\r\nWEIR.CHARGE login a 9\r\nWEIR.HIT login a"),
            "[5] 0 3 2 -1 10[5] 1 3 0 10 10[5] 1 3 0 10 10");
}

TEST(RespRules, HitMany) {
  Door door;
  EXPECT_EQ(door.hear("WEIR.MHIT EACH login a 2 search b 1"), "[2][5] 0 3 1 -1 10[5] 0 2 1 -1 1");
  EXPECT_EQ(door.hear("WEIR.MHIT all login a 1 search b 2"), "[2][5] 0 3 1 -1 10[5] 1 2 1 1 1");
  EXPECT_EQ(door.hear("WEIR.LOOK login a"), "[5] 0 3 1 -1 10") << "charged, though not all fit";
  EXPECT_EQ(door.hear("WEIR.MHIT each login a 1 search b 2"), "[2][5] 0 3 0 -1 10[5] 1 2 1 1 1");
  std::string most = "WEIR.MHIT EACH";
  for (int i = 0; i < 16; ++i) most += " login k" + std::to_string(i) + " 1";
  EXPECT_TRUE(door.hear(most).starts_with("[16][5] 0 3 2 -1 10[5]"));
  EXPECT_EQ(door.hear(most + " login more 1"),
            "-ERR expected rule, key and cost, for 1 to 16 keys");
}

TEST(RespRules, Errors) {
  Door door;
  const std::string cost = "-ERR cost must be an integer from -1000000000000 to 1000000000000";
  const std::string shape = "-ERR expected rule, key and cost, for 1 to 16 keys";
  EXPECT_EQ(door.hear("WEIR.HIT logn a"), "-ERR no rule 'logn'; did you mean 'login'?");
  EXPECT_EQ(door.hear("WEIR.HIT entirely-else a"), "-ERR no rule 'entirely-else'");
  EXPECT_EQ(door.hear("WEIR.LOOK Login a"), "-ERR no rule 'Login'; did you mean 'login'?");
  EXPECT_EQ(door.hear("WEIR.HIT login a x"), cost);
  EXPECT_EQ(door.hear("WEIR.HIT login a 1000000000001"), cost);
  EXPECT_EQ(door.hear("WEIR.HIT login a -9223372036854775809"), cost);
  EXPECT_EQ(door.hear("WEIR.HIT login a 1000000000000"), "[5] 1 3 3 -1 0");
  EXPECT_EQ(door.hear("WEIR.HIT login"), "-ERR wrong number of arguments for 'weir.hit' command");
  EXPECT_EQ(door.hear("WEIR.HIT login a 1 2"),
            "-ERR wrong number of arguments for 'weir.hit' command");
  EXPECT_EQ(door.hear("WEIR.MHIT SOME login a 1"),
            "-ERR expected ALL or EACH before the first rule");
  EXPECT_EQ(door.hear("WEIR.MHIT ALL login a 1 login"), shape);
  EXPECT_EQ(door.hear("WEIR.MHIT ALL login a 1 logim b 1"),
            "-ERR no rule 'logim'; did you mean 'login'?");
  EXPECT_EQ(door.hear("WEIR.LOOK login a"), "[5] 0 3 3 -1 0") << "something was charged";
  RespTestDoor none;
  EXPECT_EQ(none.ask("WEIR.HIT r k\r\n"), "-ERR no rule 'r'; there are no rules at all\r\n");
}

TEST(RespRules, AStoreThatDoesNotAnswer) {
  Door door;
  door.store.broken = true;
  const std::string error = "-ERR the store did not answer; nothing was decided";
  EXPECT_EQ(door.hear("WEIR.HIT login a\r\nCL.THROTTLE k 1 1 1"), error + error);
  EXPECT_EQ(door.hear("WEIR.LOOK login a"), error);
  EXPECT_EQ(door.hear("WEIR.MHIT ALL login a 1"), error);
  EXPECT_EQ(door.hear("WEIR.HIT off a"), "[5] 0 3 3 -1 0");
}

TEST(RespRules, NewRulesApplyFromTheNextCommand) {
  Door door;
  RespTestClient client(door);
  client.ask("WEIR.HIT login a\r\n");
  auto changed = rules();
  changed[0].id = "sign-in";
  door.door.use_rules(std::make_shared<const RuleSet>(std::move(changed)));
  EXPECT_EQ(client.ask("WEIR.HIT login a\r\n"), "-ERR no rule 'login'\r\n");
}

TEST(RespRules, ChecksThatArriveTogetherAreDecidedTogether) {
  Door door;
  std::string said;
  for (int i = 0; i < 33; ++i) said += "WEIR.HIT login k" + std::to_string(i) + "\r\n";
  door.ask(said);
  EXPECT_EQ(door.store.batches, 3);
  EXPECT_EQ(door.hear("WEIR.HIT login a\r\nPING\r\nWEIR.HIT login a"),
            "[5] 0 3 2 -1 10[5] 0 3 1 -1 10");
  EXPECT_EQ(door.store.batches, 5) << "PING waits for the check before it";
}

}  // namespace
}  // namespace weir
