#include "server/grpc/grpc_door.h"

#include <string>

#include <gtest/gtest.h>

#include "server/grpc/grpc_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

const std::string kPath(grpc::ShouldRateLimit::kPath);

rls::Response response_in(const Http2Reply& reply) {
  rls::Response response;
  EXPECT_TRUE(response.ParseFromString(reply.body.substr(grpc::kPrefixSize)));
  return response;
}

// The status, in the trailers or the head.
std::string status_of(const Http2Reply& reply) {
  const auto& fields = reply.trailers.empty() ? reply.fields : reply.trailers;
  const auto found = fields.find("grpc-status");
  return found == fields.end() ? "none" : found->second;
}

TEST(GrpcDoor, AnswersShouldRateLimit) {
  GrpcTestDoor door({rule_for("user", 2)});
  for (const int remaining : {1, 0}) {
    const auto reply = door.ask(kPath, framed(request_about("user", "a")));
    EXPECT_EQ(reply.status, "200");
    EXPECT_EQ(reply.fields.at("content-type"), "application/grpc");
    EXPECT_EQ(reply.trailers.at("grpc-status"), "0");
    EXPECT_EQ(response_in(reply).overall_code(), rls::Response::OK);
    EXPECT_EQ(response_in(reply).statuses(0).limit_remaining(), remaining);
  }
  const auto reply = door.ask(kPath, framed(request_about("user", "a")));
  EXPECT_EQ(response_in(reply).overall_code(), rls::Response::OVER_LIMIT);
}

TEST(GrpcDoor, RulesAreExchangedAsAWhole) {
  GrpcTestDoor door({rule_for("user", 2)});
  door.grpc.use_rules(std::make_shared<const RuleSet>(std::vector{rule_for("user", 7)}));
  const auto reply = door.ask(kPath, framed(request_about("user", "a")));
  EXPECT_EQ(response_in(reply).statuses(0).limit_remaining(), 6u);
}

TEST(GrpcDoor, AMessageMayComeByteByByte) {
  GrpcTestDoor door({rule_for("user", 2)});
  Http2Peer peer(door.door, door.now);
  const auto stream = peer.ask({.path = kPath, .fields = kGrpcFields, .ends = false});
  for (const char byte : framed(request_about("user", "a"))) {
    peer.send(stream, {&byte, 1});
    peer.talk(door.now);
  }
  EXPECT_EQ(peer.reply(stream).status, "") << "the client has not ended yet";
  peer.end(stream);
  peer.talk(door.now);
  EXPECT_EQ(status_of(peer.reply(stream)), "0");
}

TEST(GrpcDoor, WhatIsWrongHasItsStatus) {
  const std::string good = framed(request_about("user", "a"));
  const auto with = [](const std::string& name, const std::string& value) {
    TestFields fields = kGrpcFields;
    fields.emplace_back(name, value);
    return fields;
  };
  const struct {
    std::string what;
    Http2Question question;
    std::string status;
  } kCases[] = {
      {"no message", {.fields = kGrpcFields}, "13"},
      {"half a prefix", {.fields = kGrpcFields, .body = "\0\0"s}, "13"},
      {"half a message", {.fields = kGrpcFields, .body = good.substr(0, 9)}, "13"},
      {"two messages", {.fields = kGrpcFields, .body = good + good}, "13"},
      {"no protobuf", {.fields = kGrpcFields, .body = framed("\xff\xff\xff")}, "13"},
      {"invalid UTF-8", {.fields = kGrpcFields, .body = framed("\x0a\x01\xff")}, "13"},
      {"a group that never ends", {.fields = kGrpcFields, .body = framed("\x7b")}, "13"},
      {"an empty request", {.fields = kGrpcFields, .body = framed("")}, "3"},
      {"gzip", {.fields = with("grpc-encoding", "gzip"), .body = "\1" + good.substr(1)}, "12"},
      {"5 MiB", {.fields = kGrpcFields, .body = framed(std::string(5 << 20, 'x'))}, "8"},
      {"4 MiB of nothing",
       {.fields = kGrpcFields, .body = framed(std::string(4 << 20, '\0'))},
       "13"},
      {"no timeout", {.fields = with("grpc-timeout", "soon"), .body = good}, "13"},
      {"no time at all", {.fields = with("grpc-timeout", "0S"), .body = good}, "4"},
      {"enough time", {.fields = with("grpc-timeout", "20m"), .body = good}, "0"},
  };
  GrpcTestDoor door({rule_for("user", 2)});
  for (auto bad : kCases) {
    bad.question.path = kPath;
    const auto reply = door.ask(bad.question);
    EXPECT_EQ(reply.status, "200") << bad.what;
    EXPECT_EQ(status_of(reply), bad.status) << bad.what;
    EXPECT_EQ(reply.closed, NGHTTP2_NO_ERROR) << bad.what;
    EXPECT_TRUE(reply.ended) << bad.what;
  }
}

