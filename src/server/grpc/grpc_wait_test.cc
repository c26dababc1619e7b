// gRPC calls over a store that does not answer at once.

#include <gtest/gtest.h>

#include <utility>

#include "engine/testing/late_store.h"
#include "server/grpc/grpc_test_door.h"

namespace weir {
namespace {

using rls::Response;

const std::string kPath(grpc::ShouldRateLimit::kPath);

class GrpcWaitTest : public ::testing::Test {
 protected:
  GrpcWaitTest() { peer_.session().attach(waker_); }
  // The store owns a question until it has answered it.
  ~GrpcWaitTest() override { late_.answer_all(); }

  std::int32_t call(const std::string& value) {
    return GrpcTestDoor::call(peer_, kPath, framed(request_about("user", value)));
  }
  Response::Code code_of(std::int32_t stream) {
    Response response;
    const std::string body = peer_.reply(stream).body;
    EXPECT_TRUE(response.ParseFromString(body.substr(std::min<std::size_t>(5, body.size()))));
    return response.overall_code();
  }
  void wake() {
    shared_.go_on();
    EXPECT_TRUE(std::exchange(waker_.woken, false));
    peer_.session().woken(door_.now);
    peer_.talk(door_.now);
  }

  GrpcTestDoor door_{{rule_for("user", 2)}};
  LateFleet shared_{door_.engine, door_.now, make_memory_store({.max_keys = 1024}, door_.now)};
  LateStore& late_ = shared_.late;
  Http2Peer peer_{door_.door, door_.now};
  FlagWaker waker_;
};

TEST_F(GrpcWaitTest, StreamsWaitSideBySide) {
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(call("a"));
  peer_.talk(door_.now);
  EXPECT_EQ(late_.waiting(), 3u);
  EXPECT_EQ(peer_.reply(streams[0]).body, "");
  late_.answer_all();
  wake();
  EXPECT_EQ(code_of(streams[0]), Response::OK);
  EXPECT_EQ(code_of(streams[1]), Response::OK);
  EXPECT_EQ(code_of(streams[2]), Response::OVER_LIMIT);
  EXPECT_EQ(late_.asked(), 3);
}

TEST_F(GrpcWaitTest, AnAnswerDoesNotWaitForTheOthers) {
  const auto first = call("a");
  const auto second = call("b");
  peer_.talk(door_.now);
  late_.answer_one();
  wake();
  EXPECT_EQ(code_of(first), Response::OK);
  EXPECT_EQ(peer_.reply(second).body, "");
}

TEST_F(GrpcWaitTest, ConnectionsThatGoAwayAreNotWoken) {
  {
    Http2Peer leaving(door_.door, door_.now);
    leaving.session().attach(waker_);
    GrpcTestDoor::call(leaving, kPath, framed(request_about("user", "a")));
    leaving.talk(door_.now);
  }
  late_.answer_all();
  shared_.go_on();
  EXPECT_FALSE(waker_.woken);
}

}  // namespace
}  // namespace weir
