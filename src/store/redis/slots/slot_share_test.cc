#include "store/redis/slots/slot_share.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);
constexpr Instant kSince = instant_from_epoch_us(42);
constexpr std::int64_t kLimit = 40;

class SlotShareTest : public ::testing::Test {
 protected:
  // An errand that leaves at `at` and is answered at once.
  LendTerms ask(std::int64_t held, std::int64_t waiting, Instant at) {
    share_.ask();
    return share_.wish(kLimit, held, waiting, at);
  }
  bool get(std::int64_t count, Instant at, Lent more = {}) {
    more.count = count;
    if (more.fair == 0) more.fair = kLimit;
    if (more.since == Instant{}) more.since = kSince;
    more.length = SlotShare::kLength;
    return share_.receive(more, at, at + 1ms);
  }
  void lend(std::int64_t count, Instant at = kNow) {
    ask(0, count, at);
    get(count, at);
    share_.note_taken(count);
  }
  void let_turns_pass(std::int64_t held) {
    share_.turn(held);
    share_.turn(held);
  }

  SlotShare share_;
};

TEST_F(SlotShareTest, AsksForAFewMoreThanAreNeeded) {
  const auto first = ask(0, 1, kNow);
  EXPECT_EQ(first.kept, 0);
  EXPECT_EQ(first.needed, 1);
  EXPECT_EQ(first.wanted, 2);
  EXPECT_FALSE(share_.has_room(0, kNow));
  EXPECT_FALSE(get(2, kNow));  // nothing was held, so nothing is lost
  EXPECT_TRUE(share_.has_room(1, kNow + 1ms));
  EXPECT_FALSE(share_.has_room(2, kNow + 1ms));
  share_.note_taken(2);
  const auto next = ask(2, 30, kNow + 2ms);
  EXPECT_EQ(next.kept, 2);
  EXPECT_EQ(next.needed, 32);
  EXPECT_EQ(next.wanted, kLimit);
  EXPECT_TRUE(get(kLimit, kNow + 2ms));
}

TEST_F(SlotShareTest, GivesOutNothingOnceTheLeaseIsOver) {
  ask(0, 2, kNow);
  share_.receive({.count = 2, .fair = kLimit, .since = kSince, .length = 3s}, kNow, kNow + 900ms);
  EXPECT_LT(share_.end(), kNow + 3s);  // from when the request left, and a little before Redis
  EXPECT_TRUE(share_.has_room(1, share_.end() - 1us));
  EXPECT_FALSE(share_.has_room(1, share_.end()));
  EXPECT_EQ(ask(0, 1, share_.end()).kept, 0);
}

TEST_F(SlotShareTest, RenewsEachThirdOfALease) {
  lend(8);
  EXPECT_FALSE(share_.wants_errand(8, kNow + 999ms));
  EXPECT_TRUE(share_.wants_errand(8, kNow + 1s));
  const auto wish = ask(8, 0, kNow + 1s);
  EXPECT_EQ(wish.kept, 8);
  EXPECT_EQ(wish.wanted, 8);
  EXPECT_FALSE(share_.wants_errand(8, kNow + 1s));  // one at a time
  share_.lost();
  EXPECT_TRUE(share_.wants_errand(8, kNow + 1s));
  EXPECT_TRUE(share_.has_room(7, kNow + 1s));
}

TEST_F(SlotShareTest, GivesBackWhatWasIdleForTwoTurns) {
  lend(8);
  share_.turn(0);
  EXPECT_FALSE(share_.wants_errand(0, kNow + 50ms));
  share_.turn(0);
  EXPECT_TRUE(share_.wants_errand(0, kNow + 100ms));
  const auto wish = ask(0, 0, kNow + 100ms);
  EXPECT_EQ(wish.kept, 0);
  EXPECT_EQ(wish.needed, 0);
  EXPECT_FALSE(share_.has_room(0, kNow + 100ms));  // it has gone back already
  EXPECT_FALSE(share_.is_over(0, kNow + 100ms));
  get(0, kNow + 100ms);
  EXPECT_TRUE(share_.is_over(0, kNow + 101ms));
}

TEST_F(SlotShareTest, KeepsWhatStreamsUseThatComeAndGo) {
  lend(20);
  let_turns_pass(20);
  for (const std::int64_t held : {20, 3, 20, 19, 4, 20}) {
    share_.note_taken(20);
    share_.turn(held);
    EXPECT_FALSE(share_.wants_errand(held, kNow + 500ms)) << held;
  }
  let_turns_pass(19);
  EXPECT_FALSE(share_.wants_errand(19, kNow + 500ms));  // one of twenty is worth no call
  let_turns_pass(17);
  EXPECT_TRUE(share_.wants_errand(17, kNow + 500ms));
}

