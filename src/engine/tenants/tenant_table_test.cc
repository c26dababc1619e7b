#include "engine/tenants/tenant_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Row = TenantTable::Row;

HashSecret secret() {
  HashSecret secret;
  for (std::size_t i = 0; i < secret.bytes.size(); ++i) secret.bytes[i] = std::byte(i * 7 + 1);
  return secret;
}

// A row as a test writes it. Without a plan and a limit, the row is removed.
struct Said {
  std::string plan{};
  std::optional<std::int64_t> limit{};
  std::int64_t window_us = 0;
};

TenantTable::Edits edits_of(const TenantTable& table, const std::map<std::string, Said>& rows) {
  TenantTable::Edits edits{.plans = {"unused"}};
  for (const auto& [key, said] : rows) {
    Row row{.key = table.hash(key),
            .limit = said.limit.value_or(TenantTable::kGone),
            .window_us = said.window_us};
    if (!said.plan.empty()) {
      row.limit = TenantTable::kPlan;
      row.window_us = static_cast<std::int64_t>(edits.plans.size());
      edits.plans.push_back(said.plan);
    }
    edits.rows.push_back(row);
  }
  std::ranges::sort(edits.rows, std::less(), &Row::key);
  return edits;
}

TenantTablePtr with(const TenantTable& table, const std::map<std::string, Said>& rows) {
  return table.edited(edits_of(table, rows)).table;
}

// All buckets of `table`, read by a node that has `base`.
TenantTablePtr told(const TenantTable& table, const TenantTable& base) {
  TenantTable::Edits edits;
  for (std::size_t i = 0; i < TenantTable::kBuckets; ++i) {
    const auto bucket = static_cast<std::uint16_t>(i);
    EXPECT_TRUE(base.read_bucket(bucket, table.bucket_bytes(bucket), edits));
  }
  return base.edited(edits).table;
}

TEST(TenantTable, ForgetsPlansThatNoRowHas) {
  auto table = with(TenantTable(secret()), {{"ann", {.plan = "gold"}}, {"bob", {.plan = "iron"}}});
  EXPECT_EQ(table->plans().size(), 2u);
  // Each month has another plan, as in a contract.
  for (std::size_t month = 0; month < 2 * TenantTable::kPlansMax; ++month) {
    table = with(*table, {{"ann", {.plan = "month" + std::to_string(month)}}});
    ASSERT_NE(table, nullptr) << month;
  }
  EXPECT_EQ(table->plans().size(), 2u);
  EXPECT_EQ(table->find("ann"), (TenantTerms{.plan = "month2047"}));
  EXPECT_EQ(table->find("bob"), (TenantTerms{.plan = "iron"}));
  EXPECT_EQ(told(*table, TenantTable(secret()))->digest(), table->digest());
  std::map<std::string, Said> rows;
  for (std::size_t i = 0; i <= TenantTable::kPlansMax; ++i) {
    rows["k" + std::to_string(i)] = {.plan = "plan" + std::to_string(i)};
  }
  EXPECT_EQ(with(TenantTable(secret()), rows), nullptr) << "so many are in use";
}

TEST(TenantTable, TakesNoPlanThatItCouldNotReadAgain) {
  const TenantTable none(secret());
  const std::string longest(kPlanNameMax, 'p');
  const auto table = with(none, {{"ann", {.plan = longest}}});
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(told(*table, none)->find("ann"), (TenantTerms{.plan = longest}));
  EXPECT_EQ(with(none, {{"ann", {.plan = longest + "p"}}}), nullptr);
}

TEST(TenantTable, CountsTheChangesThatAnotherTableLacks) {
  const auto before = with(TenantTable(secret()), {{"ann", {.plan = "gold"}},
                                                   {"bob", {.limit = 1}},
                                                   {"eve", {.limit = 1}},
                                                   {"joe", {.limit = 1}}});
  const auto own =
      with(*before,
           {{"ann", {.plan = "iron"}}, {"bob", {}}, {"eve", {.limit = 2}}, {"new", {.limit = 3}}});
  EXPECT_EQ(own->changes_lost(*before, *before), 4u);
  EXPECT_EQ(own->changes_lost(*before, *own), 0u);
  const auto theirs = with(*before, {{"joe", {.limit = 9}}, {"eve", {.limit = 2}}, {"bob", {}}});
  EXPECT_EQ(own->changes_lost(*before, *theirs), 2u) << "ann and new";
}

