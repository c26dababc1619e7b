#include "engine/testing/asks_fixture.h"
#include "rules/time/time_zone.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Quota by(CalendarUnit unit, std::int64_t limit, int first_day = 0) {
  auto quota = *Quota::make(
      {Algorithm::kCalendarWindow, limit, kCalendarUnitLengths[static_cast<std::size_t>(unit)]});
  quota.set_first_day(first_day);
  return quota;
}

class AsksCalendar : public AsksFixture {
 protected:
  const Decision& decision() const { return asks_.answer(0).decision; }
};

// kStart is 2023-11-15, a Wednesday, at midnight in UTC.
TEST_F(AsksCalendar, ChangedZoneHourOrAnchorGivesNoFreshQuota) {
  Rule rule{.id = "r", .quota = by(CalendarUnit::kMonth, 2, 1)};
  EXPECT_EQ(hit(rule, "a", 2), "+0 ");
  rule.calendar = {.zone = find_zone("Asia/Tokyo"), .resets_at = 9h};
  EXPECT_EQ(hit(rule), "-0 ");
  rule.quota.set_first_day(20);
  EXPECT_EQ(hit(rule), "-0 ");
  EXPECT_EQ(decision().retry_after, 5 * 24h);
  now_ += 5 * 24h;
  EXPECT_EQ(hit(rule), "+1 ");
  rule.quota.set_first_day(31);
  EXPECT_EQ(hit(rule), "+0 ");
  EXPECT_EQ(hit(rule), "-0 ");
  EXPECT_EQ(decision().retry_after, 10 * 24h);
}

// The time of limits never steps; dates are by the wall clock.
TEST_F(AsksCalendar, FollowsTheWallClock) {
  const Rule rule{.id = "r", .quota = by(CalendarUnit::kDay, 2)};
  engine_.set_wall_lead(1h + 130ms);
  EXPECT_EQ(hit(rule, "a", 2), "+0 ");
  EXPECT_EQ(decision().reset_after, 23h - 130ms);
  EXPECT_EQ(hit(rule), "-0 ");
  engine_.set_wall_lead(0h);
  EXPECT_EQ(hit(rule), "-0 ") << "set back, it is the same day";
  now_ += 24h;
  EXPECT_EQ(hit(rule), "+1 ");
}

TEST_F(AsksCalendar, UnusualTrafficAndTiersTakeTheirPart) {
  Rule rule{.id = "r", .quota = by(CalendarUnit::kDay, 10)};
  rule.tiers["gold"] = {by(CalendarUnit::kMonth, 20, 31)};
  const auto ask = Ask{.rule = &rule, .key = "a", .tier = "gold", .cost = 20};
  EXPECT_EQ(decide(Operation::kSpendEach, {ask}), "+0 ");
  EXPECT_EQ(decision().reset_after, 15 * 24h);
  EXPECT_EQ(decide(Operation::kSpendAll, {{.rule = &rule, .key = "a"}, ask}), "+10 -0 ");
}

}  // namespace
}  // namespace weir
