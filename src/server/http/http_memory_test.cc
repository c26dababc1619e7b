// A shortage of memory in the middle of a turn costs one connection. No other client gets its
// replies.

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "base/allocation_testing.h"
#include "engine/testing/late_store.h"
#include "proto/http2/http2_door.h"
#include "proto/http2/http2_peer_testing.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

struct IdleWaker final : Waker {
  void wake() noexcept override {}
};

std::string body_of(std::string_view key) {
  return R"({"key":")" + std::string(key) + R"(","limit":9,"window":60})";
}

// An exception ends it, as it does a connection. False once nothing failed.
bool fails(TestDoor& door, std::size_t spared, std::string_view bytes) {
  IdleWaker waker;
  auto session = door.door.make_session({}, door.now);
  session->attach(waker);
  const auto space = session->input_space();
  std::ranges::copy(bytes, space.begin());
  const NoMemory none({.spared = spared, .failing = 1});
  try {
    session->received(bytes.size(), door.now);
  } catch (const std::bad_alloc&) {
    session.reset();
  }
  return none.has_failed();
}

// The store may not fail: this makes room for its keys.
void warm_up(TestDoor& door) {
  for (const auto* key : {"a", "b", "mine"}) door.ask(post("/check", body_of(key)));
}

void expect_own_reply(TestDoor& door) {
  const TestReply reply = door.ask(post("/check", body_of("mine")));
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.body.starts_with(R"({"key":"mine")")) << reply.body;
}

TEST(HttpMemory, AConnectionThatRunsOutLeavesNothingToTheNext) {
  const std::string bytes = post("/check", body_of("a")) + post("/check", body_of("b")) +
                            post("/v1/look", body_of("a")) + get("/health");
  std::size_t spared = 0;
  for (bool failed = true; failed; ++spared) {
    TestDoor door;
    warm_up(door);
    failed = fails(door, spared, bytes);
    expect_own_reply(door);
  }
  EXPECT_GT(spared, 5u);
}

TEST(HttpMemory, NorDoesOneThatWaits) {
  const std::string bytes =
      post("/check", body_of("a")) + post("/v1/look", body_of("a")) + post("/check", body_of("b"));
  std::size_t spared = 0;
  for (bool failed = true; failed; ++spared) {
    SummingStore distant;
    LateStore late(distant);
    TestFleet fleet(late);
    TestDoor door;
    warm_up(door);
    door.engine.join(fleet, {});
    failed = fails(door, spared, bytes);
    late.answer_all();
    door.engine.go_on(door.now);
    late.answer_at_once();
    expect_own_reply(door);
  }
  EXPECT_GT(spared, 5u);
}

TEST(HttpMemory, NorDoesAStreamOfHttp2) {
  struct Router final : Http2Router {
    explicit Router(Http2Service& api) : service(api) {}
    Http2Service& route(const Http2Stream&) override { return service; }
    Http2Service& service;
  };
  std::size_t spared = 0;
  for (bool failed = true; failed; ++spared) {
    TestDoor door;
    warm_up(door);
    Router router(door.door.http2());
    Http2Door http2(router);
    Http2Peer peer(http2, door.now);
    peer.talk(door.now);
    peer.ask({.path = "/check", .body = body_of("a")});
    {
      const NoMemory none({.spared = spared, .failing = 1});
      try {
        peer.talk(door.now);
      } catch (const std::bad_alloc&) {
      }
      failed = none.has_failed();
    }
    expect_own_reply(door);
  }
  EXPECT_GT(spared, 5u);
}

}  // namespace
}  // namespace weir
