#include "rules/rollout.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using enum RolloutLook::Event;
using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'763'847'300'000'000);

Rollout rollout_at(std::int64_t percent) {
  return {.percent = percent, .steps = {0, 1, 10, 100}, .every = 10s, .denied_max = 0.1};
}

// A node that looks once a second.
class Node {
 public:
  explicit Node(std::int64_t percent) : rollout_(rollout_at(percent)) {}

  // The first event within `looks` looks.
  RolloutLook look_for(int looks, RolloutKeys keys = {.seen = 1'000, .denied = 1}) {
    RolloutLook last;
    for (int i = 0; i < looks && last.event == kNone; ++i) {
      now_ += 1s;
      last = look(rollout_, watch_, keys, now_);
      watch_ = last.watch;
    }
    return last;
  }
  void pause(Duration length) { now_ += length; }
  void stop() { rollout_.stopped = "because"; }

 private:
  Rollout rollout_;
  Instant now_ = kNow;
  RolloutWatch watch_{.looked = kNow};
};

TEST(Rollout, TakesEachStepWhenItsTimeIsOver) {
  for (const auto& [from, to] : {std::pair(0, 1), {1, 10}, {10, 100}}) {
    Node node(from);
    EXPECT_EQ(node.look_for(9).event, kNone);
    const auto last = node.look_for(1);
    EXPECT_EQ(last.event, kStep);
    EXPECT_EQ(last.to, to);
    EXPECT_EQ(node.look_for(9).event, kNone) << "it was refused: another turn";
    EXPECT_EQ(node.look_for(1).event, kStep);
  }
}

TEST(Rollout, NoPauseAndNoClockShortensAStep) {
  Node node(1);
  node.look_for(5);
  node.pause(24h);
  EXPECT_EQ(node.look_for(1).watch.watched, 7s);
  node.pause(-48h);
  EXPECT_EQ(node.look_for(1).watch.watched, 7s);
  EXPECT_EQ(node.look_for(2).event, kNone);
  const auto last = node.look_for(1);
  EXPECT_EQ(last.event, kStep);
  EXPECT_EQ(last.to, 10);
}

TEST(Rollout, StandsStillWhileNoKeyComes) {
  Node node(1);
  EXPECT_EQ(node.look_for(100, {}).event, kNone);
  EXPECT_EQ(node.look_for(9).event, kNone);
  EXPECT_EQ(node.look_for(1).event, kStep);
}

TEST(Rollout, GoesBackAStepWhenItDeniesTooMany) {
  Node node(10);
  EXPECT_EQ(node.look_for(9, {.seen = 1'000, .denied = 1}).event, kNone) << "no more than told";
  const auto last = node.look_for(1, {.seen = 1'000, .denied = 2});
  EXPECT_EQ(last.event, kStop) << "also when its time is over";
  EXPECT_EQ(last.to, 1);
  EXPECT_EQ(node.look_for(1, {.seen = 1'000, .denied = 2}).event, kStop) << "until it is heard";
  EXPECT_EQ(Node(1).look_for(1, {.seen = 1, .denied = 1}).to, 0);
}

TEST(Rollout, HasNothingBehindItsFirstStep) {
  EXPECT_EQ(Node(0).look_for(5, {.seen = 10, .denied = 10}).event, kNone);
}

TEST(Rollout, StandsWhereItHasStopped) {
  Node node(1);
  node.stop();
  EXPECT_EQ(node.look_for(100).event, kNone);
  EXPECT_EQ(node.look_for(100, {.seen = 10, .denied = 10}).event, kNone);
}

}  // namespace
}  // namespace weir
