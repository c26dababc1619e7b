#include "store/redis/client/link.h"

#include "store/redis/client/client_testing.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using Phase = LinkState::Phase;

const std::vector<std::string_view> kPing = {"PING"};

class LinkTest : public testing::Test {
 protected:
  Server accept(const std::string& destination) { return {dialer.accept(destination), reactor}; }
  std::optional<RedisFailure> ping(NotedCall& waiting) {
    return link.send(kPing, reactor.now() + milliseconds(20), waiting, reactor.now());
  }
  // How long until it tries again.
  Duration wait_for_dial() {
    const Instant begin = reactor.now();
    while (dialer.wanted().empty() && reactor.now() - begin < seconds(60)) {
      reactor.advance(milliseconds(1));
    }
    return reactor.now() - begin;
  }

  FakeReactor reactor;
  FakeDialer dialer{reactor};
  std::vector<std::string> changes;
  NotedCall call;
  Link link{{},
            {.reactor = reactor, .dialer = dialer, .seed = 7},
            [this](const LinkState& state, Instant) {
              changes.push_back(state.phase == Phase::kConnected ? "connected" : state.reason);
            }};
  const Destination a{.host = "a", .port = 1};
  const Destination b{.host = "b", .port = 2};
};

TEST_F(LinkTest, WaitsTwiceAsLongAfterEachFailureUpToABound) {
  link.move_to({a}, reactor.now());
  Duration expected = Link::kBackoffMin;
  for (int i = 0; i < 12; ++i) {
    dialer.refuse("a:1");
    const Duration waited = wait_for_dial();
    EXPECT_GE(waited, expected / 2);
    EXPECT_LE(waited, expected + milliseconds(1));
    expected = std::min(2 * expected, Duration(Link::kBackoffMax));
  }
  EXPECT_THAT(changes, ElementsAre("a:1: refused"));  // once, however often
}

TEST_F(LinkTest, ComesBackSoonAfterAConnectionThatHeld) {
  link.move_to({a}, reactor.now());
  for (int i = 0; i < 8; ++i) {
    dialer.refuse("a:1");
    wait_for_dial();
  }
  auto server = accept("a:1");
  server.welcome("standalone", "master");
  reactor.advance(Link::kHeldWell);
  server.hang_up();
  EXPECT_LE(wait_for_dial(), Link::kBackoffMin + milliseconds(1));
  EXPECT_THAT(changes,
              ElementsAre("a:1: refused", "connected", "a:1: it has closed the connection"));
}

TEST_F(LinkTest, DoesNotHammerAServerThatThrowsItOut) {
  link.move_to({a}, reactor.now());
  for (int i = 0; i < 8; ++i) {
    auto server = accept("a:1");
    server.welcome("standalone", "master");
    server.hang_up();
    wait_for_dial();
  }
  accept("a:1").hang_up();
  EXPECT_GE(wait_for_dial(), Link::kBackoffMax / 2);
}

TEST_F(LinkTest, TriesAWrongPasswordAgainMuchLater) {
  link.move_to({a}, reactor.now());
  accept("a:1").say({"-WRONGPASS invalid"});
  EXPECT_THAT(changes,
              ElementsAre("a:1: the user or the password is wrong, or the user is disabled"));
  EXPECT_GE(wait_for_dial(), Link::kRetryLater / 2);
  accept("a:1").say({"-NOAUTH no"});  // news, since an operator has to act
  EXPECT_EQ(changes.size(), 2u);
  wait_for_dial();
  accept("a:1").welcome("standalone", "master");
  EXPECT_EQ(changes.back(), "a:1: the connection broke");
}

TEST_F(LinkTest, AnnouncesTheSameTroubleOnce) {
  link.move_to({a, b}, reactor.now());
  for (int i = 0; i < 10; ++i) {
    accept(dialer.wanted()).say({"-WRONGPASS invalid"});
    wait_for_dial();
  }
  EXPECT_EQ(changes.size(), 1u);
}

TEST_F(LinkTest, TriesItsDestinationsInTurnAndStaysWithOne) {
  link.move_to({a, b}, reactor.now());
  dialer.refuse("a:1");
  wait_for_dial();
  EXPECT_EQ(dialer.wanted(), "b:2");
  auto server = accept("b:2");
  server.welcome("standalone", "master");
  EXPECT_EQ(link.destination(), b);
  reactor.advance(Link::kHeldWell);
  server.hang_up();
  wait_for_dial();
  EXPECT_EQ(dialer.wanted(), "b:2");
}

TEST_F(LinkTest, MovesAtOnceAndFailsWhatWaits) {
  link.move_to({a}, reactor.now());
  auto server = accept("a:1");
  server.welcome("standalone", "master");
  EXPECT_EQ(ping(call), std::nullopt);
  link.move_to({a, b}, reactor.now());  // it is with one of them
  EXPECT_EQ(call.outcome, "");
  link.move_to({b}, reactor.now());
  EXPECT_EQ(call.outcome, "disconnected");
  EXPECT_TRUE(server.is_finished());
  EXPECT_EQ(dialer.wanted(), "b:2");
  EXPECT_THAT(changes, ElementsAre("connected", "moving to b:2"));
}

}  // namespace
}  // namespace weir
