// Keys with a plan or a limit in the table of tenants.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/tenants/tenant_table.h"
#include "engine/testing/asks_fixture.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Quota quota(std::int64_t limit) { return *Quota::make({.limit = limit, .window = 1min}); }

class AsksTenantsTest : public AsksFixture {
 protected:
  void SetUp() override {
    const TenantTable none{HashSecret{}};
    TenantTable::Edits edits{.plans = {"gold", "gone"}};
    edits.rows = {{.key = none.hash("ann"), .window_us = 0},
                  {.key = none.hash("old"), .window_us = 1},
                  {.key = none.hash("bob"), .limit = 50},
                  {.key = none.hash("eve"), .limit = 1},
                  {.key = none.hash("vip"), .limit = 7}};
    std::ranges::sort(edits.rows, std::less(), &TenantTable::Row::key);
    engine_.tenants = none.edited(edits).table;
    rule_.tiers["gold"] = {quota(100)};
    rule_.tiers["iron"] = {quota(3)};
    rule_.overrides["vip"] = {quota(1000)};
  }

  std::string hit_repeated(std::vector<std::string> keys) {
    const auto choices = std::make_shared<KeyChoices>(KeyChoices{std::move(keys), {std::string()}});
    return decide(Operation::kSpendEach, {{.rule = &rule_, .key = "both", .choices = choices}});
  }

  Rule rule_{.id = "r", .quota = quota(10), .has_tenants = true};
};

TEST_F(AsksTenantsTest, HaveTheirPlansAndLimits) {
  EXPECT_EQ(hit(rule_, "ann"), "+99 ") << "her plan is a tier";
  EXPECT_EQ(asks_.ask(0).tier, "gold");
  EXPECT_EQ(hit(rule_, "bob"), "+49 ");
  EXPECT_EQ(hit(rule_, "carl"), "+9 ") << "he is not in the table";
  EXPECT_EQ(hit(rule_, "old"), "+9 ") << "the rule has no such tier any more";
  EXPECT_EQ(hit(rule_, "vip"), "+999 ") << "the override wins";
  const Ask in_tier{.rule = &rule_, .key = "ann", .tier = "iron"};
  EXPECT_EQ(decide(Operation::kSpendEach, {in_tier}), "+98 ") << "the plan wins over her tier";
}

TEST_F(AsksTenantsTest, AreForRulesThatSaySo) {
  rule_.has_tenants = false;
  EXPECT_EQ(hit(rule_, "bob"), "+9 ");
  rule_.has_tenants = true;
  engine_.tenants = nullptr;
  EXPECT_EQ(hit(rule_, "bob"), "+8 ");
}

TEST_F(AsksTenantsTest, KeepWhatWasCountedWhenTheirLimitChanges) {
  hit(rule_, "bob", 5);
  engine_.tenants = nullptr;
  EXPECT_EQ(hit(rule_, "bob"), "+4 ");
}

TEST_F(AsksTenantsTest, OfARequestThatRepeatsItsKeyHaveTheLeast) {
  EXPECT_EQ(hit_repeated({"both", "bob"}), "+9 ");
  EXPECT_EQ(hit_repeated({"both", "eve"}), "-0 ");
  EXPECT_EQ(hit_repeated({"both", "ann"}), "+8 ");
}

class AsksAnchorTest : public AsksFixture {
 protected:
  // Ann's row of the table.
  void set(TenantTable::Row row, std::int64_t anchor) {
    const TenantTable none{HashSecret{}};
    row.key = none.hash("ann");
    row.set_anchor(anchor);
    engine_.tenants = none.edited({.rows = {row}, .plans = {"gold"}}).table;
  }
  static Quota month(std::int64_t limit) {
    auto quota = *Quota::make({Algorithm::kCalendarWindow, limit, kCalendarUnitLengths[2]});
    quota.set_first_day(1);
    return quota;
  }
  Duration reset_after(std::string_view key) {
    hit(rule_, key);
    return asks_.answer(0).decision.reset_after;
  }

  Rule rule_{.id = "r",
             .quota = month(9),
             .tiers = {{"gold", {month(100), quota(1000)}}},
             .has_tenants = true};
};

// kStart is 2023-11-15, at midnight in UTC.
TEST_F(AsksAnchorTest, BeginsTheMonthOfATenant) {
  set({.window_us = 0}, 20);
  EXPECT_EQ(reset_after("ann"), 5 * 24h) << "of her plan";
  EXPECT_EQ(asks_.limits(0).quotas.front().first_day(), 20);
  EXPECT_EQ(reset_after("bob"), 16 * 24h) << "the rule's";
  set({.limit = 50}, 31);
  EXPECT_EQ(hit(rule_, "ann"), "+48 ") << "one of the plan's";
  EXPECT_EQ(asks_.answer(0).decision.reset_after, 15 * 24h) << "on November's last day";
  set({.limit = 50, .window_us = 3'600'000'000}, 31);
  EXPECT_EQ(reset_after("ann"), 1h) << "it has no month";
  set({.limit = 50}, 0);
  EXPECT_EQ(reset_after("ann"), 16 * 24h);
  rule_.overrides["ann"] = {month(7)};
  set({.limit = 50}, 20);
  EXPECT_EQ(reset_after("ann"), 16 * 24h) << "the override wins";
}

TEST_F(AsksAnchorTest, ThatChangesGivesNoFreshQuota) {
  set({.limit = 2}, 20);
  EXPECT_EQ(hit(rule_, "ann", 2), "+0 ");
  set({.limit = 2}, 18);
  EXPECT_EQ(hit(rule_, "ann"), "-0 ");
  EXPECT_EQ(asks_.answer(0).decision.retry_after, 3 * 24h);
  now_ += 3 * 24h;
  EXPECT_EQ(hit(rule_, "ann"), "+1 ");
  set({.limit = 2}, 31);
  EXPECT_EQ(hit(rule_, "ann"), "+0 ");
  EXPECT_EQ(hit(rule_, "ann"), "-0 ");
  EXPECT_EQ(asks_.answer(0).decision.retry_after, 12 * 24h);
}

TEST_F(AsksTenantsTest, OfOneRequestAreAskedOnce) {
  asks_.begin(Operation::kSpendAll);
  const Ask ask{.rule = &rule_, .key = "ann", .tier = "iron"};
  ASSERT_TRUE(asks_.add(ask));
  EXPECT_TRUE(asks_.has(ask));
}

}  // namespace
}  // namespace weir
