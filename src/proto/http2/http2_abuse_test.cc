// What a peer may try on an HTTP/2 connection. Each attempt costs it the connection, or nothing.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/http2/http2_peer_testing.h"
#include "proto/http2/http2_service_testing.h"
#include "proto/http2/http2_session.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// HPACK: ":method: GET", ":scheme: http", ":path: /" from the static table, and
// ":authority: a" as a text.
constexpr std::string_view kGetHead =
    "\x82\x86\x84\x01\x01"
    "a";
constexpr std::uint8_t kEndHeaders = NGHTTP2_FLAG_END_HEADERS;
constexpr std::uint8_t kEndStream = NGHTTP2_FLAG_END_STREAM;

std::string repeat(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

class Http2AbuseTest : public testing::Test {
 protected:
  void SetUp() override { peer.say(http2_preface(), now); }

  std::optional<std::uint32_t> after(std::string_view raw) {
    peer.say(raw, now);
    return peer.goaway;
  }
  bool is_over() { return peer.session().finished() && peer.session().output().empty(); }

  static constexpr Instant now = instant_from_epoch_us(1'000'000'000'000'000);
  EchoService service;
  Http2Door door{service};
  Http2Peer peer{door, now};
};

TEST_F(Http2AbuseTest, WhatIsNoHttp2IsClosedWithoutAReply) {
  Http2Peer other(door, now);
  other.say("PRI * HTTP/1.1\r\n\r\nXX\r\n\r\n", now);
  EXPECT_TRUE(other.session().finished());
  EXPECT_TRUE(other.session().output().empty());
}

TEST_F(Http2AbuseTest, MalformedFramesGetAReasonAndTheEnd) {
  const struct {
    std::string name;
    std::string bytes;
    std::uint32_t error;
  } kCases[] = {
      {"a frame larger than allowed", http2_frame(NGHTTP2_DATA, 0, 1, std::string(16'385, 'x')),
       NGHTTP2_FRAME_SIZE_ERROR},
      {"DATA on no stream", http2_frame(NGHTTP2_DATA, 0, 0, "x"), NGHTTP2_PROTOCOL_ERROR},
      {"DATA on a stream never opened", http2_frame(NGHTTP2_DATA, 0, 1, "x"),
       NGHTTP2_PROTOCOL_ERROR},
      {"HEADERS on an even stream",
       http2_frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, 2, kGetHead), NGHTTP2_PROTOCOL_ERROR},
      {"an index that is in no table",
       http2_frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, 1, "\xff\xff\xff\x0f"),
       NGHTTP2_COMPRESSION_ERROR},
      {"PING of seven bytes", http2_frame(NGHTTP2_PING, 0, 0, "1234567"), NGHTTP2_FRAME_SIZE_ERROR},
      {"SETTINGS of five bytes", http2_frame(NGHTTP2_SETTINGS, 0, 0, "12345"),
       NGHTTP2_FRAME_SIZE_ERROR},
      {"a frame within a head",
       http2_frame(NGHTTP2_HEADERS, 0, 1, kGetHead) + http2_frame(NGHTTP2_PING, 0, 0, "12345678"),
       NGHTTP2_PROTOCOL_ERROR},
      {"CONTINUATION of nothing", http2_frame(NGHTTP2_CONTINUATION, 0, 1, kGetHead),
       NGHTTP2_PROTOCOL_ERROR},
      {"PUSH_PROMISE from a client", http2_frame(NGHTTP2_PUSH_PROMISE, kEndHeaders, 1, "1234"),
       NGHTTP2_PROTOCOL_ERROR},
      {"a window that overflows", http2_frame(NGHTTP2_WINDOW_UPDATE, 0, 0, "\x7f\xff\xff\xff"),
       NGHTTP2_FLOW_CONTROL_ERROR},
  };
  for (const auto& bad : kCases) {
    Http2Peer other(door, now);
    other.say(http2_preface() + bad.bytes, now);
    EXPECT_EQ(other.goaway, bad.error) << bad.name;
    EXPECT_TRUE(other.session().finished()) << bad.name;
  }
}

TEST_F(Http2AbuseTest, BytesMayComeOneByOne) {
  const std::string bytes = http2_frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, 1, kGetHead);
  for (const char byte : bytes) peer.say({&byte, 1}, now);
  EXPECT_FALSE(peer.goaway);
  EXPECT_FALSE(peer.session().finished());
}

TEST_F(Http2AbuseTest, RapidResetsEndTheConnection) {
  std::string frames;
  for (std::uint32_t stream = 1; stream < 2 * 1500; stream += 2) {
    frames += http2_frame(NGHTTP2_HEADERS, kEndHeaders, stream, kGetHead);
    frames += http2_frame(NGHTTP2_RST_STREAM, 0, stream, {"\0\0\0\x8", 4});
  }
  EXPECT_TRUE(after(frames).has_value());
  EXPECT_TRUE(is_over());
}

TEST_F(Http2AbuseTest, SoDoResetsThatTheServerIsMadeToSend) {
  std::string frames;
  for (std::uint32_t stream = 1; stream < 2 * 1500; stream += 2) {
    frames += http2_frame(NGHTTP2_HEADERS, kEndHeaders, stream, kGetHead);
    frames += http2_frame(NGHTTP2_WINDOW_UPDATE, 0, stream, {"\0\0\0\0", 4});
  }
  EXPECT_TRUE(after(frames).has_value());
  EXPECT_TRUE(is_over());
}

TEST_F(Http2AbuseTest, SomeResetsAreNormal) {
  std::string frames;
  for (std::uint32_t stream = 1; stream < 2 * 500; stream += 2) {
    frames += http2_frame(NGHTTP2_HEADERS, kEndHeaders, stream, kGetHead);
    frames += http2_frame(NGHTTP2_RST_STREAM, 0, stream, {"\0\0\0\x8", 4});
  }
  EXPECT_FALSE(after(frames).has_value());
}

// Sends a field once, and then names it by one byte, again and again.
class HpackBomb {
 public:
  // Sends a field of `size` bytes in the first head.
  explicit HpackBomb(std::size_t size) {
    first_ = std::string(kGetHead) + "\x40\x01" + "b" + "\x7f";
    std::size_t rest = size - 127;  // HPACK's integers: seven bits, then seven a byte
    for (; rest >= 128; rest /= 128) first_ += static_cast<char>(128 + rest % 128);
    first_ += static_cast<char>(rest);
    first_ += std::string(size, 'x');
  }
  std::string head(std::uint32_t stream, int references) {
    auto block = std::exchange(first_, std::string(kGetHead));
    block += std::string(static_cast<std::size_t>(references), '\xbe');
    return http2_frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, stream, block);
  }

 private:
  std::string first_;
};