TEST(TenantTable, FindsWhatWasPutAndNothingElse) {
  const TenantTable none(secret());
  EXPECT_EQ(none.find("ann"), std::nullopt);
  const auto table = with(none, {{"ann", {.plan = "gold"}},
                                 {"bob", {.limit = 5000}},
                                 {"", {.limit = 0, .window_us = 60'000'000}}});
  EXPECT_EQ(table->size(), 3u);
  EXPECT_EQ(table->find("ann"), (TenantTerms{.plan = "gold"}));
  EXPECT_EQ(table->find("bob"), (TenantTerms{.limit = 5000}));
  EXPECT_EQ(table->find(""), (TenantTerms{.limit = 0, .window = 60s}));
  EXPECT_EQ(table->find("eve"), std::nullopt);
  const auto fewer = with(*table, {{"ann", {}}, {"eve", {}}});
  EXPECT_EQ(fewer->find("ann"), std::nullopt);
  EXPECT_EQ(fewer->find("bob"), (TenantTerms{.limit = 5000}));
  EXPECT_EQ(table->find("ann"), (TenantTerms{.plan = "gold"})) << "it is immutable";
}

TEST(TenantTable, KeepsTheDayOnWhichMonthsBegin) {
  static_assert(sizeof(Row) == 32);
  const TenantTable none(secret());
  auto edits = edits_of(none, {{"ann", {.plan = "gold"}},
                               {"bob", {.limit = 5, .window_us = kWindowMax.count()}},
                               {"eve", {.limit = 5}}});
  for (Row& row : edits.rows) {
    if (row.key == none.hash("ann")) row.set_anchor(31);
    if (row.key == none.hash("bob")) row.set_anchor(1);
  }
  auto table = none.edited(edits).table;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(table->find("ann"), (TenantTerms{.plan = "gold", .anchor = 31}));
    EXPECT_EQ(table->find("bob"), (TenantTerms{.limit = 5, .window = kWindowMax, .anchor = 1}));
    EXPECT_EQ(table->find("eve"), (TenantTerms{.limit = 5}));
    table = told(*table, none);
  }
  const auto other = with(*table, {{"ann", {.plan = "gold"}}});
  EXPECT_EQ(other->find("ann"), (TenantTerms{.plan = "gold"}));
  EXPECT_NE(other->digest(), table->digest());
}

TEST(TenantTable, NamesTheBucketsThatDiffer) {
  const TenantTable none(secret());
  const auto table = with(none, {{"ann", {.limit = 1}}, {"bob", {.limit = 2}}});
  const auto edited =
      table->edited(edits_of(none, {{"ann", {.limit = 1}}, {"bob", {.limit = 3}}, {"eve", {}}}));
  ASSERT_EQ(edited.changed.size(), 1u);
  EXPECT_EQ(edited.changed[0], none.hash("bob").high >> 48);
}

TEST(TenantTable, HasTheSameRowsAsAMapThroughAnyChanges) {
  Prng prng(7);
  const TenantTable none(secret());
  auto table = std::make_shared<const TenantTable>(none);
  auto follower = table;
  std::map<std::string, Said> model;
  for (int round = 0; round < 40; ++round) {
    std::map<std::string, Said> changes;
    for (std::uint64_t i = prng.next() % 200; i > 0; --i) {
      Said& said = changes["key" + std::to_string(prng.next() % 1000)];
      const auto kind = prng.next() % 3;
      if (kind == 0) said = {.plan = "plan" + std::to_string(prng.next() % 5)};
      if (kind == 1) said = {.limit = static_cast<std::int64_t>(prng.next() % 100)};
      if (kind == 2) said = {};
    }
    const auto before = table;
    const auto edited = table->edited(edits_of(*table, changes));
    table = edited.table;
    for (const auto& [key, said] : changes) model[key] = said;
    for (const auto& [key, said] : model) {
      const auto found = table->find(key);
      ASSERT_EQ(found.has_value(), !said.plan.empty() || said.limit) << key;
      if (!found) continue;
      EXPECT_EQ(found->plan, said.plan);
      EXPECT_EQ(found->limit, said.limit.value_or(0));
    }
    TenantTable::Edits news;
    for (const std::uint16_t bucket : edited.changed) {
      ASSERT_TRUE(follower->read_bucket(bucket, table->bucket_bytes(bucket), news));
    }
    follower = follower->edited(news).table;
    EXPECT_EQ(follower->digest(), table->digest());
    EXPECT_EQ(before->digest() == table->digest(), edited.changed.empty());
  }
  EXPECT_EQ(told(*table, none)->digest(), table->digest());
  EXPECT_EQ(told(none, *table)->size(), 0u);
  EXPECT_EQ(told(none, *table)->digest(), TenantTable(none.secret()).digest());
}

