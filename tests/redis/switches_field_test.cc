// Nodes that agree on what adaptive rules follow, by their beats and a real Redis.

#include "store/redis/fleet/switches_field.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/packed.h"
#include "proto/reactor_testing.h"
#include "redis/blocking_client.h"
#include "redis/redis_server.h"
#include "store/redis/fleet/fleet_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using namespace weir::testing;
using Scope = TrafficSnapshot::Scope;

constexpr const char* kKey = "weir:{fleet}:switches";

std::string name_of(const char* rule) { return std::to_string(rule_hash(rule)); }

const std::string kWhy = PackedWriter().version('1').number(1).number(9).number(9).number(9).take();

// Its clock is a minute ahead for each node before it.
class Node : public FleetNode {
 public:
  Node(const RedisServer& server, int number)
      : FleetNode(Switching().now + number * 1min),
        client_(server),
        name_("node" + std::to_string(number)) {
    now += number * 1min;
    recent.scope = Scope::kFleet;
    beat_.emplace(
        FleetBeat::Options{
            .prefix = "weir:", .interval = 100ms, .node = name_, .secret = HashSecret()},
        world(client_, reactor_), now);
    pass(11, {});
  }

  // One beat: what it has to say, and what it hears.
  void beat() {
    now += 100ms;
    reactor_.run(now);
    client_.run(now);
  }

 private:
  ManualReactor reactor_;
  BlockingClient client_;
  const std::string name_;
  std::optional<FleetBeat> beat_;
};

class SwitchesFieldTest : public ::testing::Test {
 protected:
  SwitchesFieldTest() {
    for (int number = 0; number < 3; ++number) nodes_.emplace_back(server_, number);
  }

  void beat_all(int times = 1) {
    for (; times > 0; --times) {
      for (Node& node : nodes_) node.beat();
    }
  }
  void expect_all(RuleNumber rule, ActiveAlgorithm active) {
    for (Node& node : nodes_) EXPECT_EQ(node.algorithms.of(rule), active);
  }
  std::string entry_of(const char* rule) {
    return std::string(redis_.call({"HGET", kKey, name_of(rule)}).text());
  }

  RedisServer server_;
  RedisConnection redis_{server_};
  std::deque<Node> nodes_;
};

TEST_F(SwitchesFieldTest, AllNodesFollowASwitchAfterABeatAndOfSeveralProposalsOneCounts) {
  for (Node& node : nodes_) node.burst(kLogin);
  beat_all(2);
  expect_all(kLogin, next_switch(0, kBursting));
  for (const Node& node : nodes_) {
    EXPECT_EQ(node.log, std::vector<std::string>{"login: sliding_window -> token_bucket"});
  }
  for (Node& node : nodes_) node.pass(6, {});
  beat_all(2);
  expect_all(kLogin, next_switch(1, kCalm));
  expect_all(kSearch, {});
}

TEST_F(SwitchesFieldTest, OfTwoThatDecideDifferentlyTheFirstWins) {
  nodes_[0].burst(kLogin);
  nodes_[1].pass(10, {{.rule = kLogin, .counts = {.requests = 100, .denied = 90}}});
  ASSERT_EQ(nodes_[1].switches.unsaid(1).size(), 1u);
  ASSERT_EQ(nodes_[1].switches.unsaid(1)[0].to.active.algorithm, kHammered);
  beat_all(2);
  expect_all(kLogin, next_switch(0, kBursting));
}

TEST_F(SwitchesFieldTest, TheTimeOfASwitchIsRediss) {
  nodes_[0].burst(kLogin);
  beat_all(2);
  for (Node& node : nodes_) {
    const Duration ago = node.now - node.switches.of("login")->since;
    EXPECT_GE(ago, 0s);
    EXPECT_LT(ago, 30s) << "clocks are minutes apart";
    EXPECT_EQ(node.switches.of("login")->why, (RecentRequests{.all = 100, .latest = 100}));
  }
}

TEST_F(SwitchesFieldTest, WhoComesLaterLearnsWhatHasSwitched) {
  nodes_[0].burst(kLogin);
  beat_all();
  Node& late = nodes_.emplace_back(server_, 3);
  late.beat();
  EXPECT_EQ(late.active(kLogin), kBursting);
}

TEST_F(SwitchesFieldTest, ARedisThatHasLostItsDataIsFilledAgain) {
  nodes_[0].burst(kLogin);
  nodes_[1].burst(kSearch);
  beat_all(2);
  redis_.call({"FLUSHALL"});
  beat_all(2);
  EXPECT_NE(entry_of("login"), "");
  EXPECT_NE(entry_of("search"), "");
  Node& late = nodes_.emplace_back(server_, 3);
  beat_all();
  EXPECT_EQ(late.active(kSearch), kBursting);
  nodes_[2].pass(6, {});
  beat_all(2);
  expect_all(kLogin, next_switch(1, kCalm));
}

TEST_F(SwitchesFieldTest, AfterAnOutageTheGreaterNumberWins) {
  for (Node& node : nodes_) node.recent.scope = Scope::kNode;
  nodes_[0].burst(kLogin);
  nodes_[1].burst(kLogin);
  nodes_[1].pass(6, {});
  EXPECT_EQ(nodes_[0].active(kLogin), kBursting);
  EXPECT_EQ(nodes_[1].number(kLogin), 3u);
  beat_all(2);
  expect_all(kLogin, next_switch(1, kCalm));
}

