#include "engine/asks/limit_notices.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "engine/testing/asks_fixture.h"
#include "engine/testing/late_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Quota quota(std::int64_t limit, Duration window, Algorithm algorithm = Algorithm::kFixedWindow) {
  return *Quota::make({.algorithm = algorithm, .limit = limit, .window = window});
}

class LimitNoticesTest : public AsksFixture {
 protected:
  LimitNoticesTest() { engine_.notices = &notices_; }

  // "a 80% 8/10", and the notices that were left out.
  std::string told() {
    const auto told = notices_.take(now_);
    std::string text;
    for (const LimitNotice& notice : told.notices) text += text_of(notice);
    return told.left_out == 0 ? text : text + "and " + std::to_string(told.left_out);
  }
  static std::string text_of(const LimitNotice& notice) {
    return notice.key + " " + std::to_string(notice.percent) + "% " + std::to_string(notice.used) +
           "/" + std::to_string(notice.limit) + " ";
  }

  LimitNotices notices_{KeyTexts::kShown, kStart};
  Rule rule_{.id = "r", .quota = quota(10, 1min), .notify_at = {80, 100}};
};

TEST_F(LimitNoticesTest, OnceAKeyPartAndWindow) {
  hit(rule_, "a", 7);
  EXPECT_EQ(told(), "");
  hit(rule_, "a");
  EXPECT_EQ(told(), "a 80% 8/10 ");
  hit(rule_, "a");
  EXPECT_EQ(told(), "");
  hit(rule_, "b", 10);
  hit(rule_, "a");
  EXPECT_EQ(told(), "b 80% 10/10 b 100% 10/10 a 100% 10/10 ");
  EXPECT_EQ(hit(rule_, "a"), "-0 ");
  EXPECT_EQ(told(), "");
  now_ += 1min;
  hit(rule_, "a", 9);
  EXPECT_EQ(told(), "a 80% 9/10 ") << "the next window has begun";
}

// A word counts time in milliseconds.
TEST_F(LimitNoticesTest, NotAgainInTheLastMomentOfAWindow) {
  hit(rule_, "a", 8);
  EXPECT_EQ(told(), "a 80% 8/10 ");
  now_ += 1min - 1us;
  hit(rule_, "a");
  EXPECT_EQ(told(), "");
}

TEST_F(LimitNoticesTest, AWindowThatSlidesLastsFromTheNoticeOn) {
  rule_.quota = quota(10, 1min, Algorithm::kSlidingLog);
  now_ += 59s;
  hit(rule_, "a", 8);
  EXPECT_EQ(told(), "a 80% 8/10 ");
  now_ += 59s;
  hit(rule_);
  EXPECT_EQ(told(), "");
  now_ += 1s;
  hit(rule_, "a", 8);
  EXPECT_EQ(told(), "a 80% 9/10 ");
}

// A cost may be too large for what is left. For a cost that never fits, waiting would not help.
TEST_F(LimitNoticesTest, WhoHasToWaitHasUsedAll) {
  hit(rule_, "a", 7);
  EXPECT_EQ(hit(rule_, "a", 11), "-3 ");
  EXPECT_EQ(told(), "");
  EXPECT_EQ(hit(rule_, "a", 4), "-3 ");
  EXPECT_EQ(told(), "a 80% 7/10 a 100% 7/10 ");
}

TEST_F(LimitNoticesTest, EachOfSeveralLimitsIsToldOf) {
  rule_.limits = {quota(10, 1min), quota(20, 1h)};
  hit(rule_, "a", 10);
  EXPECT_EQ(told(), "a 80% 10/10 a 100% 10/10 ");
  now_ += 1min;
  hit(rule_, "a", 6);
  EXPECT_EQ(told(), "a 80% 16/20 ");
}

TEST_F(LimitNoticesTest, ARuleInShadowIsToldOf) {
  rule_.shadow = true;
  hit(rule_, "a", 8);
  EXPECT_EQ(told(), "a 80% 8/10 ");
}

