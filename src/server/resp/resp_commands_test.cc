// WEIR.HIT and its kin beyond testdata/commands.txt: batches, bounds, rules that change.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

std::vector<Rule> rules() {
  return {
      {.id = "login",
       .quota = *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = 3, .window = 10s})}};
}

// At the beginning of a window, so that times are round.
struct Door : RespTestDoor {
  Door() : RespTestDoor({.rules = rules(), .access = {}}) {
    now = instant_from_epoch_us(1'000'000'000'000'000);
  }
};

TEST(RespRules, ManyHitsAreSixteenAtMost) {
  Door door;
  std::string most = "WEIR.MHIT EACH";
  for (int i = 0; i < 16; ++i) most += " login k" + std::to_string(i) + " 1";
  EXPECT_TRUE(door.ask(most + "\r\n").starts_with("*16\r\n*5\r\n:0\r\n:3\r\n:2\r\n"));
  EXPECT_EQ(door.ask(most + " login more 1\r\n"),
            "-ERR expected rule, key and cost, for 1 to 16 keys\r\n");
}

TEST(RespRules, WithoutAnyTheErrorSaysSo) {
  EXPECT_EQ(RespTestDoor().ask("WEIR.HIT r k\r\n"),
            "-ERR no rule 'r'; there are no rules at all\r\n");
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
  door.ask("WEIR.HIT login a\r\nPING\r\nWEIR.HIT login a\r\n");
  EXPECT_EQ(door.store.batches, 5) << "PING waits for the check before it";
}

}  // namespace
}  // namespace weir