TEST_F(SwitchesFieldTest, GarbageIsNamedOnceAndReplacedByTheNextSwitch) {
  nodes_[0].burst(kLogin);
  beat_all(2);
  const std::string name = name_of("login");
  for (const std::string& garbage :
       {std::string("rain"), std::string(), std::string(100'000, '9'), "1 99999999999 " + kWhy,
        "99999999999999999 0 " + kWhy, "1 1 " + kWhy + "1"}) {
    redis_.call({"HSET", kKey, name, garbage, "weather", "rain", "stamp", "4000000000000000"});
    redis_.call({"HSET", kKey, "epoch", garbage});
    beat_all(3);
    expect_all(kLogin, next_switch(0, kBursting));
  }
  for (const Node& node : nodes_) {
    ASSERT_EQ(node.listener.said.size(), 1u);
    EXPECT_TRUE(node.listener.said[0].starts_with(kKey)) << node.listener.said[0];
  }
  for (Node& node : nodes_) node.pass(6, {});
  beat_all(3);
  expect_all(kLogin, next_switch(1, kCalm));
  EXPECT_NE(entry_of("login").find(" 3 "), std::string::npos) << entry_of("login");
}

// A stamp of nan was after and before nothing, and an epoch of a megabyte broke the whole beat.
TEST_F(SwitchesFieldTest, AForgedStampOrEpochStopsNoSwitch) {
  redis_.call({"HSET", kKey, "stamp", "nan", "epoch", std::string(2 << 20, 'e')});
  nodes_[0].burst(kLogin);
  beat_all(3);
  expect_all(kLogin, next_switch(0, kBursting));
}

// No number could follow the greatest.
TEST_F(SwitchesFieldTest, AForgedNumberLeavesRoomForTheNext) {
  nodes_[0].burst(kLogin);
  beat_all(2);
  const std::int64_t now_s = std::stoll(std::string(redis_.call({"TIME"})[0].text()));
  const auto forged = static_cast<std::uint32_t>(now_s - 60 - now_s % 3 + 2);  // backoff
  const std::int64_t stamp = std::stoll(std::string(redis_.call({"HGET", kKey, "stamp"}).text()));
  const std::string next = std::to_string(stamp + 1);
  redis_.call({"HSET", kKey, "stamp", next, name_of("login"),
               next + " " + std::to_string(forged) + " " + kWhy});
  redis_.call({"DEL", "weir:{fleet}:news"});  // else nodes would look a second later
  beat_all(2);
  for (const Node& node : nodes_) EXPECT_EQ(node.number(kLogin), forged);
  for (Node& node : nodes_) node.pass(6, {});
  beat_all(3);
  expect_all(kLogin, next_switch(forged, kCalm));
}

TEST_F(SwitchesFieldTest, AnotherTypeUnderTheKeyTakesAwayNothingElse) {
  redis_.call({"SET", kKey, "rain"});
  nodes_[0].burst(kLogin);
  beat_all(3);
  expect_all(kLogin, {});
  EXPECT_EQ(redis_.call({"ZCARD", "weir:{fleet}:nodes"}).integer(), 3);
  ASSERT_EQ(nodes_[0].listener.said.size(), 1u);
  EXPECT_NE(nodes_[0].listener.said[0].find("WRONGTYPE"), std::string::npos)
      << nodes_[0].listener.said[0];
}

TEST_F(SwitchesFieldTest, NodesKnowWhoIsSilentForAMinute) {
  const auto heard = [&] {
    beat_all(2);
    return nodes_[0].state.heard();
  };
  EXPECT_EQ(heard().live, 3);
  EXPECT_EQ(heard().silent, 0);
  constexpr const char* kNodes = "weir:{fleet}:nodes";
  const std::int64_t now_s = std::stoll(std::string(redis_.call({"TIME"})[0].text()));
  redis_.call({"ZADD", kNodes, std::to_string(now_s - 70), "dead"});
  EXPECT_EQ(heard().silent, 0);
  for (int cut = 1; cut <= 9; ++cut) {
    redis_.call({"ZADD", kNodes, std::to_string(now_s - 10 - cut), "cut" + std::to_string(cut)});
    EXPECT_EQ(heard().silent, cut);
    EXPECT_EQ(heard().live, 3);
  }
  EXPECT_GE(nodes_[0].now - heard().since, 19s);
  EXPECT_EQ(heard().live, 3);
  redis_.call({"ACL", "SETUSER", "default", "-zrange"});
  EXPECT_EQ(heard().live, 3);
  EXPECT_EQ(heard().silent, 1);  // nobody knows
}

// One command that is not allowed took the whole beat away.
TEST_F(SwitchesFieldTest, AUserWithoutTheCommandsLosesTheSwitchesAlone) {
  for (const std::string_view command : {"-hmget", "-hset", "-hgetall"}) {
    redis_.call({"ACL", "SETUSER", "default", "+@all", command});
    Node& node = nodes_.emplace_back(server_, 3);
    node.burst(kLogin);
    node.beat();
    node.beat();
    ASSERT_EQ(node.listener.said.size(), 1u) << command;
    EXPECT_TRUE(node.listener.said[0].starts_with(kKey)) << node.listener.said[0];
    EXPECT_EQ(node.state.beat_failure(), "") << command;
  }
}

TEST_F(SwitchesFieldTest, ManySwitchesTakeSeveralBeats) {
  for (std::uint64_t rule = 1; rule <= 700; ++rule) {
    nodes_[0].switches.learn(rule, switched(1, nodes_[0].now));
  }
  nodes_[0].switches.say_all_again();
  beat_all(8);
  EXPECT_EQ(redis_.call({"HLEN", kKey}).integer(), 702) << "with epoch and stamp";
  nodes_[1].switches.say_all_again();
  EXPECT_EQ(nodes_[1].switches.unsaid(1000).size(), 700u) << "it has heard of all";
}

}  // namespace
}  // namespace weir
