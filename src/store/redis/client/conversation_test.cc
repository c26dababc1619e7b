#include "store/redis/client/conversation.h"

#include "store/redis/client/client_testing.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

const std::vector<std::string_view> kPing = {"PING"};
const std::vector<std::string_view> kGet = {"GET", "k"};

class ConversationTest : public testing::Test, public ConversationListener {
 protected:
  ConversationTest()
      : server(std::make_unique<Conversation>(login, reactor, *this, reactor.now()), reactor),
        conversation(static_cast<Conversation&>(server.session())) {}

  void opened(Instant) override { events.emplace_back("opened"); }
  void ended(const Ending& ending, Instant) override { events.push_back(ending.why); }
  bool takes_error(RedisCall&, const resp::Reply& error, Instant) override {
    return error.error_code() == "MOVED";
  }

  std::optional<RedisFailure> send(const std::vector<std::string_view>& words, NotedCall& call,
                                   Duration patience = milliseconds(20)) {
    return conversation.send(words, reactor.now() + patience, call, reactor.now());
  }

  std::vector<std::string> events;
  NotedCall first;
  NotedCall second;
  Login login;
  FakeReactor reactor;
  Server server;
  Conversation& conversation;
};

TEST_F(ConversationTest, SendsAgainFromWithinACallback) {
  server.welcome("standalone", "master");
  first.then = [&](Instant now) {
    first.then = [](Instant) {};
    EXPECT_EQ(conversation.send(kGet, now + milliseconds(20), first, now), std::nullopt);
  };
  EXPECT_EQ(send(kPing, first), std::nullopt);
  server.say({"-NOSCRIPT no", "+V"});
  EXPECT_EQ(first.outcome, "NOSCRIPT no, V");
}

TEST_F(ConversationTest, FailsItsCallsWhenTheConnectionEnds) {
  server.welcome("standalone", "master");
  EXPECT_EQ(send(kPing, first), std::nullopt);
  EXPECT_EQ(send(kGet, second), std::nullopt);
  server.say_bytes("+PO");
  first.then = [&](Instant) { EXPECT_EQ(send(kPing, first), RedisFailure::kDisconnected); };
  server.hang_up();
  EXPECT_EQ(first.outcome, "disconnected");
  EXPECT_EQ(second.outcome, "disconnected");
  EXPECT_THAT(events, ElementsAre("opened", "it has closed the connection"));
}

TEST_F(ConversationTest, LeavesAPeerThatCanServeNoMore) {
  for (const auto* const error :
       {"-READONLY You can't write against a read only replica.", "-LOADING Redis is loading",
        "-ERR Error running script: @user_script: 1: -READONLY You can't write", "-NOAUTH x",
        "-MASTERDOWN Link with MASTER is down"}) {
    FakeReactor world;
    Server peer(std::make_unique<Conversation>(login, world, *this, world.now()), world);
    auto& talk = static_cast<Conversation&>(peer.session());
    peer.welcome("standalone", "master");
    NotedCall call;
    NotedCall other;
    EXPECT_EQ(talk.send(kPing, world.now() + milliseconds(20), call, world.now()), std::nullopt);
    EXPECT_EQ(talk.send(kPing, world.now() + milliseconds(20), other, world.now()), std::nullopt);
    peer.say({error});
    EXPECT_EQ(call.outcome, std::string(error).substr(1));
    EXPECT_EQ(other.outcome, "disconnected");
    EXPECT_TRUE(peer.is_finished());
  }
}

TEST_F(ConversationTest, LetsItsListenerTakeAnError) {
  server.welcome("standalone", "master");
  EXPECT_EQ(send(kPing, first), std::nullopt);
  server.say({"-MOVED 1 a:1"});
  EXPECT_EQ(first.outcome, "");
}

TEST_F(ConversationTest, TellsPushesFromReplies) {
  server.welcome("standalone", "master");
  conversation.subscribe(
      "news", [this](const resp::Reply& push, Instant) { events.emplace_back(push[0].text()); });
  EXPECT_EQ(send(kPing, first), std::nullopt);
  EXPECT_EQ(server.hear(), "SUBSCRIBE news|PING");
  server.say({">3", "+subscribe", "+news", ":1", "+PONG", ">3", "+message", "+news", "+x"});
  EXPECT_EQ(first.outcome, "PONG");
  EXPECT_THAT(events, ElementsAre("opened", "subscribe", "message"));
}

TEST_F(ConversationTest, BoundsWhatIsInFlight) {
  server.welcome("standalone", "master");
  std::vector<NotedCall> calls(Conversation::kFlightsMax);
  for (auto& call : calls) ASSERT_EQ(send(kPing, call), std::nullopt);
  EXPECT_EQ(send(kPing, first), RedisFailure::kOverloaded);
  server.say({"+PONG"});
  EXPECT_EQ(send(kPing, first), std::nullopt);
  conversation.leave();
  EXPECT_EQ(calls.back().outcome, "disconnected");
  EXPECT_THAT(events, ElementsAre("opened"));  // a listener that leaves is not called again
}

TEST_F(ConversationTest, BoundsWhatIsToBeSent) {
  server.welcome("standalone", "master");
  const auto big = std::string(Conversation::kOutputMax + 1, 'x');
  EXPECT_EQ(send({"SET", "k", big}, first), std::nullopt);
  EXPECT_EQ(send(kPing, second), RedisFailure::kOverloaded);
  server.hear();
  EXPECT_EQ(send(kPing, second), std::nullopt);
}

}  // namespace
}  // namespace weir
