// When a node beats, and with which words.

#include "store/redis/fleet/fleet_beat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/calls/calls_testing.h"
#include "store/redis/client/client_testing.h"
#include "store/redis/fleet/fleet_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::resp_integer;
using testing::resp_list;
using testing::resp_text;
using Words = std::vector<std::string>;

class FleetBeatTest : public ::testing::Test {
 protected:
  void begin(const std::string& name) {
    FleetBeat::World world = node_.world(client_, reactor_);
    world.topics.rules = &rules_;
    beat_.emplace(FleetBeat::Options{.prefix = "weir:", .interval = 100ms, .node = name}, world,
                  reactor_.now());
  }
  // The words of the next beat.
  Words next() {
    while (client_.sent.empty()) reactor_.advance(1ms);
    return client_.sent.front().words;
  }
  // That so many nodes are alive.
  void answer(std::int64_t nodes) {
    client_.reply(resp_list({resp_text("nodes"),
                             resp_list({resp_integer(nodes), resp_integer(0), resp_integer(0)})}),
                  reactor_.now());
  }
  int beats_in_10s(std::int64_t nodes) {
    next();
    answer(nodes);
    int beats = 0;
    for (const Instant end = reactor_.now() + 10s; reactor_.now() < end; ++beats) {
      next();
      answer(nodes);
    }
    return beats;
  }

  FakeReactor reactor_;
  FakeClient client_;
  testing::FleetNode node_{reactor_.now()};
  SharedRules rules_{"me", [](Instant) {}};
  std::optional<FleetBeat> beat_;
};

bool speaks_of_traffic(const Words& words) { return std::ranges::count(words, "traffic") > 0; }

// Each beat carried 13.8 KB of script, which Redis hashed.
TEST_F(FleetBeatTest, SendsItsScriptOnlyToARedisThatDoesNotKnowIt) {
  begin("me");
  const Words by_hash = next();
  EXPECT_EQ(by_hash[0], "EVALSHA");
  client_.reply("-NOSCRIPT No matching script. Please use EVAL.\r\n", reactor_.now());
  ASSERT_EQ(client_.sent.size(), 1u);
  const Words by_text = next();
  EXPECT_EQ(by_text[0], "EVAL");
  EXPECT_NE(by_text[1].find("redis.call"), std::string::npos);
  EXPECT_TRUE(
      std::ranges::equal(by_hash.begin() + 2, by_hash.end(), by_text.begin() + 2, by_text.end()));
  answer(2);
  EXPECT_EQ(node_.state.live_nodes(), 2);
  EXPECT_EQ(next()[0], "EVALSHA");
  for (int i = 0; i < 2; ++i) client_.reply("-NOSCRIPT\r\n", reactor_.now());
  EXPECT_TRUE(client_.sent.empty());
  EXPECT_NE(node_.state.beat_failure().find("NOSCRIPT"), std::string::npos);
}

TEST_F(FleetBeatTest, IsRarerInALargeFleet) {
  begin("me");
  EXPECT_GE(beats_in_10s(200), 100);
  EXPECT_LE(beats_in_10s(1000), 30) << "two turns a second, and one when the second ends";
  EXPECT_LE(beats_in_10s(100'000), 11);
  EXPECT_GE(beats_in_10s(100'000), 10) << "to be alive";
  EXPECT_GE(beats_in_10s(3), 100);
}

// The clocks of all nodes end their seconds together, and Redis had all their words at once.
TEST_F(FleetBeatTest, NodesOfALargeFleetSpeakOfASecondOneAfterTheOther) {
  std::vector<Duration> said;
  for (int i = 0; i < 20; ++i) {
    begin("node" + std::to_string(i));
    next();
    answer(2000);
    const Instant end = node_.recent_traffic.next_tick();
    while (!speaks_of_traffic(next())) answer(2000);
    said.push_back(reactor_.now() - end);
    answer(2000);
    beat_.reset();
  }
  std::ranges::sort(said);
  EXPECT_GE(said.front(), 0ms);
  EXPECT_LT(said.front(), 150ms);
  EXPECT_GT(said.back(), 600ms);
  EXPECT_LT(said.back(), 751ms);
  EXPECT_EQ(std::ranges::adjacent_find(said), said.end());
}

}  // namespace
}  // namespace weir
