// Slots that open calls hold, in this node's memory. tests/e2e/grpc_test.py tests them in Redis.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "engine/testing/late_store.h"
#include "proto/reactor_testing.h"
#include "server/grpc/grpc_test_door.h"
#include "weir/holding_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using ::weir::v1::HoldRequest;
using ::weir::v1::HoldResponse;

const std::string kPath(grpc::HoldSlot::kPath);

HoldRequest request_for(std::string rule, std::string key, std::string hold) {
  HoldRequest request;
  request.set_rule(std::move(rule));
  request.set_key(std::move(key));
  request.set_hold(std::move(hold));
  return request;
}

class GrpcSlotsTest : public ::testing::Test {
 protected:
  GrpcSlotsTest() {
    door_.engine.holds = &holds_;
    door_.grpc.hold_slot().begin_serving(reactor_);
    peer_.session().attach(waker_);
  }

  std::int32_t hold(Http2Peer& peer, const HoldRequest& request) {
    const auto stream =
        peer.ask({.path = kPath, .fields = kGrpcFields, .body = framed(request), .ends = false});
    peer.talk(door_.now);
    return stream;
  }
  std::int32_t hold(const std::string& key = "a") {
    return hold(peer_, request_for("calls", key, "30s"));
  }
  // Whether the only message says that there is a slot.
  bool is_allowed(std::int32_t stream) {
    HoldResponse response;
    const std::string& body = peer_.reply(stream).body;
    EXPECT_TRUE(body.size() >= 5 && response.ParseFromString(body.substr(5)));
    EXPECT_EQ(response.limit(), 2u);
    return response.allowed();
  }
  std::string status(std::int32_t stream) {
    const std::string& trailer = peer_.reply(stream).trailers["grpc-status"];
    return trailer.empty() ? peer_.reply(stream).fields["grpc-status"] : trailer;
  }
  void cancel(std::int32_t stream) {
    peer_.reset(stream);
    peer_.talk(door_.now);
  }
  std::size_t held() {
    reactor_.run(door_.now);
    holds_.held({}, door_.now);  // slots whose time is over lapse
    return holds_.size();
  }
  void let_pass(Duration time) {
    door_.now += time;
    peer_.session().expired(door_.now);
    reactor_.run(door_.now);
    if (std::exchange(waker_.woken, false)) peer_.session().woken(door_.now);
    peer_.talk(door_.now);
  }

  FlagWaker waker_;
  ManualReactor reactor_;
  GrpcTestDoor door_{{{.id = "calls",
                       .quota = *slot_quota(2),
                       .effect = Rule::Effect::kConcurrency,
                       .holds_max = 2},
                      rule_for("user", 2)}};
  HoldingStore holds_{*door_.store};
  Http2Peer peer_{door_.door, door_.now};
};

TEST_F(GrpcSlotsTest, ACallHoldsASlotUntilItsClientEndsIt) {
  const auto first = hold();
  const auto second = hold();
  EXPECT_TRUE(is_allowed(first) && is_allowed(second));
  const auto third = hold();
  EXPECT_FALSE(is_allowed(third));
  EXPECT_EQ(status(third), "0");
  EXPECT_EQ(held(), 2u);
  cancel(first);
  EXPECT_EQ(held(), 1u);
  EXPECT_TRUE(is_allowed(hold()));
  EXPECT_FALSE(is_allowed(hold()));
}

TEST_F(GrpcSlotsTest, AConnectionThatEndsReleasesAll) {
  {
    Http2Peer other(door_.door, door_.now);
    hold(other, request_for("calls", "a", "30s"));
    hold(other, request_for("calls", "b", "30s"));
    EXPECT_EQ(held(), 2u);
  }
  EXPECT_EQ(held(), 0u);
  Http2Peer other(door_.door, door_.now);
  hold(other, request_for("calls", "a", "30s"));
  other.session().peer_closed(door_.now);
  EXPECT_TRUE(other.session().finished());
}

TEST_F(GrpcSlotsTest, TheCallEndsWithItsSlot) {
  const auto first = hold();
  let_pass(29s);
  EXPECT_EQ(status(first), "");
  let_pass(1s);
  EXPECT_EQ(status(first), "4");
  EXPECT_EQ(held(), 0u);
}

