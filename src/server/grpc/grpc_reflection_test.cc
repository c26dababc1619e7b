#include <gtest/gtest.h>

#include <google/protobuf/descriptor.pb.h>

#include <set>
#include <string>

#include "proto/http2/http2_session.h"
#include "server/grpc/grpc_test_door.h"
#include "server/grpc/reflection.h"

namespace weir {
namespace {

using ::grpc::reflection::v1::ServerReflectionRequest;
using ::grpc::reflection::v1::ServerReflectionResponse;

const std::string kPath = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

ServerReflectionResponse answer_in(std::string_view body) {
  ServerReflectionResponse response;
  EXPECT_TRUE(grpc::parse(response, grpc::find_message(body).payload));
  return response;
}

class GrpcReflection : public testing::Test {
 protected:
  ServerReflectionResponse ask(const ServerReflectionRequest& request) {
    return answer_in(door_.ask(kPath, framed(request)).body);
  }

  GrpcTestDoor door_;
};

TEST_F(GrpcReflection, ListsTheServices) {
  ServerReflectionRequest request;
  request.set_host("h");
  request.set_list_services("");
  const auto response = ask(request);
  EXPECT_EQ(response.valid_host(), "h");
  EXPECT_EQ(response.original_request().host(), "h");
  ASSERT_EQ(response.list_services_response().service_size(), 5);
  EXPECT_EQ(response.list_services_response().service(0).name(),
            "envoy.service.ratelimit.v3.RateLimitService");
}

TEST_F(GrpcReflection, AnAnswerThatNobodyTakesIsGivenUp) {
  Http2Peer narrow(door_.door, door_.now);
  narrow.window = 1;
  narrow.reads = false;
  ServerReflectionRequest request;
  request.set_file_containing_symbol("envoy.service.ratelimit.v3.RateLimitService");
  narrow.ask({.path = kPath, .fields = kGrpcFields, .body = framed(request), .ends = false});
  narrow.talk(door_.now);
  narrow.session().sent(narrow.session().output().size(), door_.now);  // no window is given back
  const Instant begun = door_.now;
  // The session may look before anything is due.
  for (int looks = 0; looks < 3 && narrow.session().output().empty(); ++looks) {
    door_.now = narrow.session().deadline();
    narrow.session().expired(door_.now);
  }
  EXPECT_EQ(door_.now, begun + Http2Session::kStalledMax);
  EXPECT_FALSE(narrow.session().output().empty());  // RST_STREAM
}

TEST_F(GrpcReflection, AFileComesWithAllThatItImports) {
  ServerReflectionRequest request;
  request.set_file_containing_symbol("envoy.service.ratelimit.v3.RateLimitService");
  std::set<std::string> names;
  std::set<std::string> imported;
  const auto response = ask(request);
  for (const auto& bytes : response.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(bytes));
    EXPECT_TRUE(names.insert(file.name()).second) << file.name();
    imported.insert(file.dependency().begin(), file.dependency().end());
  }
  EXPECT_TRUE(names.contains("envoy/service/ratelimit/v3/rls.proto"));
  for (const auto& name : imported) EXPECT_TRUE(names.contains(name)) << name;

  request.set_file_by_filename("grpc/health/v1/health.proto");
  EXPECT_EQ(ask(request).file_descriptor_response().file_descriptor_proto_size(), 1);
}

TEST_F(GrpcReflection, WhatDoesNotExistIsAnErrorOfItsQuestionOnly) {
  ServerReflectionRequest request;
  EXPECT_EQ(ask(request).error_response().error_code(), 3);
  request.set_file_by_filename("nothing.proto");
  EXPECT_EQ(ask(request).error_response().error_code(), 5);
  request.set_file_containing_symbol("no.Thing");
  EXPECT_EQ(ask(request).error_response().error_code(), 5);
  request.mutable_file_containing_extension()->set_containing_type("no.Thing");
  EXPECT_EQ(ask(request).error_response().error_code(), 5);
  request.set_all_extension_numbers_of_type("grpc.health.v1.HealthCheckRequest");
  EXPECT_EQ(ask(request).all_extension_numbers_response().extension_number_size(), 0);
}

TEST_F(GrpcReflection, AnswersEachQuestionOfAStreamAtOnce) {
  Http2Peer peer(door_.door, door_.now);
  const auto stream =
      peer.ask({.path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                .fields = kGrpcFields,
                .ends = false});
  ServerReflectionRequest request;
  request.set_list_services("");
  std::size_t heard = 0;
  for (int i = 0; i < 3; ++i) {
    peer.send(stream, framed(request));
    peer.talk(door_.now);
    EXPECT_GT(peer.reply(stream).body.size(), heard);
    heard = peer.reply(stream).body.size();
  }
  peer.end(stream);
  peer.talk(door_.now);
  EXPECT_EQ(peer.reply(stream).trailers.at("grpc-status"), "0");
}

TEST_F(GrpcReflection, EndsWithTheConnection) {
  Http2Peer peer(door_.door, door_.now);
  const auto stream = peer.ask({.path = kPath, .fields = kGrpcFields, .ends = false});
  peer.talk(door_.now);
  peer.session().drain();
  peer.talk(door_.now);
  EXPECT_EQ(peer.reply(stream).trailers.at("grpc-status"), "14");
  EXPECT_TRUE(peer.session().finished());
}

TEST_F(GrpcReflection, WhoReadsNothingIsNotAnsweredForEver) {
  Http2Peer peer(door_.door, door_.now);
  peer.window = 1;
  const auto stream = peer.ask({.path = kPath, .fields = kGrpcFields, .ends = false});
  ServerReflectionRequest request;
  request.set_file_containing_symbol("envoy.service.ratelimit.v3.RateLimitService");
  const std::string question = framed(request);
  peer.reads = false;
  for (int i = 0; i < 2000; ++i) {
    peer.send(stream, question);
    peer.talk(door_.now);
  }
  peer.reads = true;
  peer.talk(door_.now);
  EXPECT_EQ(peer.reply(stream).trailers.at("grpc-status"), "8");
}

}  // namespace
}  // namespace weir
