// For tests: a client of Redis that does as the test says.
//
// Thread rule: one thread.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/resp/reply_reader.h"
#include "store/redis/client/redis_client.h"

namespace weir {

class FakeClient final : public RedisClient {
 public:
  struct Sent {
    std::vector<std::string> words;
    std::uint16_t slot;
    Instant deadline;
    RedisCall* call;
  };

  std::optional<RedisFailure> send(std::span<const std::string_view> words, std::uint16_t slot,
                                   Instant deadline, RedisCall& call, Instant) override {
    if (refusal) return refusal;
    ++calls;
    sent.push_back({{words.begin(), words.end()}, slot, deadline, &call});
    return std::nullopt;
  }
  void forget(RedisCall& call) override {
    std::erase_if(sent, [&](const Sent& one) { return one.call == &call; });
  }
  const LinkState& state() const override { return link; }

  Sent take() {
    Sent first = std::move(sent.front());
    sent.pop_front();
    return first;
  }
  void reply(const std::string& text, Instant now) {
    resp::ReplyReader reader;
    EXPECT_EQ(reader.read(text), resp::ReplyReader::Status::kReply);
    take().call->replied(reader.reply(), now);
  }
  void answer(const std::vector<std::int64_t>& numbers, Instant now) {
    std::string text = "*" + std::to_string(numbers.size()) + "\r\n";
    for (const auto number : numbers) text += ":" + std::to_string(number) + "\r\n";
    reply(text, now);
  }
  void fail(RedisFailure why, Instant now) { take().call->failed(why, now); }

  LinkState link{LinkState::Phase::kConnected, "", {}};
  std::optional<RedisFailure> refusal;
  std::deque<Sent> sent;
  int calls = 0;
};

}  // namespace weir