TEST_F(GrpcSlotsTest, WhoHasLostItsSlotIsToldWithinASecond) {
  const auto first = hold();
  let_pass(1s);
  EXPECT_EQ(status(first), "");
  HoldingStore another(*door_.store);
  door_.engine.holds = &another;  // knows nothing of it
  let_pass(1s);
  EXPECT_EQ(status(first), "10");
}

TEST_F(GrpcSlotsTest, ACallHasADeadlineOfItsOwn) {
  TestFields fields = kGrpcFields;
  fields.push_back({"grpc-timeout", "100m"});
  const auto stream = peer_.ask({.path = kPath,
                                 .fields = fields,
                                 .body = framed(request_for("calls", "a", "30s")),
                                 .ends = false});
  peer_.talk(door_.now);
  EXPECT_EQ(held(), 1u);
  let_pass(100ms);
  EXPECT_EQ(status(stream), "4");
  EXPECT_EQ(held(), 0u);
}

TEST_F(GrpcSlotsTest, AnEndOfTheConnectionIsAnEndOfTheCall) {
  const auto first = hold();
  peer_.session().drain();
  peer_.talk(door_.now);
  EXPECT_EQ(status(first), "14");
  EXPECT_FALSE(door_.grpc.hold_slot().has_released_all()) << "the node waits";
  EXPECT_EQ(held(), 0u);
  EXPECT_TRUE(door_.grpc.hold_slot().has_released_all());
}

TEST_F(GrpcSlotsTest, ManyThatEndTheirSideAreNoFlood) {
  for (int i = 0; i < 2500; ++i) {
    const auto stream = hold();
    peer_.end(stream);
    peer_.talk(door_.now);
    EXPECT_EQ(status(stream), "0");
    ASSERT_EQ(held(), 0u);
  }
  EXPECT_FALSE(peer_.goaway);
}

TEST_F(GrpcSlotsTest, WhoEndsItsSideAtOnceHasHadASlot) {
  const auto stream = GrpcTestDoor::call(peer_, kPath, framed(request_for("calls", "a", "30s")));
  peer_.talk(door_.now);
  EXPECT_TRUE(is_allowed(stream));
  EXPECT_EQ(status(stream), "0");
  EXPECT_EQ(held(), 0u);
}

TEST_F(GrpcSlotsTest, AMessageMayComeInPiecesAndMoreBehindIt) {
  const auto stream = peer_.ask({.path = kPath, .fields = kGrpcFields, .ends = false});
  for (const char byte : framed(request_for("calls", "a", "30s"))) {
    EXPECT_EQ(held(), 0u);
    peer_.send(stream, {&byte, 1});
    peer_.talk(door_.now);
  }
  EXPECT_TRUE(is_allowed(stream));
  peer_.send(stream, std::string(100'000, 'x'));
  peer_.talk(door_.now);
  EXPECT_EQ(held(), 1u);
  EXPECT_EQ(status(stream), "");
}

TEST_F(GrpcSlotsTest, AMistakeIsNamed) {
  struct Case {
    HoldRequest request;
    std::string_view says;
  };
  const Case cases[] = {
      {request_for("cals", "a", "30s"), "no rule 'cals'"},
      {request_for("user", "a", "30s"), "a rule with 'of: concurrency' and without 'match'"},
      {request_for("calls", "a", "25h"), "24h"},
      {request_for("calls", "a", ""), "24h"},
      {request_for("calls", std::string(4097, 'k'), "30s"), "4096"},
      {request_for("calls", "", "30s"), "4096"},
  };
  for (const Case& each : cases) {
    const auto stream = hold(peer_, each.request);
    EXPECT_EQ(status(stream), "3") << each.says;
    EXPECT_NE(peer_.reply(stream).fields["grpc-message"].find(each.says), std::string::npos)
        << peer_.reply(stream).fields["grpc-message"];
  }
  const auto nonsense = GrpcTestDoor::call(peer_, kPath, framed("\xff"));
  peer_.talk(door_.now);
  EXPECT_EQ(status(nonsense), "13");
  EXPECT_EQ(held(), 0u);
}

}  // namespace
}  // namespace weir
