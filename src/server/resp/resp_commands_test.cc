// Commands beyond testdata/commands.txt: batches, bounds, changed rules, counts.

#include "server/resp/commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/resp/resp_test_door.h"
#include "weir/holding_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

std::vector<Rule> rules() {
  return {
      {.id = "login",
       .quota = *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = 3, .window = 10s})}};
}

// The time is the beginning of a window, so that times are round.
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

// A rule of 100 a minute, and two holds of a key.
struct HoldsDoor : RespTestDoor {
  HoldsDoor()
      : RespTestDoor({.rules = {{.id = "tokens",
                                 .quota = *Quota::make({Algorithm::kFixedWindow, 100, 1min}),
                                 .holds_max = 2},
                                {.id = "plain", .quota = *Quota::make({.limit = 1, .window = 1s})}},
                      .access = {}}) {
    now = instant_from_epoch_us(1'000'000'020'000'000);  // a minute begins
  }
};

TEST(RespRules, RefusesWhatNobodyCanHold) {
  HoldsDoor door;
  for (const char* const wrong :
       {"tokens a 0 1s", "tokens a x 1s", "tokens a 1 61s", "tokens a 1 0s", "tokens a 1 soon",
        "plain a 1 1s", "other a 1 1s", "tokens a 1", "tokens a 1 1s more"}) {
    const std::string said = door.ask("WEIR.RESERVE " + std::string(wrong) + "\r\n");
    EXPECT_TRUE(said.starts_with("-ERR ")) << wrong << ": " << said;
  }
  EXPECT_EQ(door.ask("WEIR.RESERVE tokens a x 1s\r\n"),
            "-ERR cost must be an integer from 1 to 1000000000000\r\n");
  EXPECT_EQ(door.ask("WEIR.RESERVE tokens a 1 61s\r\n"),
            "-ERR hold must be a duration from 1ms to the window, 1m\r\n");
  for (const char* const wrong : {"x", "x -1", "x 1 less", "x 1 more more"}) {
    const std::string said = door.ask("WEIR.COMMIT " + std::string(wrong) + "\r\n");
    EXPECT_TRUE(said.starts_with("-ERR ")) << wrong << ": " << said;
  }
  EXPECT_TRUE(door.ask("WEIR.COMMIT x 1\r\n").starts_with("-NOTOKEN "));
  const std::string held = door.ask("WEIR.RESERVE tokens a 1 30s\r\n");
  EXPECT_TRUE(held.starts_with("*2\r\n*5\r\n:0\r\n:100\r\n:99\r\n:-1\r\n:60\r\n$32\r\n")) << held;
  EXPECT_EQ(door.ask("WEIR.RESERVE tokens a 100 30s\r\n"),
            "*2\r\n*5\r\n:1\r\n:100\r\n:99\r\n:60\r\n:60\r\n$-1\r\n");
  door.ask("WEIR.RESERVE tokens a 1 30s\r\n");
  door.now += 55'531us;
  const std::string third = door.ask("WEIR.RESERVE tokens a 1 30s\r\n");
  EXPECT_EQ(third, "-TOOMANYHOLDS " + std::string(kTooManyHeld) + ", for 30s more\r\n");
  EXPECT_EQ(door.ask("WEIR.RESERVE plain a 1 1s\r\n"),
            "-ERR rule must be a rule with max_holds\r\n");
  EXPECT_TRUE(door.ask("WEIR.LOOK tokens a 0\r\n").starts_with("*5\r\n:0\r\n:100\r\n:98\r\n"));
}

TEST(RespRules, AcquiresAndReleasesSlots) {
  RespTestDoor door({.rules = {{.id = "calls",
                                .quota = *slot_quota(1),
                                .effect = Rule::Effect::kConcurrency,
                                .holds_max = 1},
                               {.id = "plain", .quota = *Quota::make({.limit = 1, .window = 1s})}},
                     .access = {}});
  const std::string held = door.ask("WEIR.ACQUIRE calls a 30s\r\n");
  ASSERT_TRUE(held.starts_with("*2\r\n*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:30\r\n$32\r\n")) << held;
  const std::string token = held.substr(held.size() - 34, 32);
  EXPECT_EQ(door.ask("WEIR.ACQUIRE calls a 30s\r\n"),
            "*2\r\n*5\r\n:1\r\n:1\r\n:0\r\n:30\r\n:30\r\n$-1\r\n");
  EXPECT_TRUE(door.ask("WEIR.COMMIT " + token + " 1\r\n").starts_with("-NOTOKEN "));
  EXPECT_EQ(door.ask("WEIR.RELEASE " + token + "\r\n"), ":1\r\n");
  EXPECT_TRUE(door.ask("WEIR.RELEASE " + token + "\r\n").starts_with("-NOTOKEN "));
  for (const char* const wrong : {"ACQUIRE plain a 1s", "ACQUIRE other a 1s", "ACQUIRE calls a 25h",
                                  "ACQUIRE calls a", "RELEASE", "HIT calls a", "LOOK calls a",
                                  "RESET calls a", "RESERVE calls a 1 1s", "MHIT EACH calls a 1"}) {
    const std::string said = door.ask("WEIR." + std::string(wrong) + "\r\n");
    EXPECT_TRUE(said.starts_with("-ERR ")) << wrong << ": " << said;
  }
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

TEST(RespClientCommands, Client) {
  EXPECT_EQ(RespTestDoor().ask("CLIENT SETNAME " + std::string(257, 'n') + "\r\n"),
            "-ERR Client names cannot be longer than 256 bytes.\r\n");
  RespTestDoor door;
  RespTestClient client(door);
  client.ask("CLIENT SETNAME me\r\n");
  door.now += std::chrono::seconds(5);
  const std::string line =
      "id=1 addr=127.0.0.1 name=me age=5 idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 "
      "qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r "
      "cmd=client|list user=default redir=-1 resp=2\n";
  EXPECT_EQ(client.ask("CLIENT LIST\r\n"),
            "$" + std::to_string(line.size()) + "\r\n" + line + "\r\n");
  EXPECT_TRUE(client.ask("HELLO 3\r\nCLIENT INFO\r\n").find("\r\ntxt:id=1 addr=") !=
              std::string::npos);
}

TEST(RespClientCommands, Command) {
  const auto top = std::to_string(std::ranges::count_if(
      resp::commands(), [](const auto& command) { return !command.is_subcommand(); }));
  RespTestDoor door;
  EXPECT_EQ(door.ask("COMMAND COUNT\r\n"), ":" + top + "\r\n");
  EXPECT_TRUE(door.ask("COMMAND\r\n").starts_with("*" + top + "\r\n*10\r\n"));
  EXPECT_TRUE(door.ask("COMMAND LIST\r\n").starts_with("*" + top + "\r\n$11\r\ncl.throttle\r\n"));
  EXPECT_TRUE(door.ask("HELLO 3\r\nCOMMAND DOCS\r\n").find("\r\n%" + top + "\r\n$11\r\ncl.thr") !=
              std::string::npos);
}

TEST(RespClientCommands, Info) {
  RespTestDoor door;
  RespTestClient client(door);
  client.ask("CL.THROTTLE k 0 1 60\r\nCL.THROTTLE k 0 1 60\r\n");
  const std::string all = client.ask("INFO\r\n");
  for (const char* line :
       {"# Server", "weir_version:1.2.3", "uptime_in_seconds:100", "# Clients",
        "connected_clients:1", "loading:0", "# Stats", "total_connections_received:1",
        "total_commands_processed:3", "decisions_allowed:1", "decisions_denied:1", "role:master",
        "# Keyspace"}) {
    EXPECT_NE(all.find(std::string(line) + "\r\n"), std::string::npos) << line;
  }
  const std::string clients = "# Clients\r\nconnected_clients:1\r\n";
  EXPECT_EQ(client.ask("INFO clients\r\n"),
            "$" + std::to_string(clients.size()) + "\r\n" + clients + "\r\n");
  EXPECT_EQ(client.ask("INFO nope\r\n"), "$0\r\n\r\n");
  EXPECT_EQ(client.ask("INFO everything\r\n").size(), client.ask("INFO\r\n").size());
  client.ask("HELLO 3\r\n");
  EXPECT_TRUE(client.ask("INFO\r\n").starts_with("="));
}

}  // namespace
}  // namespace weir
