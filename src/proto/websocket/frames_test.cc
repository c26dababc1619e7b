#include "proto/websocket/frames.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::websocket {
namespace {

using namespace std::string_literals;

// A frame as a client sends it. Its mask is zeros, so that the payload is readable.
std::string client_frame(int first_byte, std::string_view payload) {
  std::string frame(1, static_cast<char>(first_byte));
  if (payload.size() < 126) {
    frame += static_cast<char>(0x80 | payload.size());
  } else {
    frame += static_cast<char>(0x80 | 126);
    frame += static_cast<char>(payload.size() >> 8);
    frame += static_cast<char>(payload.size() & 0xff);
  }
  return frame + std::string(4, '\0') + std::string(payload);
}

constexpr int kNoCode = 1005;

// The code of the only close frame in `output`; 0 if there is something else.
int close_code(std::string_view output) {
  if (output == "\x88\x00"s) return kNoCode;
  if (output.size() < 4 || output[0] != '\x88') return 0;
  return static_cast<unsigned char>(output[2]) << 8 | static_cast<unsigned char>(output[3]);
}

TEST(WebSocketFrames, ATextIsOneFrame) {
  EXPECT_EQ(text_frame("{}"), "\x81\x02{}");
  EXPECT_EQ(text_frame(std::string(126, 'a')), "\x81\x7e\x00\x7e"s + std::string(126, 'a'));
  EXPECT_EQ(text_frame(std::string(65'536, 'a')).substr(0, 10),
            "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"s);
}

TEST(WebSocketFrames, WhatAPeerSaysIsHeardByTheByte) {
  Frames frames;
  const std::string said = client_frame(0x81, "hello") + client_frame(0x01, "hel") +
                           client_frame(0x00, "l") + client_frame(0x80, "o") +
                           client_frame(0x82, "\xff");
  int heard = 0;
  for (const char byte : said) heard += frames.read({&byte, 1}).frames;
  EXPECT_EQ(heard, 5);
  EXPECT_EQ(frames.output(), "");
  EXPECT_FALSE(frames.is_closed());
}

TEST(WebSocketFrames, APingIsAnsweredAndAPongIsCounted) {
  Frames frames;
  EXPECT_EQ(frames.read(client_frame(0x89, "abc")).pongs, 0);
  EXPECT_EQ(frames.output(),
            "\x8a\x03"
            "abc");
  frames.sent(2);
  EXPECT_EQ(frames.output(), "abc");
  frames.sent(3);
  frames.ping();
  EXPECT_EQ(frames.output(), "\x89\x00"s);
  const auto heard = frames.read(client_frame(0x8a, "") + client_frame(0x8a, "x"));
  EXPECT_EQ(heard.pongs, 2);
  EXPECT_EQ(heard.frames, 2);
}

TEST(WebSocketFrames, AClosingHandshakeIsAnswered) {
  Frames frames;
  frames.read(client_frame(0x88, "\x03\xe8"));
  EXPECT_EQ(close_code(frames.output()), 1000);
  EXPECT_TRUE(frames.is_closed());
  EXPECT_EQ(frames.read(client_frame(0x89, "late")).frames, 0);
}

TEST(WebSocketFrames, OursIsTheLastWord) {
  Frames frames;
  frames.close(CloseCode::kGoingAway);
  frames.close(CloseCode::kPolicy);
  frames.ping();
  EXPECT_EQ(frames.output(), "\x88\x02\x03\xe9");
  EXPECT_TRUE(frames.is_closed());
  EXPECT_EQ(frames.read(client_frame(0x89, "x")).frames, 0);
}

TEST(WebSocketFrames, WhoBreaksTheRulesIsToldSo) {
  struct Case {
    std::string what;
    std::string bytes;
    int code;
  };
  for (const Case& c : {
           Case{"not masked", "\x81\x02hi", 1002},
           Case{"a ping that is not masked", "\x89\x00"s, 1002},
           Case{"a reserved bit", client_frame(0xc1, "hi"), 1002},
           Case{"a reserved opcode", client_frame(0x83, "hi"), 1002},
           Case{"a reserved opcode of control", client_frame(0x8b, "hi"), 1002},
           Case{"a fragmented ping", client_frame(0x09, "hi"), kNoCode},
           Case{"a long ping", client_frame(0x89, std::string(126, 'a')), kNoCode},
           Case{"the rest of nothing", client_frame(0x80, "hi"), 1002},
           Case{"a text within a text", client_frame(0x01, "a") + client_frame(0x81, "b"), 1002},
           Case{"a length of more bytes than it needs",
                "\x81\xfe\x00\x05"s + std::string(4, '\0') + "hello", kNoCode},
           Case{"a length beyond all", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff"s + "\0\0\0\0"s,
                kNoCode},
           Case{"no UTF-8", client_frame(0x81, "\xff"), 1007},
           Case{"a close frame of one byte", client_frame(0x88, "\x03"), kNoCode},
           Case{"a close frame with a code that nobody may send", client_frame(0x88, "\x03\xed"),
                1002},
           Case{"a message that is too long",
                client_frame(0x81, std::string(Frames::kMessageMax + 1, 'a')), 1009},
           Case{"fragments that are too long together",
                client_frame(0x01, std::string(Frames::kMessageMax, 'a')) + client_frame(0x80, "a"),
                1009},
       }) {
    Frames frames;
    frames.read(c.bytes);
    EXPECT_EQ(close_code(frames.output()), c.code) << c.what;
    EXPECT_TRUE(frames.is_closed()) << c.what;
  }
}

TEST(WebSocketFrames, TheLongestMessagePasses) {
  Frames frames;
  frames.read(client_frame(0x81, std::string(Frames::kMessageMax, 'a')));
  EXPECT_FALSE(frames.is_closed());
}

}  // namespace
}  // namespace weir::websocket
