#include "server/http/console/live_session.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// A frame as a client sends it, masked with zeros.
std::string client_frame(int first_byte, std::string_view payload) {
  return std::string(1, static_cast<char>(first_byte)) +
         std::string(1, static_cast<char>(0x80 | payload.size())) + std::string(4, '\0') +
         std::string(payload);
}

const std::string kPong = client_frame(0x8a, "");

// Counts the requests of the session.
class CountingWaker final : public Waker {
 public:
  void wake() noexcept override { ++wakes; }
  int wakes = 0;
};

struct Live {
  explicit Live(LiveSession::MayStay may_stay = {}) { open(std::move(may_stay)); }

  void open(LiveSession::MayStay may_stay) {
    session = std::make_unique<LiveSession>(feed.take_seat(), consoles, std::move(may_stay), now);
    session->attach(waker);
  }
  void tell(std::string_view text) {
    consoles.publish(std::make_shared<const LiveMessage>(text), now);
  }
  // All output of the session, as a loop takes it.
  std::string drink() { return weir::drink(*session, now); }
  void feed_bytes(std::string_view bytes) { weir::feed(*session, bytes, now); }

  TestDoor door;
  LiveFeed feed{door.view, door.events, door.desk, door.blocks};
  LiveConsoles consoles;
  CountingWaker waker;
  Instant now = TestDoor::kStart;
  std::unique_ptr<LiveSession> session;
};

std::string text(std::string_view json) { return std::string(LiveMessage(json).frame()); }

TEST(LiveSession, GetsTheMessageOfTheMomentAndThoseOfTheNextSeconds) {
  Live live;
  EXPECT_EQ(live.drink(), text(R"({"t":0})"));
  live.tell("one");
  EXPECT_EQ(live.waker.wakes, 1);
  EXPECT_EQ(live.drink(), text("one"));
  live.tell("two");
  EXPECT_EQ(live.drink(), text("two"));
  EXPECT_EQ(live.drink(), "");
  EXPECT_FALSE(live.session->finished());
}

TEST(LiveSession, ASlowReaderSkipsToTheNewest) {
  Live live;
  live.drink();
  live.tell("one");
  const std::string one = text("one");
  EXPECT_EQ(live.session->output(), one);
  live.session->sent(2, live.now);
  live.tell("two");
  live.tell("three");
  EXPECT_EQ(live.session->output(), one.substr(2)) << "a frame that has begun is finished";
  EXPECT_EQ(live.drink(), one.substr(2) + text("three"));
  EXPECT_EQ(live.drink(), "");
}

// TLS offers the same bytes again until they are taken.
TEST(LiveSession, WhatWasOfferedStaysInFront) {
  Live live;
  live.drink();
  live.tell("one");
  const std::string offered(live.session->output());
  live.feed_bytes(client_frame(0x89, "ping"));
  EXPECT_EQ(live.session->output(), offered);
  EXPECT_EQ(live.drink(), offered + "\x8a\x04ping");

  live.feed_bytes(client_frame(0x89, "a"));
  const std::string answer(live.session->output());
  live.tell("two");
  EXPECT_EQ(live.session->output(), answer);
  EXPECT_EQ(live.drink(), answer + text("two"));
}

TEST(LiveSession, IsPingedAndDroppedWhenNoPongComes) {
  Live live;
  live.drink();
  for (int second = 0; second < 60; ++second) {
    live.now += 1s;
    live.tell("x");
    const std::string got = live.drink();
    const bool is_pinged = got.find("\x89\x00"s) != std::string::npos;
    EXPECT_EQ(is_pinged, second % 5 == 4) << second;
    if (is_pinged) live.feed_bytes(kPong);
    live.session->expired(live.now);
  }
  EXPECT_FALSE(live.session->finished());
  const Instant last = live.now;
  EXPECT_EQ(live.session->deadline(), last + LiveSession::kSilenceMax);
  while (live.now < last + LiveSession::kSilenceMax) {
    EXPECT_FALSE(live.session->finished());
    live.now += 1s;
    live.tell("x");
    live.session->expired(live.now);
  }
  EXPECT_TRUE(live.session->finished());
  EXPECT_EQ(live.session->output(), "");
  EXPECT_EQ(live.feed.dropped(), 1u);
}

