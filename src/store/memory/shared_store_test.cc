#include "store/memory/shared_store.h"
#include "base/shared_pages_testing.h"
#include "engine/testing/asked.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace weir {
namespace {

constexpr Instant kStart = Instant(std::chrono::hours(24 * 365 * 55));
constexpr std::size_t kBytes = std::size_t{1} << 20;

// Memory that survives a fork as shared.
struct SharedMemory : SharedPages {
  SharedMemory() : SharedPages(kBytes) { format_shared_memory_store(bytes(), kStart); }
  std::unique_ptr<MemoryStore> store() const { return make_shared_memory_store(bytes()); }
};

Quota per_minute(std::int64_t limit, Algorithm algorithm = Algorithm::kSlidingWindow) {
  return *Quota::make({.algorithm = algorithm, .limit = limit, .window = std::chrono::minutes(1)});
}

bool spend(MemoryStore& store, std::uint64_t key, const Quota& quota, Instant now) {
  const Charge charge{.key = {.high = key * 0xd6e8feb86659fd93U, .low = key * 0x9e3779b97f4a7c15U},
                      .quota = &quota};
  return testing::spend(store, charge, now).allowed();
}

TEST(SharedStore, CountsForAllWhoMapIt) {
  const SharedMemory memory;
  const auto one = memory.store();
  const auto other = memory.store();
  const Quota quota = per_minute(2);
  EXPECT_TRUE(spend(*one, 7, quota, kStart));
  EXPECT_TRUE(spend(*other, 7, quota, kStart));
  EXPECT_FALSE(spend(*one, 7, quota, kStart));
  EXPECT_FALSE(spend(*other, 7, quota, kStart));
  EXPECT_EQ(one->count_live(kStart), 1u);
  EXPECT_EQ(other->count_live(kStart), 1u);
}

// The base of packed times was each process's own start. A later process then read earlier counts
// as hours old.
TEST(SharedStore, WhoComesLaterReadsTimesAsTheFirstWroteThem) {
  const SharedMemory memory;
  const Quota quota = per_minute(1);
  {
    const auto first = memory.store();
    EXPECT_TRUE(spend(*first, 7, quota, kStart + std::chrono::hours(48)));
  }
  const auto later = memory.store();
  EXPECT_FALSE(spend(*later, 7, quota, kStart + std::chrono::hours(48)));
}

TEST(SharedStore, ProcessesThatChargeAtOnceAdmitTheLimit) {
  constexpr int kProcesses = 4;
  constexpr std::uint64_t kKeys = 500;
  constexpr int kRounds = 10;
  const SharedMemory memory;
  const auto before = memory.store();
  const Quota quota = per_minute(5, Algorithm::kFixedWindow);
  int admitted = 0;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child != 0) continue;
    const auto store = memory.store();
    for (int round = 0; round < kRounds; ++round) {
      for (std::uint64_t key = 1; key <= kKeys; ++key) spend(*store, key, quota, kStart);
    }
    ::_exit(0);
  }
  for (int process = 0; process < kProcesses; ++process) {
    int status = -1;
    ::wait(&status);
    EXPECT_EQ(status, 0);
  }
  for (std::uint64_t key = 1; key <= kKeys; ++key) admitted += spend(*before, key, quota, kStart);
  EXPECT_EQ(admitted, 0) << "all had been charged " << kProcesses * kRounds << " times";
  EXPECT_EQ(before->count_live(kStart), kKeys);
  EXPECT_EQ(before->stats().evictions, 0u);
}

TEST(SharedStore, CountsForAllWhatNeedsMoreThanASlot) {
  const SharedMemory memory;
  const auto one = memory.store();
  const Quota huge = per_minute(1'000'000'000'000, Algorithm::kTokenBucket);
  const Quota backoff = per_minute(2, Algorithm::kExponentialBackoff);
  EXPECT_TRUE(spend(*one, 7, backoff, kStart));
  EXPECT_TRUE(spend(*one, 8, huge, kStart));
  const auto other = memory.store();
  EXPECT_EQ(other->count_live(kStart), 2u);
  EXPECT_TRUE(spend(*other, 7, backoff, kStart));
  EXPECT_FALSE(spend(*one, 7, backoff, kStart));
  EXPECT_FALSE(spend(*other, 7, backoff, kStart));
}

// A lock for one process would never pass on, and all others would wait for ever.
TEST(SharedStore, GoesOnWhenAProcessDiesInTheMiddleOfACharge) {
  const SharedMemory memory;
  const auto survivor = memory.store();
  const Quota backoff = per_minute(1'000'000, Algorithm::kExponentialBackoff);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto store = memory.store();
      for (;;) spend(*store, 7, backoff, kStart);
    }
    for (int i = 0; i < 1'000; ++i) spend(*survivor, 7, backoff, kStart);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(spend(*survivor, 9, backoff, kStart));
    spend(*survivor, 7, backoff, kStart);
  }
}

}  // namespace
}  // namespace weir
