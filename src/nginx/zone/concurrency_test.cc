#include "nginx/zone/concurrency.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "base/shared_pages_testing.h"

namespace weir::nginx {
namespace {

using Kind = Concurrency::Entrance::Kind;

constexpr auto kLiving = Concurrency::Count::kLiving;

class ConcurrencyTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = Concurrency::kBytesMin;

  ConcurrencyTest() { Concurrency::format(memory_); }

  std::unique_ptr<Concurrency> worker() { return std::make_unique<Concurrency>(memory_); }

  const SharedPages pages_{kBytes};
  const std::span<std::byte> memory_ = pages_.bytes();
  const KeyHash ada_{.high = 1, .low = 2};
};

TEST_F(ConcurrencyTest, WorkersCountTogether) {
  const auto one = worker();
  const auto other = worker();
  EXPECT_EQ(one->enter(ada_, 3).under_way, 1);
  EXPECT_EQ(other->enter(ada_, 3).under_way, 2);
  EXPECT_EQ(one->enter(ada_, 3).under_way, 3);
  const auto beyond = other->enter(ada_, 3);
  EXPECT_EQ(beyond.kind, Kind::kOver);
  EXPECT_EQ(beyond.under_way, 3);
  one->leave(ada_);
  EXPECT_EQ(other->enter(ada_, 3).kind, Kind::kEntered);
  EXPECT_EQ(other->enter({.high = 1, .low = 3}, 3).under_way, 1) << "another key";
  EXPECT_EQ(one->enter(ada_, 0).kind, Kind::kOver);
}

TEST_F(ConcurrencyTest, ThePlaceOfAWorkerThatIsGoneIsAnothers) {
  const auto one = worker();
  EXPECT_EQ(one->place(), 0u);
  run_and_kill([&] {
    const auto killed = worker();
    if (killed->place() != 1u) std::_Exit(1);
  });
  EXPECT_EQ(worker()->place(), 1u);
  EXPECT_EQ(worker()->place(), 1u);
}

TEST_F(ConcurrencyTest, WhatFindsNoRoomHoldsNothing) {
  const auto one = worker();
  EXPECT_EQ(one->enter(ada_, 2, kLiving).under_way, 1);
  EXPECT_EQ(one->enter(ada_, 2, kLiving).under_way, 2);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(one->enter(ada_, 2, kLiving).kind, Kind::kOver);
  one->leave(ada_);
  EXPECT_EQ(one->enter(ada_, 2, kLiving).under_way, 2);
}

TEST_F(ConcurrencyTest, UnitsAreCountedTogether) {
  const auto one = worker();
  const auto other = worker();
  constexpr std::int64_t kMost = 1'000'000'000'000;
  const auto first = one->enter(ada_, kMost, kLiving, kMost - 5);
  EXPECT_TRUE(first.has_entered() && first.is_alone);
  const auto second = other->enter(ada_, kMost, kLiving, 4);
  EXPECT_EQ(second.under_way, kMost - 1);
  EXPECT_FALSE(second.is_alone);
  EXPECT_EQ(one->enter(ada_, kMost, kLiving, 2).kind, Kind::kOver);
  EXPECT_TRUE(one->enter(ada_, kMost, kLiving, 1).has_entered());
  one->leave(ada_, kMost - 5);
  EXPECT_EQ(other->enter(ada_, kMost, kLiving, 1).under_way, 6);
}

TEST_F(ConcurrencyTest, AWorkerThatEndsHoldsNothing) {
  const auto one = worker();
  auto other = worker();
  other->enter(ada_, 2);
  other->enter(ada_, 2);
  EXPECT_EQ(one->enter(ada_, 2).kind, Kind::kOver);
  other.reset();
  EXPECT_EQ(one->enter(ada_, 2).under_way, 1);
}

TEST_F(ConcurrencyTest, WhatAKilledWorkerHadUnderWayIsVoid) {
  const auto one = worker();
  one->enter(ada_, 3);
  run_and_kill([&] {
    const auto killed = worker();
    killed->enter(ada_, 3);
    killed->enter(ada_, 3);
    if (killed->enter(ada_, 3).kind != Kind::kOver) std::_Exit(1);
  });
  EXPECT_EQ(one->enter(ada_, 3).kind, Kind::kEntered) << "nobody has taken its place yet";
  EXPECT_EQ(one->enter(ada_, 3).under_way, 3);
  EXPECT_EQ(one->enter(ada_, 3).kind, Kind::kOver);
}

TEST_F(ConcurrencyTest, BelowTheLimitTheDeadAreNotCountedEither) {
  const auto one = worker();
  EXPECT_EQ(one->enter(ada_, 9, kLiving).under_way, 1);
  run_and_kill([&] {
    const auto killed = worker();
    if (killed->enter(ada_, 9, kLiving).under_way != 2) std::_Exit(1);
  });
  EXPECT_EQ(one->enter(ada_, 9, kLiving).under_way, 2);
}

TEST_F(ConcurrencyTest, AWorkerInThePlaceOfAKilledOneInheritsNothing) {
  run_and_kill([&] { worker()->enter(ada_, 9); });
  // Not destroyed: a killed worker destroys nothing.
  run_and_kill([&] { (new Concurrency(memory_))->enter(ada_, 9); });
  const auto successor = worker();
  EXPECT_EQ(successor->enter(ada_, 9).under_way, 1);
  successor->leave(ada_);
  EXPECT_EQ(successor->enter(ada_, 9).under_way, 1);
}

TEST_F(ConcurrencyTest, AFullSetHasNoPlaceUntilSomebodyLeavesOrIsKilled) {
  const auto one = worker();
  std::uint64_t keys = 0;
  const auto fill = [&](Concurrency& worker) {
    for (int i = 0; i < 1000; ++i) {
      const KeyHash key{.high = 0, .low = 1000 + keys};
      if (worker.enter(key, 1).kind == Kind::kNoPlace) return;
      ++keys;
    }
    FAIL() << "it has no bound";
  };
  run_and_kill([&] { fill(*new Concurrency(memory_)); });
  EXPECT_EQ(one->enter({.high = 0, .low = 1}, 1).kind, Kind::kEntered);
  fill(*one);
  EXPECT_EQ(one->enter({.high = 0, .low = 2}, 1).kind, Kind::kNoPlace);
  one->leave({.high = 0, .low = 1});
  EXPECT_EQ(one->enter({.high = 0, .low = 2}, 1).kind, Kind::kEntered);
}

TEST_F(ConcurrencyTest, AWorkerWithoutAPlaceSaysSo) {
  std::vector<std::unique_ptr<Concurrency>> workers;
  for (std::size_t i = 0; i < Concurrency::kOwnersMax; ++i) workers.push_back(worker());
  const auto further = worker();
  EXPECT_EQ(further->enter(ada_, 9).kind, Kind::kNoPlace);
  EXPECT_EQ(workers.back()->enter(ada_, 1).kind, Kind::kEntered);
  EXPECT_EQ(further->enter(ada_, 1).kind, Kind::kOver) << "it sees what others hold";
}

// Killed at any moment, a worker leaves neither a count nor a lock behind.
TEST_F(ConcurrencyTest, WorkersThatAreKilledInTheMiddleOfChangesLeaveNothingBehind) {
  const auto one = worker();
  for (int round = 0; round < 20; ++round) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto* const busy = new Concurrency(memory_);
      const char word = 1;
      if (::write(ready[1], &word, 1) != 1) std::_Exit(1);
      for (;;) {
        if (busy->enter(ada_, 8).kind == Kind::kEntered) busy->leave(ada_);
      }
    }
    char word = 0;
    ASSERT_EQ(::read(ready[0], &word, 1), 1);
    for (int i = 0; i < 2'000; ++i) {
      ASSERT_EQ(one->enter(ada_, 8).kind, Kind::kEntered);
      one->leave(ada_);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    for (int held = 1; held <= 8; ++held) ASSERT_EQ(one->enter(ada_, 8).kind, Kind::kEntered);
    ASSERT_EQ(one->enter(ada_, 8).kind, Kind::kOver);
    for (int held = 1; held <= 8; ++held) one->leave(ada_);
  }
}

}  // namespace
}  // namespace weir::nginx