TEST(GrpcDoor, ACompressedMessageIsToldWhatIsRead) {
  GrpcTestDoor door;
  const auto reply = door.ask(kPath, "\1\0\0\0\1x"s);
  EXPECT_EQ(reply.fields.at("grpc-accept-encoding"), "identity");
}

TEST(GrpcDoor, UnknownMethodsAreUnimplemented) {
  GrpcTestDoor door;
  for (const char* path : {"/", "/envoy.service.ratelimit.v3.RateLimitService/shouldratelimit",
                           "/grpc.health.v1.Health/", "/other.Service/Method"}) {
    EXPECT_EQ(status_of(door.ask(path, framed(""))), "12") << path;
  }
}

TEST(GrpcDoor, WhatIsNoGrpcGets415) {
  GrpcTestDoor door;
  EXPECT_EQ(door.ask({.path = kPath, .body = "{}"}).status, "415");
  EXPECT_EQ(door.ask({.method = "GET", .path = kPath, .fields = kGrpcFields}).status, "415");
  EXPECT_EQ(door.ask({.path = kPath,
                      .fields = {{"content-type", "application/grpc-web"}},
                      .body = "x",
                      .ends = false})
                .reset_by_them,
            NGHTTP2_NO_ERROR);
}

struct LookWaker final : Waker {
  void wake() noexcept override {}
  void look_at(Instant when) override { looks.push_back(when); }
  std::vector<Instant> looks;
};

TEST(GrpcDoor, ACallIsAnsweredAtItsDeadlineThoughItIsStillComing) {
  GrpcTestDoor door;
  Http2Peer peer(door.door, door.now);
  LookWaker waker;
  peer.session().attach(waker);
  TestFields fields = kGrpcFields;
  fields.emplace_back("grpc-timeout", "50m");
  const auto stream = peer.ask({.path = kPath, .fields = fields, .body = "\0"s, .ends = false});
  peer.talk(door.now);
  EXPECT_EQ(waker.looks, std::vector{door.now + 50ms});
  EXPECT_EQ(peer.session().deadline(), door.now + 50ms);
  peer.session().expired(door.now + 50ms);
  peer.talk(door.now + 50ms);
  const Http2Reply reply = peer.reply(stream);
  EXPECT_EQ(reply.fields.at("grpc-status"), "4");
  EXPECT_EQ(reply.reset_by_them, NGHTTP2_NO_ERROR);  // it wants no more of the request
}

// A thousand calls with deadlines need one look; answered calls need none.
TEST(GrpcDoor, OnlyTheNextDeadlineIsLookedAt) {
  GrpcTestDoor door({rule_for("user", 2)});
  Http2Peer peer(door.door, door.now);
  LookWaker waker;
  peer.session().attach(waker);
  const auto call = [&](std::string timeout, std::string body, bool ends) {
    TestFields fields = kGrpcFields;
    fields.emplace_back("grpc-timeout", std::move(timeout));
    const auto stream =
        peer.ask({.path = kPath, .fields = fields, .body = std::move(body), .ends = ends});
    peer.talk(door.now);
    return stream;
  };
  call("10m", framed(request_about("user", "a")), true);
  EXPECT_TRUE(waker.looks.empty());
  const auto second = call("60m", "\0"s, false);
  const auto first = call("50m", "\0"s, false);
  const auto third = call("70m", "\0"s, false);
  EXPECT_EQ(waker.looks, (std::vector{door.now + 60ms, door.now + 50ms}));
  for (const auto stream : {first, second, third}) {
    const Instant due = waker.looks.back();
    peer.session().expired(due);
    peer.talk(due);
    EXPECT_EQ(peer.reply(stream).fields.at("grpc-status"), "4");
  }
  EXPECT_EQ(waker.looks.size(), 4u);
}

}  // namespace
}  // namespace weir
