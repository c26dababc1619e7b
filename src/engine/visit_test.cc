#include "engine/visit.h"

#include <gtest/gtest.h>

#include <utility>

#include "engine/testing/late_store.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Progress = Visit::Progress;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

struct CountingWaker final : Waker {
  void wake() noexcept override { ++wakes; }
  int wakes = 0;
};

class VisitTest : public ::testing::Test {
 protected:
  Progress ask(std::uint64_t key, std::int64_t cost = 1) {
    Check& check = engine_.visit().next(Operation::kSpendEach);
    check.add({key, key}, quota_, cost);
    return engine_.visit().ask(store_, answered_, kNow);
  }

  const Quota quota_ = *Quota::make({.limit = 3, .window = 1min});
  std::unique_ptr<MemoryStore> memory_ = make_memory_store({.max_keys = 1024}, kNow);
  LateStore store_{*memory_};
  KeyHasher hasher_{HashSecret{}};
  Traffic traffic_;
  Engine engine_{*memory_, hasher_, traffic_.add_core()};
  CountingWaker waker_;
  const Check* answered_ = nullptr;
};

TEST_F(VisitTest, AnAnswerThatIsThereAtOnceNeedsNoWaiting) {
  store_.answer_at_once();
  EXPECT_EQ(ask(1), Progress::kAnswered);
  EXPECT_FALSE(engine_.waits());
  EXPECT_EQ(answered_->decisions()[0].remaining, 2);
}

TEST_F(VisitTest, AskedAgainItFindsTheAnswerAndChargesOnce) {
  EXPECT_EQ(ask(1), Progress::kWaits);
  ASSERT_TRUE(engine_.waits());
  auto visit = engine_.pause(waker_);
  store_.answer_all();
  EXPECT_EQ(waker_.wakes, 1);

  engine_.resume(std::move(visit));
  EXPECT_EQ(ask(1), Progress::kAnswered);
  EXPECT_EQ(answered_->decisions()[0].remaining, 2);
  EXPECT_EQ(store_.asked(), 1);
}

TEST_F(VisitTest, WakesOnceWhenTheLastAnswerIsThere) {
  ask(1);
  ask(2);
  const auto visit = engine_.pause(waker_);
  store_.answer_one();
  EXPECT_EQ(waker_.wakes, 0);
  store_.answer_one();
  EXPECT_EQ(waker_.wakes, 1);
}

TEST_F(VisitTest, GoesOnToItsNextQuestion) {
  ask(1);
  auto visit = engine_.pause(waker_);
  store_.answer_all();
  engine_.resume(std::move(visit));
  EXPECT_EQ(ask(1), Progress::kAnswered);
  EXPECT_EQ(ask(2), Progress::kWaits);
  EXPECT_EQ(store_.asked(), 2);
}

TEST_F(VisitTest, WhatIsAskedDifferentlyIsAskedAnew) {
  ask(1);
  auto visit = engine_.pause(waker_);
  store_.answer_all();
  engine_.resume(std::move(visit));
  EXPECT_EQ(ask(1, 2), Progress::kWaits);  // another cost
  EXPECT_EQ(store_.asked(), 2);
}

TEST_F(VisitTest, AnOutageIsAnAnswer) {
  ask(1);
  auto visit = engine_.pause(waker_);
  store_.fail_all();
  engine_.resume(std::move(visit));
  EXPECT_EQ(ask(1), Progress::kUnavailable);
}

TEST_F(VisitTest, NobodyIsWokenWhoHasLeft) {
  ask(1);
  engine_.pause(waker_).reset();
  store_.answer_all();
  EXPECT_EQ(waker_.wakes, 0);
}

TEST_F(VisitTest, ADoorThatCouldNotWaitDoesNotHoldUpTheNext) {
  ask(1);
  engine_.resume(nullptr);
  EXPECT_FALSE(engine_.waits());
  store_.answer_all();
  EXPECT_EQ(waker_.wakes, 0);
}

TEST_F(VisitTest, WhatIsSettledIsForgotten) {
  store_.answer_at_once();
  ask(1);
  engine_.settle();
  ask(1);
  EXPECT_EQ(store_.asked(), 2);
  EXPECT_EQ(answered_->decisions()[0].remaining, 1);
}

TEST_F(VisitTest, ConcludesOnceHoweverOftenItIsHandled) {
  ask(1);
  EXPECT_TRUE(engine_.visit().concludes_first());
  ask(2);
  auto visit = engine_.pause(waker_);
  store_.answer_all();
  engine_.resume(std::move(visit));
  EXPECT_FALSE(engine_.visit().concludes_first());
  EXPECT_TRUE(engine_.visit().concludes_first());
}

}  // namespace
}  // namespace weir
