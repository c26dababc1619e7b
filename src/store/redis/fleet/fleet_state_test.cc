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

TEST(FleetState, IsShownWithWhatIsWrong) {
  FleetState state(1, kStart);
  TrafficSnapshot traffic{.scope = TrafficSnapshot::Scope::kFleet};
  traffic.nodes.resize(3);
  FleetFigures own;
  own.counts[kLeases] = 7;
  own.failures[1] = 2;
  state.publish(0, own);
  state.set_heard({.live = 3}, kStart);
  SharedStoreFigures shown = state.shown(Mode::kLeased, traffic);
  EXPECT_FALSE(shown.is_healthy);
  EXPECT_EQ(shown.reason, "not connected yet");
  EXPECT_EQ(shown.mode, "leased");
  EXPECT_EQ(shown.live_nodes, 3);
  EXPECT_FALSE(shown.traffic.is_alone);
  EXPECT_EQ(shown.traffic.nodes, 3u);
  EXPECT_EQ(shown.counts[kLeases], 7);
  ASSERT_EQ(shown.failures.size(), kRedisFailures);
  EXPECT_EQ(shown.failures[1].second, 2u);
  EXPECT_EQ(to_text(state.health(), "redis://r"),
            "not connected yet; rules decide as their on_store_failure says until it is back");

  state.report(0, {.is_healthy = true, .since = at(1)});
  state.set_beat_failure("no beat");
  shown = state.shown(Mode::kStrict, traffic);
  EXPECT_TRUE(shown.is_healthy);
  EXPECT_EQ(shown.reason, "no beat");
  EXPECT_EQ(shown.since, at(1));
  EXPECT_EQ(to_text(state.health(), "redis://r"), "connected to redis://r; limits are shared");
}

TEST(FleetState, SaysHowCurrentWhatNodesKnowIs) {
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 100, std::chrono::minutes(1)});
  FleetState state(2, kStart);
  const auto facts = [&](int second) { return state.sharing(quota, at(second)); };
  EXPECT_FALSE(facts(1).is_whole);
  EXPECT_EQ(facts(1).silence, Duration::max());
  for (const std::size_t core : {0, 1}) state.report(core, {.is_healthy = true, .since = at(1)});
  EXPECT_FALSE(facts(1).is_whole);  // no beat was answered
  state.set_heard({.live = 3, .silent = 0, .since = at(0)}, at(1));
  EXPECT_TRUE(facts(1).is_whole);
  EXPECT_EQ(facts(3).silence, std::chrono::seconds(3));
  EXPECT_EQ(facts(3).silence_before, Duration{0});
  EXPECT_EQ(facts(3).late, Duration{0});
  EXPECT_EQ(facts(3).busiest, std::nullopt);
  state.set_heard({.live = 2, .silent = 1, .since = at(4)}, at(4));
  EXPECT_FALSE(facts(4).is_whole);
  EXPECT_EQ(facts(4).nodes, 3);
  EXPECT_EQ(state.live_nodes(), 2);
  EXPECT_EQ(facts(4).silence_before, std::chrono::seconds(4));
  EXPECT_EQ(facts(6).silence_before, Duration{0});
  state.waiting_since(1) = at(5);
  EXPECT_EQ(facts(6).late, std::chrono::seconds(1));
  FleetFigures figures;
  figures.peaks.note_units(quota, 7, at(6));
  figures.peaks.note_trip(std::chrono::milliseconds(3), at(6));
  state.publish(1, figures);
  state.set_others({{.id = "b", .beat = std::chrono::milliseconds(9)}});
  EXPECT_EQ(facts(6).busiest, 7);
  EXPECT_EQ(facts(6).trip, std::chrono::milliseconds(9));
  state.report(0, {.is_healthy = false, .reason = "gone", .since = at(7)});
  EXPECT_FALSE(facts(7).is_whole);
}

TEST(FleetState, CountsWhatNodesDecidedAloneForAWindow) {
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 100, std::chrono::minutes(1)});
  FleetState state(1, kStart);
  const auto facts = [&](int second) { return state.sharing(quota, at(second)); };
  state.report(0, {.is_healthy = true, .since = at(1)});
  state.set_heard({.live = 2, .silent = 1, .since = at(4)}, at(4));
  state.set_heard({.live = 2, .silent = 0, .since = at(5)}, at(5));
  EXPECT_FALSE(facts(63).is_whole) << "the third may have been cut off";
  EXPECT_EQ(facts(63).apart, std::chrono::seconds(1));
  EXPECT_EQ(facts(64).apart, Duration{0});
  EXPECT_EQ(facts(63).nodes, 3);
  EXPECT_TRUE(facts(64).is_whole);
  EXPECT_EQ(facts(64).nodes, 2);
  state.report(0, {.is_healthy = false, .reason = "gone", .since = at(70)});
  EXPECT_EQ(facts(79).apart, Duration{0}) << "it is away still";
  state.report(0, {.is_healthy = true, .since = at(80)});
  EXPECT_FALSE(facts(139).is_whole);
  EXPECT_TRUE(facts(140).is_whole);
  FleetState late(1, kStart);
  late.report(0, {.is_healthy = true, .since = at(30)});
  late.set_heard({.live = 3, .silent = 0, .since = at(30)}, at(30));
  EXPECT_FALSE(late.sharing(quota, at(89)).is_whole) << "it has been alone from its start";
  EXPECT_TRUE(late.sharing(quota, at(90)).is_whole);
}

}  // namespace
}  // namespace weir
