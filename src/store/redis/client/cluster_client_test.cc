#include "store/redis/client/cluster_client.h"

#include "store/redis/client/client_testing.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using Phase = LinkState::Phase;

class ClusterClientTest : public testing::Test {
 protected:
  ClusterClientTest() {
    auto url = *RedisUrl::parse("redis-cluster://seed:1");
    client = make_redis_client(url, {.reactor = reactor, .dialer = dialer, .seed = 3}, states,
                               reactor.now());
  }

  Server accept(const std::string& destination) {
    Server server(dialer.accept(destination), reactor);
    server.welcome("cluster", "master");
    return server;
  }

  // a:1 has the lower half, b:2 the upper.
  void tell_map(Server& teller, const std::string& lower = "a", const std::string& upper = "b") {
    reactor.advance(ClusterClient::kMapsApart);
    EXPECT_EQ(teller.hear(), "CLUSTER SLOTS");
    teller.say({"*2", "*3", ":0", ":8191", "*2", "+" + lower, ":1", "*3", ":8192", ":16383", "*2",
                "+" + upper, ":2"});
  }

  std::optional<RedisFailure> send(std::uint16_t slot) {
    return client->send(words, slot, reactor.now() + milliseconds(20), call, reactor.now());
  }

  const std::vector<std::string_view> words = {"GET", "k"};
  FakeReactor reactor;
  FakeDialer dialer{reactor};
  NotedStates states;
  NotedCall call;
  std::unique_ptr<RedisClient> client;
};

TEST_F(ClusterClientTest, SendsEachSlotsCommandsToItsMaster) {
  EXPECT_EQ(send(0), RedisFailure::kDisconnected);
  auto teller = accept("seed:1");
  tell_map(teller);
  EXPECT_EQ(dialer.wanted(), "a:1 b:2");
  EXPECT_EQ(send(0), RedisFailure::kDisconnected);
  auto a = accept("a:1");
  EXPECT_THAT(states.said, ElementsAre());  // half of it is not connected
  EXPECT_EQ(send(8191), std::nullopt);
  EXPECT_EQ(a.hear(), "GET k");
  a.say({"+v"});
  auto b = accept("b:2");
  EXPECT_THAT(states.said, ElementsAre("connected"));
  EXPECT_EQ(send(8192), std::nullopt);
  EXPECT_EQ(b.hear(), "GET k");
  b.say({"+w"});
  EXPECT_EQ(call.outcome, "v, w");
}

class WithMasters : public ClusterClientTest {
 protected:
  WithMasters() {
    tell_map(teller);
    a.emplace(accept("a:1"));
    b.emplace(accept("b:2"));
  }
  Server teller = accept("seed:1");
  std::optional<Server> a;
  std::optional<Server> b;
};

TEST_F(WithMasters, FollowsMovedAndFetchesTheMapAnew) {
  EXPECT_EQ(send(5), std::nullopt);
  a->hear();
  a->say({"-MOVED 5 b:2"});
  EXPECT_EQ(b->hear(), "GET k");
  b->say({"+v"});
  EXPECT_EQ(call.outcome, "v");
  tell_map(teller, "b", "b");
}

TEST_F(WithMasters, FollowsAskForOnce) {
  EXPECT_EQ(send(5), std::nullopt);
  a->hear();
  a->say({"-ASK 5 b:2"});
  EXPECT_EQ(b->hear(), "ASKING|GET k");
  b->say({"+OK", "+v"});
  EXPECT_EQ(call.outcome, "v");
  EXPECT_EQ(send(5), std::nullopt);
  EXPECT_EQ(a->hear(), "GET k");
  reactor.advance(ClusterClient::kMapsApart);
  EXPECT_EQ(teller.hear(), "");
}

TEST_F(WithMasters, TriesAgainUntilTheDeadline) {
  EXPECT_EQ(send(5), std::nullopt);
  a->hear();
  a->say({"-TRYAGAIN Multiple keys request during rehashing of slot"});
  EXPECT_EQ(a->hear(), "");
  reactor.advance(ClusterClient::kTryAgain);
  EXPECT_EQ(a->hear(), "GET k");
  a->say({"-TRYAGAIN x"});
  EXPECT_EQ(call.outcome, "");
  reactor.advance(milliseconds(20));
  EXPECT_EQ(call.outcome, "timed_out");
}

TEST_F(WithMasters, ForgetsWhatIsToBeTriedAgain) {
  EXPECT_EQ(send(5), std::nullopt);
  a->hear();
  a->say({"-TRYAGAIN x"});
  client->forget(call);
  reactor.advance(milliseconds(20));
  EXPECT_EQ(a->hear(), "");
  EXPECT_EQ(call.outcome, "");
}

TEST_F(WithMasters, FailsWhatIsToBeTriedAgainWhenItGoes) {
  EXPECT_EQ(send(5), std::nullopt);
  a->hear();
  a->say({"-TRYAGAIN x"});
  client.reset();
  EXPECT_EQ(call.outcome, "disconnected");
}

TEST_F(WithMasters, IsNotSentInCircles) {
  EXPECT_EQ(send(5), std::nullopt);
  for (int i = 0; i < 20 && call.outcome.empty(); ++i) {
    a->say({"-MOVED 5 b:2"});
    if (call.outcome.empty()) b->say({"-MOVED 5 a:1"});
  }
  EXPECT_EQ(call.outcome, "not_ready");
}

TEST_F(WithMasters, IsNotSentToNowhere) {
  EXPECT_EQ(send(5), std::nullopt);
  a->say({"-MOVED 5 ?:0"});
  EXPECT_EQ(call.outcome, "not_ready");
  EXPECT_EQ(send(5), std::nullopt);
  a->say({"-MOVED 5 c:3"});  // a new node: there is no connection yet
  EXPECT_EQ(call.outcome, "not_ready, disconnected");
  EXPECT_EQ(dialer.wanted(), "c:3");
}

TEST_F(WithMasters, HandsOnThatTheClusterIsDownAndLooksAgain) {
  EXPECT_EQ(send(5), std::nullopt);
  a->say({"-CLUSTERDOWN Hash slot not served"});
  EXPECT_EQ(call.outcome, "CLUSTERDOWN Hash slot not served");
  tell_map(teller);
}

TEST_F(WithMasters, GoesOnWithTheOthersWhenAMasterIsLost) {
  a->hang_up();
  EXPECT_EQ(states.said.back(), "disconnected: a:1: it has closed the connection");
  EXPECT_EQ(send(5), RedisFailure::kDisconnected);
  EXPECT_EQ(send(9000), std::nullopt);
  tell_map(teller, "c", "b");  // a replica has taken over
  auto c = accept("c:1");
  EXPECT_EQ(states.said.back(), "connected");
  EXPECT_EQ(send(5), std::nullopt);
  EXPECT_EQ(c.hear(), "GET k");
}

TEST_F(WithMasters, AsksAnotherForTheMapWhenTheTellerIsLost) {
  teller.hang_up();
  reactor.advance(milliseconds(200));
  EXPECT_EQ(dialer.wanted(), "a:1");
  EXPECT_THAT(states.said, ElementsAre("connected"));
}

TEST_F(ClusterClientTest, SaysThatThereAreNoSlots) {
  auto teller = accept("seed:1");
  reactor.advance(ClusterClient::kMapsApart);
  teller.say({"*0"});
  EXPECT_EQ(states.said.back(), "disconnected: seed:1: no master has a slot");
}

}  // namespace
}  // namespace weir
