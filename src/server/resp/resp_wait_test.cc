// The Redis door over a store that does not answer at once: its bytes are the same as over a store
// that does.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/testing/late_store.h"
#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

Rule rule(std::int64_t limit) {
  Rule rule;
  rule.id = "r";
  rule.quota = *Quota::make({.limit = limit, .window = std::chrono::minutes(1)});
  return rule;
}

struct LateDoor : RespTestDoor, LateFleet {
  LateDoor()
      : RespTestDoor({.rules = {rule(3)}, .access = {}}),
        LateFleet(engine, now, make_memory_store({.max_keys = 1024}, kStart)) {}
};

std::string everything() {
  std::string text;
  for (int i = 0; i < 20; ++i) text += command({"CL.THROTTLE", "k", "4", "10", "60"});
  text += command({"HELLO", "3"});
  text += command({"WEIR.HIT", "r", "a"});
  text += "weir.hit  r   'a'\r\n";  // undoing its quotes must not spoil it
  text += command({"WEIR.HIT", "nothing", "a"});
  text += command({"WEIR.MHIT", "ALL", "r", "a", "1", "r", "b", "1"});
  text += command({"WEIR.MHIT", "EACH", "r", "a", "1", "r", "c", "1"});
  text += command({"PING"});
  text += command({"WEIR.LOOK", "r", "a"}) + command({"WEIR.RESET", "r", "a"});
  text += command({"CLIENT", "SETNAME", "me"}) + command({"WEIR.HIT", "r", "a"});
  text += command({"CLIENT", "GETNAME"}) + command({"THROTTLE", "q", "2", "10", "60"});
  text += command({"MULTI"}) + command({"WEIR.HIT", "r", "d"}) + command({"PING"});
  text += command({"WEIR.LOOK", "r", "d"}) + command({"HELLO", "2"});
  text += command({"WEIR.MHIT", "ALL", "r", "d", "1", "r", "e", "1"}) + command({"EXEC"});
  text += command({"MULTI"}) + command({"WEIR.ATOMIC"}) + command({"WEIR.HIT", "r", "d", "2"});
  text += command({"WEIR.HIT", "r", "f"}) + command({"EXEC"}) + command({"WEIR.LOOK", "r", "f"});
  text += command({"QUIT"});
  return text;
}

std::string converse(LateDoor& door, std::string_view text, std::size_t piece) {
  FlagWaker waker;
  RespTestClient client(door);
  client.session().attach(waker);
  std::string output;
  for (int turn = 0; turn < 10'000 && !client.finished(); ++turn) {
    const std::size_t fed =
        client.session().input_space().empty() ? 0 : client.feed(text.substr(0, piece));
    text.remove_prefix(fed);
    if (fed == 0 && door.late.waiting() > 0) door.late.answer_one();
    door.go_on();
    if (std::exchange(waker.woken, false)) client.session().woken(door.now);
    output += client.drink();
    if (text.empty() && door.late.waiting() == 0) break;
  }
  return output;
}

TEST(RespWait, AnswersAsIfItHadNotWaited) {
  RespTestDoor immediate({.rules = {rule(3)}, .access = {}});
  const std::string expected = immediate.ask(everything());
  ASSERT_NE(expected.find("me"), std::string::npos);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{13}, std::size_t{100'000}}) {
    LateDoor door;
    EXPECT_EQ(converse(door, everything(), piece), expected) << piece;
  }
}

TEST(RespWait, AFailureThatComesLateIsDecidedHere) {
  LateDoor door;
  FlagWaker waker;
  RespTestClient client(door);
  client.session().attach(waker);
  client.feed(command({"WEIR.HIT", "r", "a"}));
  EXPECT_TRUE(client.session().output().empty());
  door.late.fail_all();
  door.go_on();
  ASSERT_TRUE(waker.woken);
  client.session().woken(door.now);
  EXPECT_TRUE(client.drink().starts_with("*5\r\n:0\r\n:3\r\n:2\r\n"));
  EXPECT_EQ(door.traffic.summary(door.now).fallbacks, 1u);
}

}  // namespace
}  // namespace weir
