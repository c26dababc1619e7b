// BlockingClient: a client that waits for a real Redis, for tests of what is built on one.
//
// Thread rule: one thread. Tested by redis_conformance_test.cc, which uses it.

#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string_view>

#include "redis/redis_server.h"
#include "store/redis/client/redis_client.h"

namespace weir::testing {

class BlockingClient final : public RedisClient {
 public:
  explicit BlockingClient(const RedisServer& server) : connection_(server) {}

  std::optional<RedisFailure> send(std::span<const std::string_view> words, std::uint16_t, Instant,
                                   RedisCall& call, Instant) override {
    connection_.put(words);
    calls_.push_back(&call);
    return std::nullopt;
  }
  void forget(RedisCall& call) override {
    for (RedisCall*& waiting : calls_) {
      if (waiting == &call) waiting = nullptr;
    }
  }
  const LinkState& state() const override { return state_; }

  // Waits for the replies to all that was sent, and to what is sent because of them.
  void run(Instant now) {
    while (!calls_.empty()) {
      connection_.flush();
      const resp::Reply& reply = connection_.read();
      RedisCall* const call = calls_.front();
      calls_.pop_front();
      if (call != nullptr) call->replied(reply, now);
    }
  }

 private:
  RedisConnection connection_;
  std::deque<RedisCall*> calls_;
  const LinkState state_{LinkState::Phase::kConnected, {}, {}};
};

}  // namespace weir::testing
