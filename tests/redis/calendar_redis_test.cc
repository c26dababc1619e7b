// Windows of a calendar in a real Redis: the script decides as calendar_window.h does, and nodes
// whose clocks are an hour apart count in the same windows, by Redis's clock.

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "algo/calendar_window.h"
#include "base/prng.h"
#include "redis/leasing_node.h"
#include "redis/script_redis.h"
#include "redis/syncing_node.h"
#include "rules/time/calendar.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::Asked;
using testing::script;

constexpr Instant kMidnight = instant_from_epoch_us(1'700'006'400'000'000);

Quota days(std::int64_t limit) { return *Quota::make({Algorithm::kCalendarWindow, limit, 24h}); }

// ---- the script ----

// One of a few calendars around kMidnight, by one of their days.
WindowEnds any_ends(Prng& prng, Instant now) {
  constexpr std::array<Duration, 3> kResets{0h, 9h, -2h};
  const Duration reset = kResets[prng.below(3)];
  Instant begin = kMidnight + reset;
  while (begin > now) begin -= 24h;
  while (begin + 24h <= now) begin += 24h;
  begin += 24h * (static_cast<int>(prng.below(3)) - 1);  // of a node with another clock
  return {begin, begin + 24h, begin + 48h};
}

TEST(CalendarScript, DecidesAsTheAlgorithmDoes) {
  Prng prng(20261129);
  for (int life = 0; life < 60; ++life) {
    const KeyHash key = script().fresh_key();
    algo::CalendarWindowState state;
    Instant now = kMidnight + Duration(static_cast<std::int64_t>(prng.below(86'400)) * 1'000'000);
    for (int step = 0; step < 40; ++step) {
      constexpr std::array<Duration, 6> kSteps{0us, 1us, 1h, 7h, 23h, -3h};
      now += kSteps[prng.below(6)];
      Quota quota = days(prng.below(5) == 0 ? 3 : 5);
      quota.set_window_ends(any_ends(prng, now));
      const Charge charge{key, &quota, static_cast<std::int64_t>(prng.below(9)) - 2};
      const bool counts_always = prng.below(4) == 0;
      const auto expected = counts_always ? algo::charge(quota, state, charge.cost, now)
                                          : algo::decide(quota, state, charge.cost, now);
      script().call.clear();
      script().call.add(counts_always ? ScriptOperation::kCharge : ScriptOperation::kSpendEach,
                        {&charge, 1});
      Decision decision;
      ChargeReplies replies(script().run(now));
      ASSERT_EQ(replies.read({&charge, 1}, {&decision, 1}), ChargeFailure::kNone);
      ASSERT_EQ(decision, expected.decision) << life << ", step " << step;
      state = expected.state;
    }
  }
}

TEST(CalendarScript, TimeOutsideOfTheWindowsIsAFailure) {
  Quota quota = days(5);
  quota.set_window_ends({kMidnight, kMidnight + 24h, kMidnight + 48h});
  const Charge charge{script().fresh_key(), &quota, 1};
  for (const auto& [now, failure] : {std::pair(kMidnight + 48h, ChargeFailure::kOutsideWindows),
                                     {kMidnight + 48h - 1us, ChargeFailure::kNone},
                                     {kMidnight - 24h, ChargeFailure::kNone},
                                     {kMidnight - 25h - 1us, ChargeFailure::kOutsideWindows}}) {
    for (const auto operation : {ScriptOperation::kSpendEach, ScriptOperation::kReset}) {
      script().call.clear();
      script().call.add(operation, {&charge, 1});
      Decision decision;
      ChargeReplies replies(script().run(now));
      EXPECT_EQ(replies.read({&charge, 1}, {&decision, 1}), failure) << (now - kMidnight).count();
    }
  }
}

// ---- fleets ----

// A node's charges of one key, by the windows that its own clock says.
template <typename Node>
class Spender {
 public:
  Spender(Node& node, KeyHash key, std::int64_t limit)
      : node_(node), key_(key), quota_(days(limit)) {}

  bool spend() {
    quota_.set_window_ends(window_ends({}, quota_, node_.now()));
    Asked check({{key_, &quota_, 1}});
    node_.ask(check);
    EXPECT_TRUE(check.is_answered() && !check.has_failed());
    return check.is_allowed();
  }
  Decision look() {
    quota_.set_window_ends(window_ends({}, quota_, node_.now()));
    return node_.decide(Operation::kLook, {key_, &quota_, 0});
  }

 private:
  Node& node_;
  const KeyHash key_;
  Quota quota_;
};

constexpr std::int64_t kLimit = 300;
constexpr std::array<Duration, 3> kSkews{0h, 1h, -1h};

template <typename Node>
int admitted_by(std::vector<Spender<Node>>& nodes, int rounds) {
  int admitted = 0;
  for (int round = 0; round < rounds; ++round) {
    for (auto& node : nodes) admitted += node.spend() ? 1 : 0;
  }
  return admitted;
}

using LeasedCalendar = testing::LeasedFleet;

TEST_F(LeasedCalendar, ClocksAnHourApartAgree) {
  start({kSkews[0], kSkews[1], kSkews[2]});
  const KeyHash key = fresh_key();
  std::vector<Spender<testing::LeasingNode>> nodes;
  for (const auto& node : nodes_) nodes.emplace_back(*node, key, kLimit);
  const auto admit_for_a_second = [&] {
    int admitted = 0;
    for (int round = 0; round < 500; ++round) {
      let_pass(2ms);
      admitted += admitted_by(nodes, 1);
    }
    return admitted;
  };
  redis_.now = kMidnight - 30min;
  EXPECT_EQ(admit_for_a_second(), kLimit);
  let_pass(kMidnight - 1us - redis_.now);
  EXPECT_EQ(admitted_by(nodes, 1), 0);
  let_pass(1us);
  EXPECT_EQ(admit_for_a_second(), kLimit);
}

struct StrictNode : testing::SimulatedNode {
  static constexpr Duration kStep = kWindowMax;
  using SimulatedNode::SimulatedNode;
};
using StrictCalendar = testing::SimulatedFleet<StrictNode>;

TEST_F(StrictCalendar, ClocksAnHourApartAgree) {
  const KeyHash key = fresh_key();
  std::vector<Spender<StrictNode>> nodes;
  for (const Duration skew : kSkews) nodes.emplace_back(add_node(skew), key, 30);
  redis_.now = kMidnight - 30min;
  EXPECT_EQ(admitted_by(nodes, 20), 30);
  for (auto& node : nodes) EXPECT_EQ(node.look().reset_after, 30min);
  let_pass(30min - 1us);
  EXPECT_EQ(admitted_by(nodes, 1), 0);
  let_pass(1us);
  EXPECT_EQ(admitted_by(nodes, 20), 30);
  for (auto& node : nodes) EXPECT_EQ(node.look().reset_after, 24h);
}

TEST_F(StrictCalendar, ARedisOfAnotherDayIsAFailureOfTheStore) {
  Quota quota = days(5);
  auto& node = add_node(72h);
  quota.set_window_ends(window_ends({}, quota, node.now()));
  Asked check({{fresh_key(), &quota, 1}});
  node.ask(check);
  EXPECT_TRUE(check.has_failed());
}

using AsyncCalendar = testing::SyncingFleet;

TEST_F(AsyncCalendar, ClocksAnHourApartAgree) {
  const KeyHash key = fresh_key();
  std::vector<Spender<testing::SyncingNode>> nodes;
  for (const Duration skew : kSkews) nodes.emplace_back(add_node(skew), key, kLimit);
  const auto admit_for = [&](int rounds) {
    int admitted = 0;
    for (int round = 0; round < rounds; ++round) {
      let_pass(1ms);
      admitted += admitted_by(nodes, 1);
    }
    return admitted;
  };
  redis_.now = kMidnight - 10s;
  const int before = admit_for(1000);
  EXPECT_GE(before, kLimit);
  EXPECT_LE(before, kLimit + 3 * 100);  // what came within an interval
  EXPECT_EQ(admit_for(500), 0);
  redis_.now = kMidnight + 1ms;
  const int after = admit_for(1000);
  EXPECT_GE(after, kLimit);
  EXPECT_LE(after, kLimit + 3 * 100);
}

}  // namespace
}  // namespace weir
