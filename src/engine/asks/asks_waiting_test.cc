#include "algo/waiting_room.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "engine/testing/asks_fixture.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Quota bucket(std::int64_t limit, Duration window, std::int64_t burst) {
  return *Quota::make(
      {.algorithm = Algorithm::kTokenBucket, .limit = limit, .window = window, .burst = burst});
}

TEST(WaitingRoom, IsWhatIsRefilledWithinTheLongestWait) {
  EXPECT_EQ(room_in(bucket(10, 1s, 1), 500ms), 5);
  EXPECT_EQ(room_in(bucket(3, 1s, 1), 500ms), 1);
  EXPECT_EQ(room_in(bucket(kLimitMax, 1s, 1), 1s), kLimitMax);
  EXPECT_EQ(with_room(bucket(10, 1s, 4), 500ms)->capacity(), 9);
  EXPECT_EQ(with_room(bucket(0, 1s, 0), 500ms)->capacity(), 0);
  EXPECT_FALSE(with_room(bucket(kLimitMax, 1s, kLimitMax), 1s));
}

class Waiting : public AsksFixture {
 protected:
  // How long each of `requests` requests waits, in milliseconds; -1: denied.
  std::vector<std::int64_t> waits(int requests, Duration patience, std::int64_t cost = 1) {
    std::vector<std::int64_t> all;
    for (int i = 0; i < requests; ++i) {
      decide(Operation::kSpendAll,
             {{.rule = &rule_, .key = "a", .cost = cost, .patience = patience}});
      const Answer& answer = asks_.answer(0);
      all.push_back(answer.allowed() ? answer.wait / 1ms : -1);
    }
    return all;
  }

  const Rule rule_{.id = "r", .quota = bucket(10, 1s, 2)};
};

using Waits = std::vector<std::int64_t>;

TEST_F(Waiting, RequestsBeyondTheBurstTakeTurns) {
  EXPECT_EQ(waits(6, 300ms), (Waits{0, 0, 100, 200, 300, -1}));
  EXPECT_EQ(asks_.answer(0).decision.limit, 2);
  EXPECT_EQ(asks_.answer(0).decision.remaining, 0);
  EXPECT_EQ(asks_.answer(0).decision.retry_after, 100ms) << "then it may wait";
  now_ += 50ms;
  EXPECT_EQ(waits(1, 300ms), (Waits{-1}));
  now_ += 50ms;
  EXPECT_EQ(waits(2, 300ms), (Waits{300, -1}));
  now_ += 500ms;
  EXPECT_EQ(waits(2, 300ms), (Waits{0, 0}));
}

TEST_F(Waiting, InAnySpanNoMoreGoOnThanTheBucketAdmits) {
  std::vector<Instant> turns;
  for (int i = 0; i < 500; ++i) {
    now_ += Duration{(i * 7919) % 90'000};
    decide(Operation::kSpendAll, {{.rule = &rule_, .key = "a", .patience = 1s}});
    if (asks_.answer(0).allowed()) turns.push_back(now_ + asks_.answer(0).wait);
  }
  ASSERT_GT(turns.size(), 100u);
  for (std::size_t from = 0; from < turns.size(); ++from) {
    for (std::size_t to = from; to < turns.size(); ++to) {
      ASSERT_LE(turns[from], turns[to]) << "who comes first goes first";
      // Each is rounded, by a microsecond.
      const auto admitted = 2 + (turns[to] - turns[from] + Duration{2}) / 100ms;
      ASSERT_LE(static_cast<std::int64_t>(to - from + 1), admitted);
    }
  }
}

TEST_F(Waiting, WhoMayNotWaitIsDeniedBehindThoseWhoDo) {
  EXPECT_EQ(waits(5, 1s), (Waits{0, 0, 100, 200, 300}));
  EXPECT_EQ(waits(1, 0ms), (Waits{-1}));
  EXPECT_EQ(asks_.answer(0).decision.retry_after, 400ms);
  EXPECT_EQ(waits(1, 1s), (Waits{400})) << "the denied one has taken no turn";
}

// Even a wait of a few microseconds takes one of the waiting places.
TEST_F(Waiting, WhoEmptiesTheBucketDoesNotWait) {
  for (const std::int64_t limit : {3, 7, 11, 13, 999'983}) {
    for (const std::int64_t burst : {1, 2, 5}) {
      const Rule rule{.id = "odd " + std::to_string(limit) + " " + std::to_string(burst),
                      .quota = bucket(limit, 1s, burst)};
      for (std::int64_t i = 0; i <= burst; ++i) {
        decide(Operation::kSpendAll, {{.rule = &rule, .key = "a", .patience = 1s}});
        ASSERT_TRUE(asks_.answer(0).allowed());
        EXPECT_EQ(asks_.answer(0).wait > 0us, i == burst) << rule.id << ", request " << i;
      }
    }
  }
}

TEST_F(Waiting, ADearRequestWaitsLonger) {
  EXPECT_EQ(waits(3, 1s, 4), (Waits{200, 600, 1000}));
  EXPECT_EQ(waits(1, 1s, 1), (Waits{-1}));
}

}  // namespace
}  // namespace weir