TEST_F(SlotShareTest, AsksAgainSoonAfterRedisHadTooFew) {
  ask(0, 9, kNow);
  get(4, kNow);
  EXPECT_FALSE(share_.may_ask(kNow + SlotShare::kPause));
  EXPECT_EQ(share_.retry_after(kNow + 11ms), SlotShare::kPause - 10ms);
  EXPECT_EQ(share_.retry_after(kNow + 51ms), SlotShare::kTurn);
  EXPECT_TRUE(share_.may_ask(kNow + SlotShare::kPause + 1ms));
  for (int i = 0; i < 3; ++i) share_.note_denied();
  EXPECT_EQ(ask(4, 1, kNow + 200ms).needed, 8);
  get(4, kNow + 200ms, {.wait = 2s});
  EXPECT_FALSE(share_.may_ask(kNow + 2s));
}

// Else each denial would cost a call.
TEST_F(SlotShareTest, AsksSeldomWhileItHasAll) {
  ask(kLimit - 1, 1, kNow);
  get(kLimit, kNow);
  EXPECT_TRUE(share_.may_ask(kNow + 1ms)) << "nobody has been denied";
  EXPECT_EQ(ask(kLimit, 1, kNow + 2ms).needed, kLimit);
  get(kLimit, kNow + 2ms);
  EXPECT_FALSE(share_.may_ask(kNow + 2ms + SlotShare::kPauseAtPart));
  EXPECT_TRUE(share_.may_ask(kNow + 3ms + SlotShare::kPauseAtPart));
  let_turns_pass(kLimit);
  EXPECT_FALSE(share_.wants_errand(kLimit, kNow + 500ms)) << "Redis has heard of all that it needs";
}

// It has more than the others' wishes leave it. So freed slots go back.
TEST_F(SlotShareTest, KeepsItsFairPartWhileOthersWantMore) {
  lend(30);
  ask(30, 5, kNow + 10ms);
  get(30, kNow + 10ms, {.fair = 20});
  EXPECT_FALSE(share_.has_room(29, kNow + 20ms));
  EXPECT_TRUE(share_.wants_errand(26, kNow + 20ms));
  const auto wish = ask(26, 0, kNow + 20ms);
  EXPECT_EQ(wish.kept, 26);
  EXPECT_GE(wish.needed, 30);
  get(26, kNow + 20ms, {.fair = 20});
  EXPECT_FALSE(share_.may_ask(kNow + 20ms + SlotShare::kPauseAtPart));
  EXPECT_TRUE(share_.may_ask(kNow + 21ms + SlotShare::kPauseAtPart));
  EXPECT_FALSE(share_.has_room(20, kNow + 30ms));
  EXPECT_TRUE(share_.has_room(19, kNow + 30ms));
}

TEST_F(SlotShareTest, TellsRedisThatItNeedsNoMore) {
  lend(4);
  for (int i = 0; i < 30; ++i) share_.note_denied();
  ask(4, 0, kNow + 10ms);
  get(4, kNow + 10ms);
  share_.turn(4);
  EXPECT_FALSE(share_.wants_errand(4, kNow + 60ms));
  share_.turn(4);
  EXPECT_TRUE(share_.wants_errand(4, kNow + 110ms));
  EXPECT_EQ(ask(4, 0, kNow + 110ms).needed, 4);
}

TEST_F(SlotShareTest, KnowsWhenRedisHasGivenItsSlotsToOthers) {
  lend(8);
  ask(8, 0, kNow + 1s);
  EXPECT_FALSE(get(2, kNow + 1s, {.since = kSince + 1us}));
  EXPECT_EQ(share_.count(), 2);
  EXPECT_EQ(share_.since(), kSince + 1us);
}

TEST_F(SlotShareTest, ALowerLimitTakesNothingThatIsHeld) {
  lend(30);
  share_.ask();
  const auto wish = share_.wish(10, 30, 0, kNow + 1s);
  EXPECT_EQ(wish.kept, 30);
  EXPECT_EQ(wish.needed, 10);
  EXPECT_EQ(wish.wanted, 30);
}

TEST_F(SlotShareTest, IsOverWhenRedisBelievesNothingMore) {
  EXPECT_TRUE(share_.is_over(0, kNow));
  ask(0, 1, kNow);
  EXPECT_FALSE(share_.is_over(0, kNow));
  share_.lost();
  let_turns_pass(0);
  EXPECT_FALSE(share_.is_over(0, kNow + 1s));
  EXPECT_TRUE(share_.wants_errand(0, kNow + 1s));
  EXPECT_TRUE(share_.is_over(0, kNow + SlotShare::kLength));
}

}  // namespace
}  // namespace weir
