#include "store/redis/client/sentinel_client.h"

#include "store/redis/client/client_testing.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using Phase = LinkState::Phase;

class SentinelClientTest : public testing::Test {
 protected:
  SentinelClientTest() {
    auto url = *RedisUrl::parse("redis-sentinel://s:1,t:2/m");
    client = make_redis_client(url, {.reactor = reactor, .dialer = dialer, .seed = 3}, states,
                               reactor.now());
  }

  Server accept(const std::string& destination, const std::string& mode = "standalone",
                const std::string& role = "master") {
    Server server(dialer.accept(destination), reactor);
    server.welcome(mode, role);
    return server;
  }
  Server accept_sentinel(const std::string& destination) {
    return accept(destination, "sentinel", "");
  }
  static void name_master(Server& sentinel, const std::string& host, const std::string& port) {
    sentinel.say(
        {"*2", "$" + std::to_string(host.size()), host, "$" + std::to_string(port.size()), port});
  }
  std::optional<RedisFailure> ping() {
    return client->send(words, 0, reactor.now() + milliseconds(20), call, reactor.now());
  }

  const std::vector<std::string_view> words = {"PING"};
  FakeReactor reactor;
  FakeDialer dialer{reactor};
  NotedStates states;
  NotedCall call;
  std::unique_ptr<RedisClient> client;
};

TEST_F(SentinelClientTest, AsksForTheMasterAndListensForAnother) {
  auto sentinel = accept_sentinel("s:1");
  EXPECT_EQ(sentinel.hear(), "SUBSCRIBE +switch-master|SENTINEL GET-MASTER-ADDR-BY-NAME m");
  name_master(sentinel, "10.0.0.1", "6379");
  EXPECT_EQ(client->state().phase, Phase::kConnecting);
  auto master = accept("10.0.0.1:6379");
  EXPECT_THAT(states.said, ElementsAre("connected"));
  EXPECT_EQ(ping(), std::nullopt);
  EXPECT_EQ(master.hear(), "PING");
  // About another master, then about ours.
  sentinel.say({">3", "+message", "++switch-master", "+mm 10.0.0.1 1 10.0.0.2 2"});
  EXPECT_EQ(sentinel.hear(), "");
  sentinel.say({">3", "+message", "++switch-master", "+m 10.0.0.1 6379 10.0.0.2 6379"});
  EXPECT_EQ(sentinel.hear(), "SENTINEL GET-MASTER-ADDR-BY-NAME m");
  name_master(sentinel, "10.0.0.2", "6379");
  EXPECT_EQ(call.outcome, "disconnected");
  EXPECT_TRUE(master.is_finished());
  auto promoted = accept("10.0.0.2:6379");
  EXPECT_THAT(states.said,
              ElementsAre("connected", "disconnected: moving to 10.0.0.2:6379", "connected"));
}

TEST_F(SentinelClientTest, BelievesAMasterAloneThatItIsOne) {
  auto sentinel = accept_sentinel("s:1");
  sentinel.hear();
  name_master(sentinel, "10.0.0.1", "6379");
  {
    Server replica(dialer.accept("10.0.0.1:6379"), reactor);
    replica.say({"%2", "+mode", "+standalone", "+role", "+replica"});
  }
  EXPECT_EQ(client->state().reason, "10.0.0.1:6379: it is a replica, which cannot be written to");
  EXPECT_EQ(sentinel.hear(), "SENTINEL GET-MASTER-ADDR-BY-NAME m");
  EXPECT_EQ(ping(), RedisFailure::kDisconnected);
}

TEST_F(SentinelClientTest, AsksAgainAtOnceWhenTheMasterIsNoneAnyMore) {
  auto sentinel = accept_sentinel("s:1");
  sentinel.hear();
  name_master(sentinel, "10.0.0.1", "6379");
  auto master = accept("10.0.0.1:6379");
  EXPECT_EQ(ping(), std::nullopt);
  master.say({"-READONLY You can't write against a read only replica."});
  EXPECT_EQ(sentinel.hear(), "SENTINEL GET-MASTER-ADDR-BY-NAME m");
}

TEST_F(SentinelClientTest, AsksNowAndThenSinceAnnouncementsGetLost) {
  auto sentinel = accept_sentinel("s:1");
  sentinel.hear();
  name_master(sentinel, "10.0.0.1", "6379");
  auto master = accept("10.0.0.1:6379");
  reactor.advance(SentinelClient::kAskAgainSoon);  // it was not connected when it was named
  EXPECT_EQ(sentinel.hear(), "SENTINEL GET-MASTER-ADDR-BY-NAME m");
  name_master(sentinel, "10.0.0.1", "6379");
  reactor.advance(SentinelClient::kAskAgain);
  EXPECT_EQ(sentinel.hear(), "SENTINEL GET-MASTER-ADDR-BY-NAME m");
  EXPECT_THAT(states.said, ElementsAre("connected"));
}

TEST_F(SentinelClientTest, GoesToTheNextSentinelWhenOneIsOfNoUse) {
  dialer.refuse("s:1");
  EXPECT_THAT(states.said, ElementsAre("disconnected: s:1: refused"));
  reactor.advance(milliseconds(20));
  {
    auto ignorant = accept_sentinel("t:2");
    ignorant.hear();
    ignorant.say({"*-1"});
    EXPECT_EQ(client->state().reason, "t:2: it knows no master \"m\"");
  }
  reactor.advance(milliseconds(200));
  {
    auto silent = accept_sentinel("s:1");
    silent.hear();
    reactor.advance(SentinelClient::kAnswerMax);
    EXPECT_TRUE(silent.is_finished());
  }
  reactor.advance(milliseconds(400));
  auto good = accept_sentinel("t:2");
  good.hear();
  name_master(good, "10.0.0.1", "6379");
  auto master = accept("10.0.0.1:6379");
  EXPECT_EQ(states.said.back(), "connected");
}

TEST_F(SentinelClientTest, KeepsItsMasterWhenTheSentinelsAreGone) {
  auto sentinel = accept_sentinel("s:1");
  sentinel.hear();
  name_master(sentinel, "10.0.0.1", "6379");
  auto master = accept("10.0.0.1:6379");
  sentinel.hang_up();
  EXPECT_EQ(ping(), std::nullopt);
  master.say({"+PONG"});
  EXPECT_EQ(call.outcome, "PONG");
  EXPECT_THAT(states.said, ElementsAre("connected"));
}

TEST_F(SentinelClientTest, IsNotFooledByAnAnswerOfTheWrongShape) {
  auto sentinel = accept_sentinel("s:1");
  sentinel.hear();
  name_master(sentinel, "10.0.0.1", "0");
  EXPECT_EQ(dialer.wanted(), "");
  EXPECT_EQ(client->state().phase, Phase::kDisconnected);
}

}  // namespace
}  // namespace weir
