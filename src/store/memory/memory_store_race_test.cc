// Eight threads on one store, in any order: exactly the limit gets through.

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "engine/testing/asked.h"
#include "store/memory/memory_testing.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::ask;

constexpr int kThreads = 8;

bool spend_all(Store& store, std::vector<Charge> charges, Instant now) {
  return std::ranges::all_of(ask(store, Operation::kSpendAll, std::move(charges), now),
                             &Decision::allowed);
}

void run_threads(const std::function<void(int)>& action) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(action, thread);
  for (auto& thread : threads) thread.join();
}

class MemoryStoreRaceTest : public ::testing::TestWithParam<Algorithm> {
 protected:
  Quota quota(std::int64_t limit) { return quota_of({GetParam(), limit, 1h}); }
  std::unique_ptr<MemoryStore> store_ = make_memory_store({.max_keys = 4096}, kStart);
};

// One thousand concurrent requests against a limit of ten, again and again on new keys.
TEST_P(MemoryStoreRaceTest, AThousandRequestsAdmitTen) {
  const Quota ten = quota(10);
  for (std::uint64_t key = 0; key < 10; ++key) {
    std::atomic<int> admitted{0};
    std::barrier start(kThreads);
    run_threads([&](int) {
      start.arrive_and_wait();
      for (int hit = 0; hit < 125; ++hit) {
        admitted += spend_all(*store_, {{key_of(key), &ten, 1}}, kNow) ? 1 : 0;
      }
    });
    ASSERT_EQ(admitted.load(), 10);
  }
}

// Requests with two charges: a shared key that fills up, and a key of their own that must then hold
// exactly the admitted units. In a race a charge may be denied that would have fitted, but no unit
// too many is admitted and no denial leaves a charge.
TEST_P(MemoryStoreRaceTest, AllOrNothingNeverAdmitsTooMuchNorLeavesACharge) {
  const Quota shared = quota(50);
  const Quota own = quota(1000);
  std::atomic<int> admitted{0};
  run_threads([&](int thread) {
    const auto own_key = key_of(100 + static_cast<std::uint64_t>(thread));
    int mine = 0;
    for (int hit = 0; hit < 60; ++hit) {
      mine += spend_all(*store_, {{own_key, &own, 1}, {key_of(1), &shared, 1}}, kNow) ? 1 : 0;
    }
    EXPECT_EQ(ask(*store_, Operation::kLook, Charge{own_key, &own, 0}, kNow).remaining,
              1000 - mine);
    admitted += mine;
  });
  EXPECT_EQ(admitted.load(), 50);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, MemoryStoreRaceTest,
                         ::testing::Values(Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                           Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                           Algorithm::kExponentialBackoff, Algorithm::kAdaptive,
                                           Algorithm::kStrictWindow),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace weir
