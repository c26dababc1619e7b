// Races of the compact table: chosen races, all nested ones, and many random ones.
//
// The probe stops an operation right before one of its exchanges and runs another operation there,
// from start to end, in the same thread. Every race comes down to that, and it happens the same way
// each time.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "store/memory/compact_table.h"
#include "store/memory/memory_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using algo::FixedWindowState;

thread_local std::function<void(TablePoint)> interrupt;

struct InterruptingProbe {
  static void reached(TablePoint point) noexcept {
    if (interrupt) interrupt(point);
  }
};

class TableRaceTest : public ::testing::Test {
 protected:
  void TearDown() override {
    interrupt = nullptr;
    EXPECT_EQ(claims(), 0) << "a slot is lost";
  }

  // Slots that are claimed for keys without a state: none while no thread is in spend().
  std::int64_t claims() const {
    return std::ranges::count_if(
        slots_, [](const Atomic128& slot) { return SlotWord(slot.load()).claimed(); });
  }
  bool spend(std::uint64_t key) {
    return table_.spend<FixedWindowState>({key_of(key), &quota_, 1}, kNow, nullptr).allowed();
  }
  std::int64_t count(std::uint64_t key) {
    return table_.find<FixedWindowState>(key_of(key), quota_).count;
  }
  // Runs `action` once, when an operation gets to `point`.
  void interrupt_at(TablePoint point, std::function<void()> action) {
    interrupt = [point, action = std::move(action)](TablePoint reached) {
      if (reached != point) return;
      const auto once = std::exchange(interrupt, nullptr);  // this very function: keep it alive
      action();
    };
  }

  const Quota quota_ = quota_of({Algorithm::kFixedWindow, 1000, 1min});
  std::array<Atomic128, 1720> slots_{};
  CompactTable<InterruptingProbe>::Counts counts_;
  CompactTable<InterruptingProbe> table_{slots_, counts_, kStart};
};

constexpr TablePoint kPoints[] = {TablePoint::kBeforeChoice, TablePoint::kBeforeClaim,
                                  TablePoint::kBeforeSettle, TablePoint::kBeforeCommit,
                                  TablePoint::kBeforeUpdate};

TEST_F(TableRaceTest, AKeyErasedInBetweenStartsOver) {
  for (const TablePoint point : kPoints) {
    spend(1);
    if (point != TablePoint::kBeforeUpdate) table_.erase(key_of(1));
    interrupt_at(point, [&] { table_.erase(key_of(1)); });
    spend(1);
    interrupt = nullptr;
    EXPECT_EQ(count(1), 1) << "interrupted at point " << static_cast<int>(point);
    table_.erase(key_of(1));
  }
}

// A charge to a key must never land on the key that took its slot.
TEST_F(TableRaceTest, AKeyEvictedInBetweenChargesNobodyElse) {
  constexpr std::uint64_t kOthers = 20'000;
  for (const TablePoint point : kPoints) {
    const std::uint64_t key = 1'000'000 + static_cast<std::uint64_t>(point);
    if (point == TablePoint::kBeforeUpdate) spend(key);
    std::int64_t survived = -1;
    interrupt_at(point, [&] {
      for (std::uint64_t other = 0; other < kOthers; ++other) spend(other);
      survived = count(key);
    });
    spend(key);
    ASSERT_NE(survived, -1);
    EXPECT_EQ(count(key), survived + 1);
    for (std::uint64_t other = 0; other < kOthers; ++other) ASSERT_LE(count(other), 1);
    for (std::uint64_t other = 0; other < kOthers; ++other) table_.erase(key_of(other));
  }
}

// Four requests for one new key; at each exchange of any of them, a bit of `schedule` says whether
// the next request runs right there. Tries all schedules of 12 bits.
TEST_F(TableRaceTest, EveryNestedScheduleCountsEveryRequestOnce) {
  constexpr unsigned kBits = 12;
  constexpr int kRequests = 4;
  for (std::uint64_t schedule = 0; schedule < (1u << kBits); ++schedule) {
    int started = 0;
    unsigned bit = 0;
    const auto next_request = [&] {
      ++started;
      spend(schedule);
    };
    interrupt = [&](TablePoint) {
      const bool runs = bit < kBits && ((schedule >> bit) & 1) != 0 && started < kRequests;
      ++bit;
      if (runs) next_request();
    };
    while (started < kRequests) next_request();
    interrupt = nullptr;
    ASSERT_EQ(count(schedule), kRequests) << "schedule " << schedule;
    ASSERT_EQ(table_.count_live(kNow), 1u) << "schedule " << schedule;
    table_.erase(key_of(schedule));
  }
}

// A neighbour that comes and goes makes two first requests of a key choose different slots. The
// request that finds the key already settled must not keep its slot.
TEST_F(TableRaceTest, AClaimThatIsNotNeededIsGivenUp) {
  for (const TablePoint point : {TablePoint::kBeforeChoice, TablePoint::kBeforeClaim}) {
    for (std::uint64_t neighbour = 0; neighbour < 64; ++neighbour) {
      const std::uint64_t key = 1000 + neighbour;
      KeyHash beside = key_of(key);
      beside.high ^= (neighbour + 1) << 50;  // another fingerprint, the same first set
      interrupt_at(point, [&] {
        table_.spend<FixedWindowState>({beside, &quota_, 1}, kNow, nullptr);
        spend(key);
        table_.erase(beside);
      });
      spend(key);
      EXPECT_EQ(count(key), 2);
      ASSERT_EQ(claims(), 0);
      table_.erase(key_of(key));
    }
  }
}

// As above, with each request in its own thread, in any order.
TEST_F(TableRaceTest, ThreadsMeetingAtNewKeysAdmitExactlyTheLimit) {
  constexpr int kThreads = 8;
  constexpr std::uint64_t kRounds = 500;
  constexpr std::int64_t kLimit = 5;
  const Quota five = quota_of({Algorithm::kFixedWindow, kLimit, 1min});
  std::atomic<int> admitted{0};
  std::barrier round_starts(kThreads);
  const auto run = [&] {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      round_starts.arrive_and_wait();
      const Charge charge{key_of(round), &five, 1};
      const auto decision = table_.spend<FixedWindowState>(charge, kNow, nullptr);
      if (decision.allowed()) admitted.fetch_add(1);
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(run);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(admitted.load(), static_cast<int>(kLimit * kRounds));
  EXPECT_EQ(table_.evictions(), 0u);
  EXPECT_EQ(table_.count_live(kNow), kRounds);
}

// New keys again and again, each asked about by all threads at once, in a table that is
// always full: the eviction path, where threads choose different slots most often.
TEST_F(TableRaceTest, AFullTableLosesNoSlotToThreadsThatMeet) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kKeys = 20'000;
  for (std::uint64_t key = 0; key < 5'000; ++key) spend(key);
  std::barrier next_key(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t key = 0; key < kKeys; ++key) {
        if (key % 16 == 0) next_key.arrive_and_wait();
        spend(1'000'000 + key);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(claims(), 0);
  EXPECT_GT(table_.evictions(), kKeys / 2);
}

}  // namespace
}  // namespace weir