TEST_F(LimitNoticesTest, WhatIsNotCountedIsNoNotice) {
  hit(Rule{.id = "quiet", .quota = quota(1, 1min)});
  decide(Operation::kLook, {{.rule = &rule_, .key = "a", .cost = 10}});
  rule_.deny.keys = {"b"};
  hit(rule_, "b");
  blocks_.add({.rule = "r", .key = "c", .since = now_, .until = now_ + 1h}, now_);
  hit(rule_, "c");
  EXPECT_EQ(told(), "");
}

TEST_F(LimitNoticesTest, OfALimitOfNothingTheFirstRequestTells) {
  rule_.quota = quota(0, 1min);
  hit(rule_, "d");
  hit(rule_, "d");
  EXPECT_EQ(told(), "d 80% 0/0 d 100% 0/0 ");
}

TEST_F(LimitNoticesTest, AKeyThatNobodyMaySeeHasItsHash) {
  LimitNotices hidden(KeyTexts::kHidden, kStart);
  engine_.notices = &hidden;
  hit(rule_, "a", 8);
  const auto told = hidden.take(now_);
  ASSERT_EQ(told.notices.size(), 1u);
  EXPECT_EQ(text_of(told.notices[0]), " 80% 8/10 ");
  EXPECT_NE(told.notices[0].key_hash, 0u);
}

TEST_F(LimitNoticesTest, OfAFloodSomeAreToldAndTheRestIsCounted) {
  const auto flood = [this](const std::string& name, std::size_t keys) {
    for (std::size_t i = 0; i < keys; ++i) hit(rule_, name + std::to_string(i), 8);
  };
  flood("a", LimitNotices::kNoticesMax + 7);
  const auto first = notices_.take(now_);
  EXPECT_EQ(first.notices.size(), LimitNotices::kNoticesMax);
  EXPECT_EQ(first.left_out, 0u) << "more may come in this span";
  now_ += LimitNotices::kSpan;
  EXPECT_EQ(told(), "and 7");
  EXPECT_EQ(told(), "");
  flood("b", 2 * LimitNotices::kWords);
  now_ += LimitNotices::kSpan;
  const auto last = notices_.take(now_);
  EXPECT_EQ(last.notices.size(), LimitNotices::kNoticesMax);
  EXPECT_EQ(last.left_out, 2 * LimitNotices::kWords - LimitNotices::kNoticesMax);
}

class SharedLimitNotices : public LimitNoticesTest {
 protected:
  SharedLimitNotices() {
    engine_.join(fleet_, [] {});
  }

  LateStore redis_{*store_};
  TestFleet fleet_{redis_};
};

TEST_F(SharedLimitNotices, WaitUntilTheFleetHasNamedWhoTells) {
  redis_.answer_at_once();
  hit(rule_, "a", 10);
  EXPECT_EQ(told(), "");
  ASSERT_TRUE(notices_.has_shared());
  auto shared = notices_.take_shared(1);
  ASSERT_EQ(shared.size(), 1u);
  notices_.tell(std::move(shared[0]));
  EXPECT_EQ(told(), "a 80% 10/10 ");
  EXPECT_EQ(notices_.take_shared(9).size(), 1u);
  EXPECT_FALSE(notices_.has_shared());
}

TEST_F(SharedLimitNotices, ARuleOfThisNodeAloneDoesNotWait) {
  rule_.mode = Mode::kLocal;
  hit(rule_, "a", 8);
  EXPECT_EQ(told(), "a 80% 8/10 ");
}

TEST_F(SharedLimitNotices, ANodeThatDecidesAloneSeesItsShareOnly) {
  redis_.break_down();
  hit(rule_, "a", 10);
  EXPECT_EQ(told(), "");
  EXPECT_FALSE(notices_.has_shared());
}

}  // namespace
}  // namespace weir
