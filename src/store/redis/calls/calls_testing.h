// For tests: clients of Redis that do as the test says, and checks of many keys.
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
#include "weir/quota.h"
#include "weir/store.h"

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

struct Nobody final : RedisListener {};

// Takes all calls, and is silent until it fails all of them. A hundred take no memory.
class SilentClient : public RedisClient {
 public:
  SilentClient() { calls_.reserve(100); }

  std::optional<RedisFailure> send(std::span<const std::string_view>, std::uint16_t, Instant,
                                   RedisCall& call, Instant) override {
    calls_.push_back(&call);
    return std::nullopt;
  }
  void forget(RedisCall&) override {}
  const LinkState& state() const override { return state_; }

  std::size_t calls() const { return calls_.size(); }
  void fail_all(Instant now) {
    for (RedisCall* const call : std::exchange(calls_, {})) {
      call->failed(RedisFailure::kNotReady, now);
    }
  }

 protected:
  std::vector<RedisCall*> calls_;

 private:
  const LinkState state_{LinkState::Phase::kConnected, {}, {}};
};

// Allows every charge.
class GenerousStore final : public Store {
 public:
  void decide(Batch& batch, Instant) noexcept override { batch.on_done(batch); }
};

// Asks about up to so many keys, without memory beyond what it has from the start.
class ManyChecks : public ::testing::Test {
 protected:
  explicit ManyChecks(std::uint64_t keys) : charges_(keys), decisions_(keys), batches_(keys) {
    for (std::uint64_t key = 0; key < keys; ++key) {
      charges_[key] = {{key, key}, &quota_, 1};
      batches_[key].charges = {&charges_[key], 1};
      batches_[key].decisions = {&decisions_[key], 1};
      batches_[key].context = this;
      batches_[key].on_done = [](Batch& done) noexcept {
        auto& test = *static_cast<ManyChecks*>(done.context);
        ++(done.error == StoreError::kNone ? test.decided_ : test.failed_);
      };
    }
  }
  void ask(Store& store, std::uint64_t keys) {
    for (std::uint64_t key = 0; key < keys; ++key) store.decide(batches_[key], now_);
  }

  const Quota quota_ = *Quota::make({Algorithm::kTokenBucket, 1'000'000, std::chrono::minutes(1)});
  Instant now_ = instant_from_epoch_us(1'700'000'000'000'000);
  std::vector<Charge> charges_;
  std::vector<Decision> decisions_;
  std::vector<Batch> batches_;
  std::size_t decided_ = 0;
  std::size_t failed_ = 0;
};

}  // namespace weir