TEST(TenantTable, RefusesBytesThatNoTableHasWritten) {
  const TenantTable none(secret());
  const auto table = with(none, {{"ann", {.plan = "gold"}}});
  const auto bucket = static_cast<std::uint16_t>(none.hash("ann").high >> 48);
  const std::string good = table->bucket_bytes(bucket);
  const auto reads = [&](std::uint16_t number, const std::string& bytes) {
    TenantTable::Edits edits;
    return none.read_bucket(number, bytes, edits);
  };
  EXPECT_TRUE(reads(bucket, good));
  EXPECT_TRUE(reads(bucket, ""));
  EXPECT_FALSE(reads(static_cast<std::uint16_t>(bucket + 1), good)) << "of another bucket";
  EXPECT_FALSE(reads(bucket, good + good)) << "twice the same key";
  for (std::size_t size = 1; size < good.size(); ++size) {
    EXPECT_FALSE(reads(bucket, good.substr(0, size))) << size;
  }
}

TEST(TenantTable, AMillionRowsTakeAtMost48BytesEach) {
  const TenantTable none(secret());
  TenantTable::Edits edits;
  for (std::size_t i = 0; i <= TenantTable::kRowsMax; ++i) {
    edits.rows.push_back(
        {.key = none.hash("tenant-" + std::to_string(i)), .limit = static_cast<std::int64_t>(i)});
  }
  std::ranges::sort(edits.rows, std::less(), &Row::key);
  EXPECT_EQ(none.edited(edits).table, nullptr) << "one too many";
  edits.rows.pop_back();
  const auto table = none.edited(edits).table;
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->size(), TenantTable::kRowsMax);
  const double each = static_cast<double>(table->bytes()) / static_cast<double>(table->size());
  RecordProperty("bytes_a_row", std::to_string(each));
  EXPECT_LE(each, 48);
  int found = 0;
  for (std::size_t i = 0; i < 1000; ++i)
    found += table->find("tenant-" + std::to_string(i)) ? 1 : 0;
  EXPECT_GE(found, 999) << "the last by its hash went";
}

TEST(TenantQuota, KeepsAllOfTheRulesOwnButTheLimit) {
  const auto own = [](QuotaSpec spec) { return *Quota::make(spec); };
  const Quota window = own({.limit = 10, .window = 1min});
  const Quota larger = tenant_quota(window, {.limit = 500});
  EXPECT_EQ(larger.limit(), 500);
  EXPECT_EQ(larger.window(), 1min);
  EXPECT_EQ(larger.algorithm(), Algorithm::kSlidingWindow);
  EXPECT_EQ(tenant_quota(window, {.limit = 500, .window = 1h}).window(), 1h);
  const Quota bucket =
      own({.algorithm = Algorithm::kTokenBucket, .limit = 10, .window = 1s, .burst = 40});
  EXPECT_EQ(tenant_quota(bucket, {.limit = 100}).capacity(), 400);
  EXPECT_EQ(tenant_quota(bucket, {.limit = kLimitMax}).limit(), kLimitMax);
  EXPECT_EQ(tenant_quota(bucket, {.limit = 0}).limit(), 0);
  const Quota month =
      own({.algorithm = Algorithm::kCalendarWindow, .limit = 10, .window = 24h * 31});
  EXPECT_TRUE(tenant_quota(month, {.limit = 100}).is_by_calendar());
  EXPECT_EQ(tenant_quota(month, {.limit = 100, .window = 1h}).algorithm(), Algorithm::kFixedWindow);
}

}  // namespace
}  // namespace weir