TEST_F(Http2AbuseTest, HeadsThatDecodeToFarMoreThanCameEndTheConnection) {
  HpackBomb bomb(3'900);
  std::string frames;
  for (std::uint32_t stream = 1; stream < 2 * 4; stream += 2) frames += bomb.head(stream, 10'000);
  EXPECT_EQ(after(frames), NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(is_over());
  EXPECT_TRUE(peer.session().was_flooded());
}

// The connection has decoded far less than it may in a second.
TEST_F(Http2AbuseTest, OneHeadDecodesToKHeadBombAtMost) {
  constexpr int kField = 3'900;
  constexpr int kRoom = Http2Session::kHeadBomb / kField;
  EXPECT_FALSE(after(HpackBomb(kField).head(1, kRoom - 2)).has_value());
  Http2Peer other(door, now);
  other.say(http2_preface() + HpackBomb(kField).head(1, kRoom + 1), now);
  EXPECT_EQ(other.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(other.session().was_flooded());
}

TEST_F(Http2AbuseTest, SoDoThoseThatAreJustNotTooLong) {
  HpackBomb bomb(3'900);
  std::optional<std::uint32_t> end;
  std::uint32_t heads = 0;
  for (; heads < 10'000 && !end; ++heads) end = after(bomb.head(2 * heads + 1, 7));
  EXPECT_EQ(end, NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_LT(heads, Http2Session::kDecodedASecond / (6 * 3'900));
}

TEST_F(Http2AbuseTest, WhatClientsRepeatIsNoFlood) {
  HpackBomb token(2'000);
  for (std::uint32_t heads = 0; heads < 20'000; ++heads) {
    ASSERT_FALSE(after(token.head(2 * heads + 1, heads == 0 ? 0 : 1)).has_value()) << heads;
  }
  HpackBomb long_one(3'900);
  for (std::uint32_t heads = 20'000; heads < 40'000; ++heads) {
    const Instant then = now + std::chrono::microseconds(200 * heads);
    peer.say(long_one.head(2 * heads + 1, heads == 20'000 ? 0 : 1), then);
    ASSERT_FALSE(peer.goaway.has_value()) << heads;
  }
}

TEST_F(Http2AbuseTest, RepeatedHeadsThatAreTooLongEndTheConnection) {
  HpackBomb bomb(3'900);
  for (std::uint32_t heads = 1; heads < Http2Session::kLongHeadsMax; ++heads) {
    ASSERT_FALSE(after(bomb.head(2 * heads + 1, 10)).has_value());
  }
  EXPECT_EQ(after(bomb.head(1'001, 10)), NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(is_over());
  EXPECT_TRUE(peer.session().was_flooded());
}

TEST_F(Http2AbuseTest, AfterATurnOthersHaveTheirs) {
  struct Yields final : Waker {
    void wake() noexcept override {}
    void yield() noexcept override { ++count; }
    int count = 0;
  };
  Yields others;
  const auto session = door.make_session({}, now);
  session->attach(others);
  std::string frames = http2_preface();
  constexpr std::uint32_t kHeads = 900;
  for (std::uint32_t stream = 1; stream < 2 * kHeads; stream += 2) {
    frames += http2_frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, stream, kGetHead);
  }
  ASSERT_LE(frames.size(), session->input_space().size());
  std::ranges::copy(frames, session->input_space().begin());
  session->received(frames.size(), now);
  int turns = 1;
  std::size_t written = 0;
  for (; turns < 100 && others.count >= turns; ++turns) {
    EXPECT_TRUE(session->input_space().empty());
    EXPECT_GE(session->held(), frames.size() / 100);
    while (!session->output().empty()) {
      written += session->output().size();
      session->sent(session->output().size(), now);
    }
    others.count = turns;
    session->woken(now);
  }
  EXPECT_GT(turns, 3);
  EXPECT_FALSE(session->input_space().empty());
  EXPECT_GT(written, kHeads * 9);
}

TEST_F(Http2AbuseTest, EndlessContinuationsEndTheConnection) {
  std::string frames = http2_frame(NGHTTP2_HEADERS, 0, 1, kGetHead);
  frames += repeat(http2_frame(NGHTTP2_CONTINUATION, 0, 1, {}), 1000);
  peer.say(frames, now);
  EXPECT_TRUE(peer.session().finished());
}

TEST_F(Http2AbuseTest, FloodsOfWhatMustBeAcknowledgedEndTheConnection) {
  peer.say(repeat(http2_frame(NGHTTP2_PING, 0, 0, "12345678"), 3000), now);
  EXPECT_TRUE(peer.session().finished());

  Http2Peer other(door, now);
  other.say(http2_preface() + repeat(http2_frame(NGHTTP2_SETTINGS, 0, 0, {}), 3000), now);
  EXPECT_TRUE(other.session().finished());
}

TEST_F(Http2AbuseTest, AcknowledgementsThatNobodyTakesStopTheReading) {
  peer.reads = false;
  const std::string pings = repeat(http2_frame(NGHTTP2_PING, 0, 0, "12345678"), 500);
  for (int i = 0; i < 1000 && !peer.session().input_space().empty(); ++i) peer.say(pings, now);
  EXPECT_TRUE(peer.session().input_space().empty());
  EXPECT_LE(peer.session().output().size(), 2 * Http2Session::kOutputMax);
  peer.session().expired(now + Http2Session::kStalledMax);
  EXPECT_TRUE(is_over());
}

TEST_F(Http2AbuseTest, StreamsBeyondTheLimitAreRefused) {
  std::vector<std::int32_t> streams;
  Http2Peer many(door, now);
  for (std::uint32_t i = 0; i <= Http2Session::kStreamsMax; ++i) {
    streams.push_back(many.ask({.path = "/later", .ends = false}));
  }
  many.talk(now);
  EXPECT_EQ(many.reply(streams[0]).status, "200");
  // nghttp2's client holds the last one back: it knows the limit.
  EXPECT_EQ(many.reply(streams.back()).status, "");

  std::string frames;
  for (std::uint32_t stream = 1; stream <= 2 * (Http2Session::kStreamsMax + 5); stream += 2) {
    frames += http2_frame(NGHTTP2_HEADERS, kEndHeaders, stream, kGetHead);
  }
  EXPECT_FALSE(after(frames).has_value());  // it has not acknowledged the limit yet
  EXPECT_FALSE(peer.session().finished());
  EXPECT_NE(after(http2_frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, {}) +
                  http2_frame(NGHTTP2_HEADERS, kEndHeaders, 5001, kGetHead)),
            NGHTTP2_NO_ERROR);
  EXPECT_TRUE(is_over());
}

TEST_F(Http2AbuseTest, BodiesOfAllStreamsTogetherAreBounded) {
  peer.window = 1 << 30;
  Http2Peer many(door, now);
  std::int32_t last = 0;
  const std::string body(EchoService::kBodyMax, 'x');
  for (int i = 0; i < 10; ++i) {
    last = many.ask({.path = "/echo", .body = body, .ends = false});
    many.talk(now);
  }
  EXPECT_EQ(many.reply(last).reset_by_them, NGHTTP2_REFUSED_STREAM);
  EXPECT_FALSE(many.session().finished());
}

}  // namespace
}  // namespace weir
