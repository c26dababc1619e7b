#include "nginx/zone/fleet_board.h"

#include <gtest/gtest.h>

#include "base/shared_pages_testing.h"

namespace weir::nginx {
namespace {

using Wish = FleetBoard::Wish;

constexpr FleetBoard::Worker kFirst{.fleet = 7, .process = 1};
constexpr FleetBoard::Worker kSecond{.fleet = 7, .process = 2};
constexpr FleetBoard::Worker kElsewhere{.fleet = 8, .process = 3};

class FleetBoardTest : public testing::Test {
 protected:
  FleetBoardTest() { board().format(); }

  FleetBoard& board() { return memory_.all<FleetBoard>().front(); }
  bool sits(const FleetBoard::Worker& worker, Wish wish = Wish::kSeat) {
    return board().look(worker, wish, now_).has_seat;
  }

  Instant now_ = Instant(std::chrono::hours(24 * 365 * 55));

 private:
  const SharedPages memory_{sizeof(FleetBoard)};
};

TEST_F(FleetBoardTest, OneWorkerAtATimeHasTheSeat) {
  EXPECT_TRUE(sits(kFirst));
  EXPECT_FALSE(sits(kSecond));
  now_ += FleetBoard::kSeatMax / 2;
  EXPECT_TRUE(sits(kFirst));
  now_ += FleetBoard::kSeatMax / 2;
  EXPECT_FALSE(sits(kSecond));
  board().leave(kFirst);
  EXPECT_FALSE(sits(kFirst, Wish::kNothing));
  EXPECT_TRUE(sits(kSecond));
}

TEST_F(FleetBoardTest, AWorkerThatIsKilledIsReplaced) {
  EXPECT_TRUE(sits(kFirst));
  now_ += FleetBoard::kSeatMax;
  EXPECT_TRUE(sits(kSecond));
  EXPECT_FALSE(sits(kFirst));  // it was stopped, and goes on
  board().leave(kFirst);
  board().note(kFirst, {.nodes = {.live = 9}});
  EXPECT_EQ(board().look(kSecond, Wish::kSeat, now_).known.nodes.live, 1);
  EXPECT_TRUE(sits(kSecond));
}

TEST_F(FleetBoardTest, WhatIsKnownOfTheFleetIsKnownToAllOfIt) {
  HashSecret secret;
  secret.bytes[5] = std::byte{5};
  EXPECT_TRUE(sits(kFirst));
  board().note(kFirst, {.nodes = {.live = 3}, .secret = secret, .blocks_read = "17-4"});
  board().note(kSecond, {.nodes = {.live = 9}, .secret = HashSecret{}});
  const auto news = board().look(kSecond, Wish::kNothing, now_).known;
  EXPECT_EQ(news.nodes.live, 3);
  EXPECT_EQ(news.blocks_read, "17-4");
  ASSERT_TRUE(news.secret);
  EXPECT_EQ(news.secret->bytes, secret.bytes);
}

// After a reload with another Redis, whose keys have other names.
TEST_F(FleetBoardTest, NothingIsKnownOfAnotherFleet) {
  EXPECT_TRUE(sits(kFirst));
  board().note(kFirst, {.nodes = {.live = 3}, .secret = HashSecret{}});
  EXPECT_FALSE(board().look(kElsewhere, Wish::kNothing, now_).known.secret);
  const auto news = board().look(kElsewhere, Wish::kSeat, now_);
  EXPECT_TRUE(news.has_seat);
  EXPECT_FALSE(news.known.secret);
  EXPECT_EQ(news.known.nodes.live, 1);
  EXPECT_FALSE(board().look(kSecond, Wish::kNothing, now_).known.secret);
}

}  // namespace
}  // namespace weir::nginx
