#include "load/http_codec.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

namespace weir::load {
namespace {

std::string reply(int status, const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 " + std::to_string(status) + " Whatever\r\nServer: x\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

Framing frame(const std::string& bytes, HttpReply& out) {
  // A copy of exactly this size: a sanitizer sees any read past the end.
  const auto exact = std::make_unique<char[]>(bytes.size());
  bytes.copy(exact.get(), bytes.size());
  const Framing framing = frame_http_reply({exact.get(), bytes.size()}, out);
  out.body = {};
  return framing;
}

Framing frame(const std::string& bytes) {
  HttpReply ignored;
  return frame(bytes, ignored);
}

Tally tally_of(const std::string& bytes, std::size_t* used = nullptr) {
  const Request request = make_get({.authority = "h", .path = "/"});
  HttpCodec codec(request, 1);
  Tally tally;
  const std::optional<std::size_t> taken = codec.replies(bytes, tally);
  EXPECT_TRUE(taken.has_value());
  if (used != nullptr) *used = taken.value_or(0);
  return tally;
}

TEST(HttpReply, EveryPrefixIsPartial) {
  const std::string whole = reply(200, R"({"allowed":true})");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_EQ(frame(whole.substr(0, size)), Framing::kPartial) << size;
  }
  HttpReply out;
  ASSERT_EQ(frame(whole, out), Framing::kComplete);
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.size, whole.size());
}

TEST(HttpReply, LengthInAnySpelling) {
  for (const std::string header :
       {"Content-Length: 2", "content-length:2", "CONTENT-LENGTH:   2 "}) {
    EXPECT_EQ(frame("HTTP/1.1 200 OK\r\nCache: x\r\n" + header + "\r\n\r\nok"), Framing::kComplete)
        << header;
  }
}

TEST(HttpReply, BareLineFeedsAreLines) {
  EXPECT_EQ(frame("HTTP/1.0 200 OK\nContent-Length: 2\n\nok"), Framing::kComplete);
}

TEST(HttpReply, NoBodyWhereTheStatusSaysSo) {
  EXPECT_EQ(frame("HTTP/1.1 204 No Content\r\n\r\n"), Framing::kComplete);
  EXPECT_EQ(frame("HTTP/1.1 304 Not Modified\r\n\r\n"), Framing::kComplete);
}

TEST(HttpReply, Broken) {
  const std::array<std::string, 9> cases = {
      "SSH-2.0-OpenSSH_9.2\r\n",
      "HTTP/2.0 200 OK\r\n\r\n",
      "HTTP/1.1 2x0 OK\r\n\r\n",
      "HTTP/1.1  20 OK\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",  // no length
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x'),
  };
  for (const std::string& bytes : cases) EXPECT_EQ(frame(bytes), Framing::kBroken) << bytes;
}

TEST(HttpCodec, CountsAnswers) {
  const std::string allowed = R"({"key":"a","allowed":true,"remaining":1})";
  const std::string denied = R"({"key":"a","allowed": false,"retry_after":1.5})";
  const Tally tally =
      tally_of(reply(200, allowed) + reply(200, denied) + reply(429, denied) + reply(429, "") +
               reply(200, "ok") + reply(404, "{}") + reply(302, "") + reply(500, allowed));
  EXPECT_EQ(tally.replies, 8U);
  EXPECT_EQ(tally.allowed, 1U);
  EXPECT_EQ(tally.denied, 3U);
  EXPECT_EQ(tally.failed, 3U);
}

TEST(HttpCodec, LeavesAnIncompleteReply) {
  const std::string first = reply(200, "ok");
  std::size_t used = 0;
  EXPECT_EQ(tally_of(first + first.substr(0, 30), &used).replies, 1U);
  EXPECT_EQ(used, first.size());
}

TEST(HttpCodec, RefusesAnotherProtocol) {
  const Request request = make_get({.authority = "h", .path = "/"});
  HttpCodec codec(request, 1);
  Tally tally;
  EXPECT_FALSE(codec.replies("-ERR unknown command\r\n", tally).has_value());
}

TEST(HttpCodec, WritesOneRequestAKey) {
  const Request request = make_post({.authority = "127.0.0.1:80", .path = "/check"},
                                    R"({"key":"{key}","limit":5,"window":60})");
  HttpCodec codec(request, 2);
  const std::array<std::uint32_t, 2> keys = {0, 0xdeadbeef};
  const std::string body = R"({"key":"k00000000","limit":5,"window":60})";
  const std::string head =
      "POST /check HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n";
  EXPECT_EQ(codec.requests(keys),
            head + body + head + R"({"key":"kdeadbeef","limit":5,"window":60})");
  // Fewer, and other, keys in the same bytes.
  EXPECT_EQ(codec.requests(std::array<std::uint32_t, 1>{0x12}),
            head + R"({"key":"k00000012","limit":5,"window":60})");
}

TEST(HttpCodec, AGetMayHaveItsKeyInThePath) {
  const Request request = make_get({.authority = "h:1", .path = "/x?k={key}&y"});
  HttpCodec codec(request, 2);
  const std::array<std::uint32_t, 2> keys = {0, 0x1f};
  EXPECT_EQ(codec.requests(keys),
            "GET /x?k=k00000000&y HTTP/1.1\r\nHost: h:1\r\n\r\n"
            "GET /x?k=k0000001f&y HTTP/1.1\r\nHost: h:1\r\n\r\n");
}

}  // namespace
}  // namespace weir::load
