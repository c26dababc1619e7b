#include <gtest/gtest.h>

#include <string>

#include "server/grpc/grpc_test_door.h"

namespace weir {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::grpc::health::v1::HealthListResponse;

std::string about(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return framed(request);
}

// The messages of a reply, one letter each: Serving, Not serving, Unknown.
std::string told(const Http2Reply& reply) {
  std::string text;
  std::span<const char> rest(reply.body);
  while (!rest.empty()) {
    const auto message = grpc::find_message(rest);
    HealthCheckResponse response;
    if (message.framing != grpc::Framing::kComplete || !grpc::parse(response, message.payload)) {
      return "malformed";
    }
    text += "?SNU"[response.status()];
    rest = rest.subspan(message.size());
  }
  return text;
}

TEST(GrpcHealth, ServesUntilItDrains) {
  GrpcTestDoor door;
  for (const char* service : {"", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService"}) {
    EXPECT_EQ(told(door.ask("/grpc.health.v1.Health/Check", about(service))), "S") << service;
  }
  door.node.start_draining();
  EXPECT_EQ(told(door.ask("/grpc.health.v1.Health/Check", about(""))), "N");
}

TEST(GrpcHealth, AnUnknownServiceIsNotFound) {
  GrpcTestDoor door;
  const auto reply = door.ask("/grpc.health.v1.Health/Check", about("other"));
  EXPECT_EQ(reply.fields.at("grpc-status"), "5");
  EXPECT_EQ(reply.fields.at("grpc-message"), "unknown service");
}

TEST(GrpcHealth, ListsAllServices) {
  GrpcTestDoor door;
  for (int round = 0; round < 2; ++round) {
    const auto reply = door.ask("/grpc.health.v1.Health/List", framed(""));
    HealthListResponse response;
    ASSERT_TRUE(response.ParseFromString(reply.body.substr(grpc::kPrefixSize)));
    EXPECT_EQ(response.statuses_size(), 3);
    EXPECT_EQ(response.statuses().at("ratelimit").status(), HealthCheckResponse::SERVING);
  }
}

TEST(GrpcHealth, AWatchStaysOpenAndSaysWhenItEnds) {
  GrpcTestDoor door;
  Http2Peer peer(door.door, door.now);
  const auto known = GrpcTestDoor::call(peer, "/grpc.health.v1.Health/Watch", about(""));
  const auto unknown = GrpcTestDoor::call(peer, "/grpc.health.v1.Health/Watch", about("other"));
  peer.talk(door.now);
  EXPECT_EQ(told(peer.reply(known)), "S");
  EXPECT_EQ(told(peer.reply(unknown)), "U");
  EXPECT_FALSE(peer.reply(known).ended || peer.reply(unknown).ended);

  peer.session().drain();
  peer.talk(door.now);
  EXPECT_EQ(told(peer.reply(known)), "SN");
  EXPECT_EQ(peer.reply(known).trailers.at("grpc-status"), "14");
  EXPECT_TRUE(peer.session().finished());
}

// The head comes before the drain, the question after its notice.
TEST(GrpcHealth, AWatchThatIsAskedDuringADrainEndsAsWell) {
  GrpcTestDoor door;
  Http2Peer peer(door.door, door.now);
  const auto stream = peer.ask({.path = "/grpc.health.v1.Health/Watch",
                                .fields = kGrpcFields,
                                .body = about("").substr(0, 2),
                                .ends = false});
  peer.talk(door.now);
  peer.session().drain();
  peer.send(stream, about("").substr(2));
  peer.talk(door.now);
  EXPECT_EQ(peer.reply(stream).trailers["grpc-status"], "14");
  EXPECT_TRUE(peer.session().finished());
}

TEST(GrpcHealth, AWatchEndsAtItsDeadline) {
  GrpcTestDoor door;
  Http2Peer peer(door.door, door.now);
  auto fields = kGrpcFields;
  fields.emplace_back("grpc-timeout", "500m");
  const auto stream = peer.ask(
      {.path = "/grpc.health.v1.Health/Watch", .fields = fields, .body = about(""), .ends = false});
  peer.talk(door.now);
  EXPECT_EQ(told(peer.reply(stream)), "S");
  door.now += std::chrono::milliseconds(499);
  EXPECT_GT(peer.session().deadline(), door.now);
  door.now += std::chrono::milliseconds(1);
  EXPECT_LE(peer.session().deadline(), door.now);
  peer.session().expired(door.now);
  peer.talk(door.now);
  EXPECT_EQ(peer.reply(stream).trailers["grpc-status"], "4");
  EXPECT_TRUE(peer.reply(stream).closed.has_value());
}

// Unknown fields become objects of 16 bytes for two in the message.
TEST(GrpcHealth, QuestionsAreShort) {
  GrpcTestDoor door;
  std::string fields;
  for (int i = 0; i < 1'000'000; ++i) fields += "\x18\x01";
  for (const char* method : {"Check", "List", "Watch"}) {
    const auto reply = door.ask("/grpc.health.v1.Health/" + std::string(method), framed(fields));
    EXPECT_EQ(reply.fields.at("grpc-status"), "8") << method;
  }
}

TEST(GrpcHealth, AWatchNeedsAQuestion) {
  GrpcTestDoor door;
  EXPECT_EQ(door.ask("/grpc.health.v1.Health/Watch", "").fields.at("grpc-status"), "13");
  EXPECT_EQ(door.ask("/grpc.health.v1.Health/Watch", framed("\xff")).fields.at("grpc-status"),
            "13");
}

}  // namespace
}  // namespace weir