TEST(LiveSession, AFloodOfPingsIsAnsweredUpToABound) {
  Live live;
  live.drink();
  std::string flood;
  for (int i = 0; i < 200; ++i) flood += client_frame(0x89, "");
  live.feed_bytes(flood);
  const std::string answers = live.drink();
  EXPECT_LE(answers.size(), 2 * 512u / 6 + 4);
  EXPECT_TRUE(answers.ends_with("\x88\x02\x03\xf0")) << "1008";
  EXPECT_TRUE(live.session->finished());
  EXPECT_TRUE(live.session->was_flooded());
}

TEST(LiveSession, AFewFramesASecondAreNoFlood) {
  Live live;
  for (int second = 0; second < 100; ++second) {
    live.now += 1s;
    for (int i = 0; i < LiveSession::kFramesMax; ++i) live.feed_bytes(kPong);
  }
  EXPECT_FALSE(live.session->finished());
}

TEST(LiveSession, FragmentsWithoutEndAreAFlood) {
  Live live;
  live.feed_bytes(client_frame(0x01, ""));
  for (int i = 0; i < 100 && !live.session->finished(); ++i) {
    live.feed_bytes(client_frame(0x00, ""));
  }
  EXPECT_TRUE(live.session->was_flooded());
}

// The client neither reads nor stops asking.
TEST(LiveSession, ReadsNothingMoreWhileItsAnswersWait) {
  Live live;
  const std::string ping = client_frame(0x89, std::string(125, 'p'));
  for (int second = 0; second < 10 && !live.session->input_space().empty(); ++second) {
    live.now += 1s;
    for (int i = 0; i < 16; ++i) live.feed_bytes(ping);
  }
  EXPECT_TRUE(live.session->input_space().empty());
  EXPECT_LE(live.session->held(),
            sizeof(LiveSession) + websocket::Frames::kBytes + LiveSession::kAnswersMax + 1024);
  live.drink();
  EXPECT_FALSE(live.session->input_space().empty());
}

TEST(LiveSession, IsClosedWhenTheServerStops) {
  Live live;
  live.tell("one");
  live.session->drain();
  EXPECT_TRUE(live.session->finished());
  EXPECT_EQ(live.drink(), text(R"({"t":0})") + "\x88\x02\x03\xe9") << "1001, and no message more";
}

TEST(LiveSession, EndsWithTheSessionOfTheConsole) {
  bool is_signed_in = true;
  Live live([&](Instant) { return is_signed_in; });
  live.drink();
  live.now += LiveSession::kPingEvery;
  live.tell("one");
  EXPECT_FALSE(live.session->finished());
  live.drink();
  is_signed_in = false;
  live.now += LiveSession::kPingEvery;
  live.tell("two");
  EXPECT_TRUE(live.session->finished());
  EXPECT_TRUE(live.drink().ends_with("\x88\x02\x03\xf0"));
}

TEST(LiveSession, LeavesItsSeatWhenItGoes) {
  Live live;
  EXPECT_EQ(live.feed.consoles(), 1);
  live.session.reset();
  EXPECT_EQ(live.feed.consoles(), 0);
  live.tell("nobody hears it");
  std::vector<LiveFeed::Seat> seats;
  for (int i = 0; i < LiveFeed::kConsolesMax; ++i) seats.push_back(live.feed.take_seat());
  EXPECT_FALSE(live.feed.take_seat());
  EXPECT_EQ(live.feed.consoles(), LiveFeed::kConsolesMax);
  seats.pop_back();
  EXPECT_TRUE(live.feed.take_seat());
}

}  // namespace
}  // namespace weir
