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

TEST_F(AsksTenantsTest, OfOneRequestAreAskedOnce) {
  asks_.begin(Operation::kSpendAll);
  const Ask ask{.rule = &rule_, .key = "ann", .tier = "iron"};
  ASSERT_TRUE(asks_.add(ask));
  EXPECT_TRUE(asks_.has(ask));
}

}  // namespace
}  // namespace weir
