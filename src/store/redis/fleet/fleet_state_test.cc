#include "store/redis/fleet/fleet_state.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr Instant kStart = instant_from_epoch_us(1'000'000'000);

Instant at(int seconds) { return kStart + std::chrono::seconds(seconds); }

TEST(FleetState, ANodeIsHealthyWhenAllItsCoresAre) {
  FleetState state(2, kStart);
  EXPECT_FALSE(state.report(0, {.is_healthy = true, .since = at(1)}));
  EXPECT_FALSE(state.health().is_healthy);
  EXPECT_TRUE(state.report(1, {.is_healthy = true, .since = at(2)})) << "it has become so";
  EXPECT_FALSE(state.report(1, {.is_healthy = true, .since = at(3)})) << "it was so before";
  EXPECT_TRUE(state.health().is_healthy);
  EXPECT_EQ(state.health().since, at(2));
  state.report(0, {.is_healthy = false, .reason = "gone", .since = at(5)});
  EXPECT_EQ(state.health().reason, "gone");
  EXPECT_EQ(state.health().since, at(5));
}

TEST(FleetState, TheTroubleOfAnotherCoreIsTheSameTrouble) {
  FleetState state(2, kStart);
  state.report(0, {.is_healthy = true, .since = at(1)});
  state.report(1, {.is_healthy = true, .since = at(1)});
  state.report(0, {.is_healthy = false, .reason = "gone", .since = at(5)});
  state.report(1, {.is_healthy = false, .reason = "gone", .since = at(6)});
  state.report(0, {.is_healthy = true, .since = at(7)});
  EXPECT_FALSE(state.health().is_healthy);
  EXPECT_EQ(state.health().since, at(5));
}

TEST(FleetState, AnotherReasonDoesNotBeginAnew) {
  FleetState state(1, kStart);
  state.report(0, {.is_healthy = false, .reason = "gone", .since = at(1)});
  state.report(0, {.is_healthy = false, .reason = "full", .since = at(3)});
  EXPECT_EQ(state.health().reason, "full");
  EXPECT_EQ(state.health().since, kStart);  // it was never healthy
}

TEST(FleetState, AddsTheCoresUp) {
  FleetState state(2, kStart);
  FleetFigures first;
  first.counts[kStoreCalls] = 3;
  first.counts[kLeases] = 1;
  first.failures[0] = 2;
  state.publish(0, first);
  state.publish(1, first);
  FleetFigures other;
  other.counts[kStoreCalls] = 5;
  other.counts[kAsyncPushes] = 2;
  other.failures[0] = 4;
  state.publish(1, other);
  EXPECT_EQ(state.figures().counts[kStoreCalls], 8);
  EXPECT_EQ(state.figures().counts[kLeases], 1);
  EXPECT_EQ(state.figures().counts[kAsyncPushes], 2);
  EXPECT_EQ(state.figures().failures[0], 6u);
}

}  // namespace
}  // namespace weir
