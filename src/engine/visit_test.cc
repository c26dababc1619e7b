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
  // What is still open is answered to nobody.
  void TearDown() override {
    engine_.resume(nullptr);
    store_.answer_all();
  }

  Progress ask(std::uint64_t key, std::int64_t cost = 1) {
    Check& check = engine_.visit().next(Operation::kSpendEach);
    check.add({key, key}, quota_, cost);
    return engine_.visit().ask(store_, answered_, kNow);
  }
  // The request waits until all that it has asked is answered, and is handled again.
  void come_back_answered() {
    auto visit = engine_.pause(waker_);
    store_.answer_all();
    engine_.resume(std::move(visit));
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
  come_back_answered();
  EXPECT_EQ(ask(1), Progress::kAnswered);
  EXPECT_EQ(ask(2), Progress::kWaits);
  EXPECT_EQ(store_.asked(), 2);
}

TEST_F(VisitTest, WhatIsAskedDifferentlyIsAskedAnew) {
  ask(1);
  come_back_answered();
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
  EXPECT_TRUE(engine_.settle());
  ask(1);
  EXPECT_EQ(store_.asked(), 2);
  EXPECT_EQ(answered_->decisions()[0].remaining, 1);
}

TEST_F(VisitTest, WhatWaitsIsNotForgotten) {
  ask(1);
  EXPECT_FALSE(engine_.settle());
  come_back_answered();
  EXPECT_EQ(ask(1), Progress::kAnswered);
  EXPECT_EQ(store_.asked(), 1);
}

TEST_F(VisitTest, ConcludesOnceHoweverOftenItIsHandled) {
  ask(1);
  EXPECT_TRUE(engine_.visit().concludes_first());
  ask(2);
  come_back_answered();
  EXPECT_FALSE(engine_.visit().concludes_first());
  EXPECT_TRUE(engine_.visit().concludes_first());
}

TEST_F(VisitTest, WhatIsAskedBetweenLosesNoAnswer) {
  ask(1);
  ask(2);
  come_back_answered();
  EXPECT_EQ(ask(1), Progress::kAnswered);
  EXPECT_EQ(ask(3), Progress::kWaits);  // instead of the first, as it were
  EXPECT_EQ(ask(2), Progress::kAnswered);
  EXPECT_EQ(store_.asked(), 3);
  come_back_answered();
  for (const std::uint64_t key : {1, 3, 2}) EXPECT_EQ(ask(key), Progress::kAnswered);
  EXPECT_EQ(store_.asked(), 3);
}

TEST_F(VisitTest, TheSameAskedTwiceIsTwoQuestions) {
  ask(1);
  ask(1);
  come_back_answered();
  EXPECT_EQ(ask(1), Progress::kAnswered);
  EXPECT_EQ(answered_->decisions()[0].remaining, 2);
  EXPECT_EQ(ask(1), Progress::kAnswered);
  EXPECT_EQ(answered_->decisions()[0].remaining, 1);
}

TEST_F(VisitTest, GivesBackThePartsOfARequestThatWentAway) {
  const auto ask_part = [this](std::uint64_t key) {
    Check& check = engine_.visit().next(Operation::kSpendAll);
    check.add({key, key}, quota_, 2);
    return engine_.visit().ask(store_, answered_, kNow, Visit::Share::kPart);
  };
  ask_part(1);
  ask_part(2);
  auto visit = engine_.pause(waker_);
  store_.answer_one();
  visit.reset();  // its connection has gone
  store_.answer_all();
  store_.answer_at_once();
  engine_.give_back(kNow);
  for (const std::uint64_t key : {1, 2}) {
    EXPECT_EQ(ask(key, 0), Progress::kAnswered);
    EXPECT_EQ(answered_->decisions()[0].remaining, 3);
  }
}

TEST_F(VisitTest, KeepsThePartsOfWhatIsDecided) {
  store_.answer_at_once();
  Check& check = engine_.visit().next(Operation::kSpendAll);
  check.add({1, 1}, quota_, 2);
  EXPECT_EQ(engine_.visit().ask(store_, answered_, kNow, Visit::Share::kPart), Progress::kAnswered);
  EXPECT_TRUE(engine_.visit().concludes_first());
  engine_.settle();
  engine_.give_back(kNow);
  EXPECT_EQ(ask(1, 0), Progress::kAnswered);
  EXPECT_EQ(answered_->decisions()[0].remaining, 1);
}

}  // namespace
}  // namespace weir
