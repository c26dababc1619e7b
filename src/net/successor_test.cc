// A connection that goes from one session to the next.

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "net/server_testing.h"

namespace weir {
namespace {

using std::chrono::seconds;

// Sends its text when the server stops.
struct SecondSession : EchoSession {
  void drain() override {
    output_ += "bye";
    finished_ = true;
  }
};

// Answers the first bytes. Bytes behind an 'x' among them are for its successor.
struct FirstSession : EchoSession {
  void received(std::size_t size, Instant) override {
    const std::string_view input(buffer_.data(), size);
    output_ = "first ";
    rest_ = input.substr(std::min(input.find('x') + 1, input.size()));
    finished_ = true;
  }
  std::unique_ptr<Session> successor(Instant now) override {
    auto next = std::make_unique<SecondSession>();
    feed(*next, rest_, now);
    return next;
  }

  std::string rest_;
};

class SuccessorTest : public ServerTest {
 protected:
  void start_first() {
    start(1, [](const Peer&, Instant) { return std::make_unique<FirstSession>(); });
  }
};

TEST_F(SuccessorTest, GoesOnWithTheConnectionAndWhatHasComeForIt) {
  start_first();
  auto peer = client();
  ASSERT_TRUE(peer.send("xsecond"));
  EXPECT_EQ(peer.receive(12), "first second");
  EXPECT_EQ(peer.ask("hello"), "hello");
  EXPECT_EQ(server_->connections().open, 1);
  peer.finish_sending();
  EXPECT_EQ(peer.read_to_end(), 0);
}

TEST_F(SuccessorTest, LearnsOfADrain) {
  start_first();
  auto peer = client();
  EXPECT_EQ((peer.send("x"), peer.receive(6)), "first ");
  EXPECT_EQ(peer.ask("hello"), "hello");
  server_->drain(seconds(60));
  let_core_run();
  advance(seconds(2));
  EXPECT_EQ(peer.receive(3), "bye");
  EXPECT_EQ(peer.read_to_end(), 0);
}

TEST_F(SuccessorTest, LearnsOfADrainThatBeganBeforeIt) {
  start_first();
  auto peer = client();
  let_core_run();
  server_->drain(seconds(60));
  let_core_run();
  ASSERT_TRUE(peer.send("x"));
  EXPECT_EQ(peer.receive(9), "first bye");
  EXPECT_EQ(peer.read_to_end(), 0);
}

TEST_F(SuccessorTest, DoesNotComeForAPeerThatHasLeft) {
  start(1, [](const Peer&, Instant) {
    struct Leaving final : FirstSession {
      void peer_closed(Instant) override {
        output_ += "too late";
        finished_ = true;
      }
      void received(std::size_t, Instant) override {}
    };
    return std::make_unique<Leaving>();
  });
  auto peer = client();
  ASSERT_TRUE(peer.send("a"));
  peer.finish_sending();
  EXPECT_EQ(peer.receive(8), "too late");
  EXPECT_EQ(peer.read_to_end(), 0);
}

}  // namespace
}  // namespace weir
