// Nodes that agree on the fleet's secret, by their beats and a real Redis that loses it.

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>

#include "proto/reactor_testing.h"
#include "redis/blocking_client.h"
#include "redis/redis_server.h"
#include "store/redis/fleet/fleet_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using namespace weir::testing;

constexpr const char* kKey = "weir:{fleet}:secret";

class Node : public FleetNode {
 public:
  Node(const RedisServer& server, char letter) : FleetNode(Switching().now), client_(server) {
    HashSecret secret;
    secret.bytes.fill(static_cast<std::byte>(letter));
    beat_.emplace(
        FleetBeat::Options{
            .prefix = "weir:", .interval = 100ms, .node = std::string(1, letter), .secret = secret},
        world(client_, reactor_), now);
  }

  void beat() {
    now += 100ms;
    reactor_.run(now);
    client_.run(now);
  }
  // By which it names keys; '-': it does not know.
  char uses() const {
    return listener.secrets.empty() ? '-' : static_cast<char>(listener.secrets.back().bytes[0]);
  }

 private:
  ManualReactor reactor_;
  BlockingClient client_;
  std::optional<FleetBeat> beat_;
};

class FleetSecretTest : public ::testing::Test {
 protected:
  RedisServer server_;
  RedisConnection redis_{server_};
  Node old_{server_, 'a'};
  Node young_{server_, 'b'};
};

TEST_F(FleetSecretTest, TheFirstIsEverybodys) {
  young_.beat();
  old_.beat();
  EXPECT_EQ(old_.uses(), 'b');
  EXPECT_EQ(young_.uses(), 'b');
}

// All nodes took the secret of one that had just begun, and their keys began at 0.
TEST_F(FleetSecretTest, WhoHasBegunWhenItWasLostTakesTheOneBefore) {
  for (const char* const loss : {"FLUSHALL", "DEL"}) {
    old_.beat();
    redis_.call({"DEL", kKey});
    if (loss == std::string("FLUSHALL")) redis_.call({loss});
    Node young(server_, 'c');
    young.beat();
    old_.beat();
    young.beat();
    EXPECT_EQ(old_.listener.secrets.size(), 1u) << loss;
    EXPECT_EQ(young.uses(), 'a') << loss;
  }
}

// Nobody knows how old the secret of another version is: all go on with it.
TEST_F(FleetSecretTest, OfAnotherVersionStays) {
  redis_.call({"SET", kKey, std::string(192, 'z')});
  old_.beat();
  EXPECT_EQ(old_.uses(), 'z');
  redis_.call({"FLUSHALL"});
  young_.beat();
  old_.beat();
  young_.beat();
  EXPECT_EQ(young_.uses(), 'z');
}

}  // namespace
}  // namespace weir
