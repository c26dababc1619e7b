// Once warm, the store allocates nothing: not for a batch, a call, its answer or a failure.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/allocation_testing.h"
#include "proto/resp/reply_reader.h"
#include "store/redis/client/reactor_testing.h"
#include "store/redis/strict/redis_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBatches = 100;

class OneCallClient final : public RedisClient {
 public:
  std::optional<RedisFailure> send(std::span<const std::string_view>, std::uint16_t, Instant,
                                   RedisCall& sent, Instant) override {
    call = &sent;
    return std::nullopt;
  }
  void forget(RedisCall&) override {}
  const LinkState& state() const override { return state_; }

  RedisCall* call = nullptr;

 private:
  const LinkState state_{LinkState::Phase::kConnected, {}, {}};
};

struct Nobody final : RedisListener {};

class RedisStoreAllocations : public ::testing::Test {
 protected:
  RedisStoreAllocations() {
    answer_ = "*" + std::to_string(1 + 2 * kBatches) + "\r\n:1\r\n";
    for (std::size_t i = 0; i < kBatches; ++i) answer_ += ":640\r\n:50\r\n";
  }

  // Asked in one round; then Redis answers with `text`.
  void round(const std::string& text) {
    now_ += 1ms;
    for (std::size_t i = 0; i < kBatches; ++i) {
      charges_[i] = {{i, ++asked_}, &quota_, 1};
      batches_[i].charges = {&charges_[i], 1};
      batches_[i].decisions = {&decisions_[i], 1};
      batches_[i].context = &answered_;
      batches_[i].on_done = [](Batch& done) noexcept { ++*static_cast<int*>(done.context); };
      store_.decide(batches_[i], now_);
    }
    reactor_.run(now_);
    ASSERT_EQ(reader_.read(text), resp::ReplyReader::Status::kReply);
    client_.call->replied(reader_.reply(), now_);
  }

  const Quota quota_ = *Quota::make({Algorithm::kTokenBucket, 10, 1min});
  Instant now_ = instant_from_epoch_us(1'700'000'000'000'000);
  std::string answer_;
  std::uint64_t asked_ = 0;
  int answered_ = 0;
  std::array<Charge, kBatches> charges_;
  std::array<Decision, kBatches> decisions_;
  std::array<Batch, kBatches> batches_;
  resp::ReplyReader reader_;
  ManualReactor reactor_;
  OneCallClient client_;
  Nobody listener_;
  RedisSender sender_{{}, client_, reactor_, listener_};
  RedisStore store_{{}, sender_};
};

TEST_F(RedisStoreAllocations, AreNoneOnceItIsWarm) {
  const std::string refusal = "-OOM command not allowed when used memory > 'maxmemory'\r\n";
  round(answer_);
  round(refusal);
  const std::size_t before = allocations();
  for (int i = 0; i < 10; ++i) {
    round(answer_);
    round(refusal);
  }
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(answered_, 22 * static_cast<int>(kBatches));
}

}  // namespace
}  // namespace weir
