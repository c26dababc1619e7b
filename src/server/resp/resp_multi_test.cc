// MULTI and EXEC beyond testdata/transactions.txt: batches, and how much a client may hold up.

#include <gtest/gtest.h>
#include <malloc.h>

#include <string>
#include <utility>
#include <vector>

#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

std::vector<Rule> rules() {
  const auto three = Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = 3, .window = 10s});
  return {{.id = "login", .quota = *three}, {.id = "search", .quota = *three}};
}

// The time is the beginning of a window, so that times are round.
struct Door : RespTestDoor {
  explicit Door(RespAccess access = {})
      : RespTestDoor({.rules = rules(), .access = std::move(access)}) {
    now = instant_from_epoch_us(1'000'000'000'000'000);
  }
};

// Sends lines as people write them; joins the reply's lines by blanks.
std::string hear(RespTestClient& client, const std::vector<std::string>& said) {
  std::string text;
  for (const std::string& line : said) text += line + "\r\n";
  std::string heard = client.ask(text);
  for (auto at = heard.find("\r\n"); at != std::string::npos; at = heard.find("\r\n", at)) {
    heard.replace(at, 2, " ");
  }
  if (!heard.empty()) heard.pop_back();
  return heard;
}

std::string hear(RespTestDoor& door, const std::vector<std::string>& said) {
  RespTestClient client(door);
  return hear(client, said);
}

const std::string kAborted = "-EXECABORT Transaction discarded because of previous errors.";
const std::string kUntouched = "*5 :0 :3 :3 :-1 :0";

TEST(RespMulti, NothingIsChargedBeforeExec) {
  Door door;
  RespTestClient client(door);
  hear(client, {"MULTI", "WEIR.HIT login a", "WEIR.MHIT EACH login a 1", "WEIR.CHARGE login a"});
  EXPECT_EQ(door.store.batches, 0);
  EXPECT_EQ(hear(door, {"WEIR.LOOK login a 0"}), kUntouched);
}

TEST(RespMulti, ItsChecksAreOneBatch) {
  Door door;
  hear(door, {"MULTI", "WEIR.HIT login a", "WEIR.HIT login b", "CL.THROTTLE k 1 1 1", "EXEC"});
  EXPECT_EQ(door.store.batches, 1);
}

TEST(RespMulti, AtomicIsOneBatchOfSixteenChecksAtMost) {
  Door door;
  std::vector<std::string> many = {"MULTI", "WEIR.ATOMIC"};
  for (int i = 0; i < 16; ++i) many.push_back("WEIR.HIT login k" + std::to_string(i));
  many.emplace_back("EXEC");
  hear(door, many);
  EXPECT_EQ(door.store.batches, 1);
  many.insert(many.end() - 1, "WEIR.HIT login more");
  EXPECT_TRUE(hear(door, many).ends_with("-ERR WEIR.ATOMIC takes at most 16 checks " + kAborted));
  EXPECT_EQ(door.store.batches, 1);
}

TEST(RespMulti, AtomicOfRulesThatHaveGoneChargesNothing) {
  Door door;
  RespTestClient client(door);
  hear(client, {"MULTI", "WEIR.ATOMIC", "WEIR.HIT search a", "WEIR.HIT login a"});
  auto changed = rules();
  changed[0].id = "sign-in";
  door.door.use_rules(std::make_shared<const RuleSet>(std::move(changed)));
  EXPECT_EQ(hear(client, {"EXEC", "WEIR.LOOK search a 0"}),
            "-EXECABORT Transaction discarded because of: no rule 'login' " + kUntouched);
}

TEST(RespMulti, AtomicCountsTheLimitsOfItsRules) {
  auto many = rules();
  for (int i = 1; i <= 8; ++i) {
    many[0].limits.push_back(*Quota::make({.limit = 3, .window = i * 10s}));
  }
  RespTestDoor door({.rules = many, .access = {}});
  EXPECT_EQ(
      hear(door, {"MULTI", "WEIR.ATOMIC", "WEIR.HIT login a", "WEIR.HIT login b",
                  "WEIR.HIT login c", "EXEC"}),
      "+OK +QUEUED +QUEUED +QUEUED +QUEUED "
      "-EXECABORT Transaction discarded because of: these rules have more than 16 limits in all");
  EXPECT_EQ(hear(door, {"WEIR.LOOK login a 0"}), kUntouched);
}

TEST(RespMulti, GuessingInsideCostsWhatItCostsOutside) {
  Door door({.admin_token = "token"});
  RespTestClient client(door);
  std::vector<std::string> said = {"MULTI"};
  for (int i = 0; i < 6; ++i) said.emplace_back("AUTH guess");
  said.emplace_back("EXEC");
  const Instant before = door.now;
  std::string expected = "+OK +QUEUED +QUEUED +QUEUED +QUEUED +QUEUED +QUEUED *6";
  for (int i = 0; i < 5; ++i) {
    expected += " -WRONGPASS invalid username-password pair or user is disabled.";
  }
  EXPECT_EQ(hear(client, said), expected + " -ERR the connection closes");
  EXPECT_GE(door.now - before, 5s);
  EXPECT_TRUE(client.finished());
}

TEST(RespMulti, TheNumberOfCommandsIsBounded) {
  Door door;
  RespTestClient client(door);
  hear(client, {"MULTI"});
  std::vector<std::string> said(Transaction::kCommandsMax, "PING");
  said.emplace_back("WEIR.HIT login a");
  said.emplace_back("EXEC");
  EXPECT_TRUE(
      hear(client, said)
          .ends_with("-ERR a transaction holds at most 1024 commands of 1 MiB in all " + kAborted));
  EXPECT_EQ(hear(client, {"WEIR.LOOK login a 0"}), kUntouched);
}

TEST(RespMulti, TheirBytesAreBoundedAndCount) {
  Door door;
  RespTestClient client(door);
  hear(client, {"MULTI"});
  const std::string echo = command({"ECHO", std::string(60'000, 'x')});
  const std::size_t before = client.session().held();
  for (int i = 0; i < 17; ++i) EXPECT_EQ(client.ask(echo), "+QUEUED\r\n");
  EXPECT_GE(client.session().held(), before + 17 * 60'000);
  EXPECT_EQ(client.ask(echo), "-ERR a transaction holds at most 1024 commands of 1 MiB in all\r\n");
  EXPECT_EQ(client.ask(echo), "+QUEUED\r\n");
  EXPECT_LT(client.session().held(), 1'000'000u) << "spoilt, it is still there";
  EXPECT_EQ(hear(client, {"EXEC"}), kAborted);
}

// Blocks are looked up when the batch is decided, behind EXEC's last command.
TEST(RespMulti, ItsKeysAreThereUntilItsChecksAreDecided) {
  mallopt(M_PERTURB, 0xff);  // freed memory is overwritten
  Door door;
  ASSERT_TRUE(door.blocks.add(
      {.key = "bad", .until = door.now + 60s, .reason = BlockReason::kManual}, door.now));
  EXPECT_EQ(hear(door, {"MULTI", "CL.THROTTLE good 1 1 1", "CL.THROTTLE bad 1 1 1", "EXEC"}),
            "+OK +QUEUED +QUEUED *2 *5 :0 :2 :1 :-1 :1 *5 :1 :2 :0 :60 :60");
  mallopt(M_PERTURB, 0);
}

TEST(RespMulti, RepliesDoNotWaitWithoutBound) {
  RespTestDoor door;
  RespTestClient client(door);
  std::vector<std::string> said(1 + 1000, "COMMAND DOCS");
  said[0] = "MULTI";
  hear(client, said);
  client.feed("EXEC\r\n");
  std::size_t heard = 0;
  Session& session = client.session();
  for (int i = 0; i < 100'000 && !session.output().empty(); ++i) {
    EXPECT_LT(session.held(), 1'000'000u);
    heard += session.output().size();
    session.sent(session.output().size(), door.now);
  }
  EXPECT_GT(heard, 1'000'000u);
  EXPECT_EQ(client.ask("PING\r\n"), "+PONG\r\n");
}

TEST(RespMulti, RepliesDoNotDependOnHowBytesArrive) {
  const std::string said =
      command({"MULTI"}) + command({"WEIR.HIT", "login", "a"}) + "weir.hit 'login' \"a\"\r\n" +
      command({"WEIR.MHIT", "ALL", "login", "a", "1", "login", "b", "1"}) +
      command({"ECHO", std::string(5000, 'x')}) + "PING\r\n" + command({"EXEC"}) +
      "MULTI\r\nWEIR.ATOMIC\r\nWEIR.HIT login c\r\nEXEC\r\nMULTI\r\nNOPE\r\nEXEC\r\n" +
      command({"WEIR.LOOK", "login", "a", "0"});
  Door whole;
  const std::string expected = whole.ask(said);
  EXPECT_TRUE(expected.ends_with(":3\r\n:0\r\n:-1\r\n:10\r\n")) << expected;
  for (const std::size_t piece : {1, 2, 3, 5, 7, 16, 31, 64, 100, 1000, 4000}) {
    Door door;
    EXPECT_EQ(RespTestClient(door).ask_in_pieces(said, piece), expected) << piece;
  }
}

}  // namespace
}  // namespace weir
