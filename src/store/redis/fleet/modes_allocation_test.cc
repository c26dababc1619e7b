// Once warm, no mode allocates for a check, and strict not for a call, its answer or a failure.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/allocation_testing.h"
#include "proto/reactor_testing.h"
#include "store/redis/async/async_store.h"
#include "store/redis/calls/calls_testing.h"
#include "store/redis/leased/leased_store.h"
#include "store/redis/strict/redis_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kKeys = 100;
constexpr const char* kRefusal = "-OOM command not allowed when used memory > 'maxmemory'\r\n";

// Takes calls, and answers when the test says.
class PatientClient final : public SilentClient {
 public:
  PatientClient() { keys_.reserve(kKeys); }
  std::optional<RedisFailure> send(std::span<const std::string_view> words, std::uint16_t slot,
                                   Instant deadline, RedisCall& call, Instant now) override {
    keys_.push_back(std::stoul(std::string(words[2])));
    return SilentClient::send(words, slot, deadline, call, now);
  }

  // Answers with the time and so many `numbers` for each key, or refuses.
  void answer(const std::string& numbers, Instant now) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      ASSERT_EQ(reader_.read(text_of(numbers, keys_[i])), resp::ReplyReader::Status::kReply);
      calls_[i]->replied(reader_.reply(), now);
    }
    calls_.clear();
    keys_.clear();
  }

 private:
  const std::string& text_of(const std::string& numbers, std::size_t keys) {
    std::string& text = texts_[numbers][keys];
    if (!text.empty()) return text;
    if (numbers[0] == '-') return text = numbers;
    const auto each = static_cast<std::size_t>(std::ranges::count(numbers, ':'));
    text = "*" + std::to_string(1 + keys * each) + "\r\n:1700000000000000\r\n";
    for (std::size_t i = 0; i < keys; ++i) text += numbers;
    return text;
  }

  std::map<std::string, std::map<std::size_t, std::string>> texts_;
  std::vector<std::size_t> keys_;  // of each call
  resp::ReplyReader reader_;
};

class ModesAllocations : public ManyChecks {
 protected:
  ModesAllocations() : ManyChecks(kKeys) {}

  // Checks each key once, the first ones or later ones.
  void check_each(Store& store, Duration later, std::uint64_t first_key = 0) {
    now_ += later;
    for (std::uint64_t i = 0; i < kKeys; ++i) charges_[i].key.low = first_key + i;
    ask(store, kKeys);
  }
  void run_and_answer(const std::string& numbers) {
    for (int round = 0; round < 2; ++round) reactor_.run(now_);
    client_.answer(numbers, now_);
  }

  ManualReactor reactor_;
  PatientClient client_;
  Nobody listener_;
  RedisSender sender_{{}, client_, reactor_, listener_};
  GenerousStore generous_;
};

TEST_F(ModesAllocations, AreNoneForWhatRedisDecides) {
  RedisStore store({}, sender_);
  std::size_t before = 0;
  for (std::uint64_t i = 0; i < 22; ++i) {
    if (i == 2) before = allocations();
    check_each(store, 1ms, i * kKeys);
    static const std::string answers[] = {":640\r\n:50\r\n", kRefusal};
    run_and_answer(answers[i % 2]);
  }
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(decided_ + failed_, 22 * kKeys);
}

TEST_F(ModesAllocations, AreNoneForWhatIsLeased) {
  LeasedStore store({.redis = {}, .share = [] { return 2; }}, generous_, sender_, reactor_);
  check_each(store, 0ms);
  // For each key: allowed, 1,000 left; 500 granted for half a second.
  run_and_answer(":64000\r\n:50\r\n:500\r\n:500000\r\n:0\r\n");
  const std::size_t before = allocations();
  for (int i = 0; i < 100; ++i) check_each(store, 1ms);
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(decided_ + failed_, 101 * kKeys);
  EXPECT_EQ(static_cast<std::uint64_t>(store.counts()[kLeasedFromMemory]), 100 * kKeys);
}

TEST_F(ModesAllocations, AreNoneForWhatIsCopiedNorAfterAllHasBeenTold) {
  AsyncStore store({}, generous_, sender_, reactor_);
  const std::string copy = ":0\r\n:0\r\n:0\r\n:0\r\n";
  for (int i = 0; i < 3; ++i) {  // until all keys are calm
    check_each(store, 100ms);
    run_and_answer(copy);
  }
  std::size_t before = allocations();
  for (int i = 0; i < 50; ++i) check_each(store, 1ms);
  EXPECT_EQ(allocations(), before);
  // It goes on deciding while the last trip is out.
  store.tell_all(now_);
  client_.answer(copy, now_);
  before = allocations();
  check_each(store, 1ms);
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(static_cast<std::uint64_t>(store.counts()[kAsyncFromMemory]), 54 * kKeys);
}

}  // namespace
}  // namespace weir
