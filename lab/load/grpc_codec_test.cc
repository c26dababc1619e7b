#include "load/grpc_codec.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <envoy/service/ratelimit/v3/rls.pb.h>

#include "proto/http2/http2_door.h"

namespace weir::load {
namespace {

using namespace std::string_literals;
using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;

const CallSpec kSpec{.authority = "test:80", .domain = "edge", .entries = {{"user", "u-{key}"}}};

// Allows each value three times, and answers calls without a domain by no message.
class Counting final : public Http2Service, public Http2Router {
 public:
  Http2Service& route(const Http2Stream&) override { return *this; }
  std::size_t body_max() const override { return 1000; }
  void too_long(Http2Stream& stream, Instant) override { stream.answer(413, {}, {}); }

  void completed(Http2Stream& stream, Instant) override {
    RateLimitRequest request;
    const auto body = stream.body();
    EXPECT_EQ(stream.path(), "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit");
    EXPECT_EQ(stream.field("content-type"), "application/grpc");
    EXPECT_EQ(stream.field("te"), "trailers");
    EXPECT_TRUE(request.ParseFromArray(body.data() + 5, static_cast<int>(body.size()) - 5));
    if (request.domain().empty()) return stream.answer(200, {}, {});
    RateLimitResponse response;
    const auto count = ++counts_[request.descriptors(0).entries(0).value()];
    response.set_overall_code(count <= 3 ? RateLimitResponse::OK : RateLimitResponse::OVER_LIMIT);
    const std::string message = "\0\0\0\0\2"s + response.SerializeAsString();
    static constexpr Http2Field kTrailer{.name = "grpc-status", .value = "0"};
    stream.begin(200, {});
    std::memcpy(stream.append(message.size()), message.data(), message.size());
    stream.finish({&kTrailer, 1});
  }

 private:
  std::map<std::string, int> counts_;
};

class Server {
 public:
  std::string answer(std::string_view bytes) {
    std::memcpy(session_->input_space().data(), bytes.data(), bytes.size());
    session_->received(bytes.size(), Instant{});
    std::string all;
    while (!session_->output().empty()) {
      all += session_->output();
      session_->sent(session_->output().size(), Instant{});
    }
    return all;
  }

 private:
  Counting service_;
  Http2Door door_{service_};
  std::unique_ptr<Session> session_ = door_.make_session({}, Instant{});
};

TEST(GrpcCodec, CountsWhatADoorAnswers) {
  Server server;
  const Call call = make_call(kSpec);
  GrpcCodec codec(call, 4);
  Tally tally;
  for (int round = 0; round < 3; ++round) {
    const std::vector<std::uint32_t> keys = {7, 7, 9, 7};
    const std::string replies = server.answer(codec.requests(keys));
    EXPECT_EQ(codec.replies(replies, tally), replies.size());
  }
  EXPECT_EQ(tally.replies, 12u);
  EXPECT_EQ(tally.allowed, 6u);
  EXPECT_EQ(tally.denied, 6u);
  EXPECT_EQ(tally.failed, 0u);
}

TEST(GrpcCodec, RepliesMayComeInPieces) {
  Server server;
  const Call call = make_call(kSpec);
  GrpcCodec codec(call, 2);
  const std::string replies = server.answer(codec.requests(std::vector<std::uint32_t>{1, 2}));
  Tally tally;
  std::string rest;
  for (const char byte : replies) {
    rest += byte;
    const auto used = codec.replies(rest, tally);
    ASSERT_TRUE(used.has_value());
    rest.erase(0, *used);
  }
  EXPECT_EQ(rest, "");
  EXPECT_EQ(tally.allowed, 2u);
}

TEST(GrpcCodec, NamesMayBeLong) {
  for (const std::size_t size : {126, 127, 128, 254, 255, 300}) {
    Server server;
    const Call call = make_call(
        {.authority = std::string(size, 'a'), .domain = "edge", .entries = {{"user", "x"}}});
    GrpcCodec codec(call, 1);
    Tally tally;
    codec.replies(server.answer(codec.requests(std::vector<std::uint32_t>{1})), tally);
    EXPECT_EQ(tally.allowed, 1u) << size;
  }
}

TEST(GrpcCodec, AnErrorHasNoMessage) {
  Server server;
  const Call call = make_call({.authority = "test", .domain = "", .entries = {{"user", "x"}}});
  GrpcCodec codec(call, 1);
  Tally tally;
  const std::string replies = server.answer(codec.requests(std::vector<std::uint32_t>{1}));
  EXPECT_EQ(codec.replies(replies, tally), replies.size());
  EXPECT_EQ(tally.replies, 1u);
  EXPECT_EQ(tally.failed, 1u);
}

TEST(GrpcCodec, AnswersPingsWithTheNextCalls) {
  const Call call = make_call(kSpec);
  GrpcCodec codec(call, 1);
  codec.requests(std::vector<std::uint32_t>{1});
  Tally tally;
  EXPECT_EQ(codec.replies("\0\0\x08\x06\0\0\0\0\0"s + "12345678", tally), 17u);
  const std::string_view next = codec.requests(std::vector<std::uint32_t>{1});
  EXPECT_TRUE(next.starts_with("\0\0\x08\x06\x01\0\0\0\0"s + "12345678"));
}

TEST(GrpcCodec, WhatIsNoHttp2OrSaysGoodbyeEndsTheConnection) {
  const Call call = make_call(kSpec);
  GrpcCodec codec(call, 1);
  Tally tally;
  EXPECT_FALSE(codec.replies("HTTP/1.1 400 Bad Request\r\n\r\n", tally));
  EXPECT_FALSE(codec.replies("\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0"s, tally));
}

}  // namespace
}  // namespace weir::load
