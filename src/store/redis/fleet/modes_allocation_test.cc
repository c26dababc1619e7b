// Once warm, the stores that decide in memory allocate nothing for a check.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/allocation_testing.h"
#include "proto/resp/reply_reader.h"
#include "store/redis/async/async_store.h"
#include "store/redis/client/reactor_testing.h"
#include "store/redis/leased/leased_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kKeys = 100;

// Answers each trip with the same text, when the test says.
class OneAnswerClient final : public RedisClient {
 public:
  explicit OneAnswerClient(std::string numbers) : numbers_(std::move(numbers)) {}

  std::optional<RedisFailure> send(std::span<const std::string_view> words, std::uint16_t, Instant,
                                   RedisCall& call, Instant) override {
    calls_.push_back({&call, std::stoul(std::string(words[2]))});
    return std::nullopt;
  }
  void forget(RedisCall&) override {}
  const LinkState& state() const override { return state_; }

  void answer(std::size_t numbers_each, Instant now) {
    while (!calls_.empty()) {
      const auto [call, keys] = calls_.front();
      calls_.erase(calls_.begin());
      std::string text = "*" + std::to_string(1 + keys * numbers_each) +
                         "\r\n:" + std::to_string(epoch_us(now)) + "\r\n";
      for (std::size_t i = 0; i < keys; ++i) text += numbers_;
      resp::ReplyReader reader;
      EXPECT_EQ(reader.read(text), resp::ReplyReader::Status::kReply);
      call->replied(reader.reply(), now);
    }
  }

 private:
  const std::string numbers_;
  std::vector<std::pair<RedisCall*, std::size_t>> calls_;
  const LinkState state_{LinkState::Phase::kConnected, {}, {}};
};

struct Nobody final : RedisListener {};

// Allows everything.
class GenerousStore final : public Store {
 public:
  void decide(Batch& batch, Instant) noexcept override { batch.on_done(batch); }
};

// One check of each key.
int spend_each(Store& store, const Quota& quota, Instant now) {
  int answered = 0;
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    const Charge charge{{key, key}, &quota, 1};
    Decision decision;
    Batch batch;
    batch.charges = {&charge, 1};
    batch.decisions = {&decision, 1};
    batch.context = &answered;
    batch.on_done = [](Batch& done) noexcept { ++*static_cast<int*>(done.context); };
    store.decide(batch, now);
  }
  return answered;
}

TEST(ModesAllocations, AreNoneForWhatIsLeased) {
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 1'000'000, 1min});
  Instant now = instant_from_epoch_us(1'700'000'000'000'000);
  ManualReactor reactor;
  // For each key: allowed, 1,000 left; 500 granted for half a second.
  OneAnswerClient client(":64000\r\n:50\r\n:500\r\n:500000\r\n:0\r\n");
  Nobody listener;
  GenerousStore strict;
  RedisSender sender({}, client, reactor, listener);
  LeasedStore store({.redis = {}, .share = [] { return 2; }}, strict, sender, reactor);
  std::vector<Charge> charges(kKeys);
  std::vector<Decision> decisions(kKeys);
  std::vector<Batch> batches(kKeys);
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    charges[key] = {{key, key}, &quota, 1};
    batches[key].charges = {&charges[key], 1};
    batches[key].decisions = {&decisions[key], 1};
    batches[key].on_done = [](Batch&) noexcept {};
    store.decide(batches[key], now);
  }
  reactor.run(now);
  client.answer(5, now);
  const std::size_t before = allocations();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(spend_each(store, quota, now += 1ms), kKeys);
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(static_cast<std::uint64_t>(store.counts()[kLeasedFromMemory]), 100 * kKeys);
}

TEST(ModesAllocations, AreNoneForWhatIsCopied) {
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 1'000'000, 1min});
  Instant now = instant_from_epoch_us(1'700'000'000'000'000);
  ManualReactor reactor;
  OneAnswerClient client(":0\r\n:1699999980000000\r\n:7\r\n:8\r\n");
  Nobody listener;
  GenerousStore strict;
  RedisSender sender({}, client, reactor, listener);
  AsyncStore store({}, strict, sender, reactor);
  for (int i = 0; i < 3; ++i) {
    spend_each(store, quota, now += 100ms);
    reactor.run(now);
    client.answer(4, now);
  }
  const std::size_t before = allocations();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(spend_each(store, quota, now += 1ms), kKeys);
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(static_cast<std::uint64_t>(store.counts()[kAsyncFromMemory]), 103 * kKeys);
}

// It goes on deciding while the last trip is out.
TEST(ModesAllocations, AreNoneAfterAllHasBeenTold) {
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 1'000'000, 1min});
  Instant now = instant_from_epoch_us(1'700'000'000'000'000);
  ManualReactor reactor;
  OneAnswerClient client(":0\r\n:0\r\n:0\r\n:0\r\n");
  Nobody listener;
  GenerousStore strict;
  RedisSender sender({}, client, reactor, listener);
  AsyncStore store({}, strict, sender, reactor);
  for (int i = 0; i < 3; ++i) {  // until all keys are calm
    spend_each(store, quota, now += 100ms);
    reactor.run(now);
    reactor.run(now);
    client.answer(4, now);
  }
  store.tell_all(now);
  client.answer(4, now);
  const std::size_t before = allocations();
  EXPECT_EQ(spend_each(store, quota, now += 1ms), kKeys);
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace weir
