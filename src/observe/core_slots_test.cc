#include "observe/core_slots.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include "base/shared_pages_testing.h"
#include "observe/traffic.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum RuleOutcome;

constexpr Instant kStart = instant_from_epoch_us(1'000'000'000'000'000);
constexpr Decision kAllow{.verdict = Verdict::kAllowed};
constexpr Decision kDeny{.verdict = Verdict::kDenied};

struct Count {
  std::atomic<std::uint64_t> value;
};

std::uint64_t sum(const CoreSlots<Count>& slots) {
  std::uint64_t sum = 0;
  slots.each([&](const Count& count) { sum += count.value; });
  return sum;
}

TEST(CoreSlots, OfItsOwnBeginAsZerosAndStayWhereTheyAre) {
  CoreSlots<Count> slots;
  Count& first = slots.add();
  first.value = 1;
  for (int i = 0; i < 100; ++i) slots.add().value += 2;
  EXPECT_EQ(sum(slots), 201u);
  EXPECT_EQ(first.value, 1u);
  EXPECT_FALSE(slots.is_given());
}

TEST(CoreSlots, OfItsOwnAreAligned) {
  CoreSlots<CoreTraffic> slots;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&slots.add()) % alignof(CoreTraffic), 0u);
  }
}

TEST(CoreSlots, ThatWereGivenAreHandedOutInTurnAndAllAddedUp) {
  Count all[4] = {};
  CoreSlots<Count> one(all, 0);
  CoreSlots<Count> other(all, 2);
  EXPECT_EQ(&one.add(), &all[0]);
  EXPECT_EQ(&one.add(), &all[1]);
  EXPECT_EQ(&other.add(), &all[2]);
  EXPECT_EQ(&other.add(), &all[3]);
  for (Count& count : all) count.value = 3;
  EXPECT_EQ(sum(one), 12u);
  EXPECT_EQ(sum(other), 12u);
}

TEST(CoreSlots, MoreThanWereGivenAreABug) {
  Count all[1] = {};
  CoreSlots<Count> slots(all, 1);
  EXPECT_DEATH(slots.add(), "next_own_");
}

// Two workers count, each in its process, and the first sums up both.
TEST(CoreSlots, AreAddedUpOverProcesses) {
  const SharedPages cores(2 * sizeof(CoreTraffic));
  Traffic traffic(cores.all<CoreTraffic>(), 0);
  const RuleNumber login = traffic.rules().number_of("login");
  CoreTraffic& ours = traffic.add_core();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Traffic theirs(cores.all<CoreTraffic>(), 1);
    CoreTraffic& core = theirs.add_core();
    const RuleNumber number = theirs.rules().number_of("login");
    core.record(kDeny, Algorithm::kTokenBucket, kStart);
    core.record_rule(number, kDenied, 1, kStart);
    core.record_rule(number, kDenied, 2, kStart);
    core.record_latency(10us);
    _exit(0);
  }
  ours.record(kAllow, Algorithm::kTokenBucket, kStart);
  ours.record_rule(login, kAllowed, 2, kStart);
  ours.record_latency(10us);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const TrafficSummary summary = traffic.summary(kStart + 1s);
  EXPECT_EQ(summary.total_allowed(), 1u);
  EXPECT_EQ(summary.total_denied(), 1u);
  EXPECT_DOUBLE_EQ(summary.requests_per_second, 0.2);
  EXPECT_EQ(traffic.rules().figures(login), (RuleFigures{1, 2, 0, 0}));
  EXPECT_EQ(traffic.rules().latency(login).total(), 3u);
  EXPECT_EQ(traffic.rules().keys(login, kStart), 2u);
}

TEST(CoreSlots, AreAddedWhileTheyAreAddedUp) {
  CoreSlots<Count> slots;
  std::thread adding([&] {
    for (int i = 0; i < 1'000; ++i) slots.add().value.store(1, std::memory_order_relaxed);
  });
  std::uint64_t seen = 0;
  while (seen < 1'000) {
    const std::uint64_t now = sum(slots);
    ASSERT_GE(now, seen);
    seen = now;
  }
  adding.join();
}

}  // namespace
}  // namespace weir
