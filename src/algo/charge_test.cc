// charge() under each algorithm: it counts costs whether or not they fit.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "algo/testing/admitted.h"
#include "algo/testing/any_key.h"
#include "algo/testing/random_life.h"

namespace weir::algo::testing {
namespace {

using namespace std::chrono_literals;

// Read by RapidCheck on first use.
[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=500", 0);

constexpr Instant kDay = instant_from_epoch_us(1'700'006'400'000'000);  // a day begins

// A quota of each algorithm; adaptive in each of its kinds.
std::vector<Quota> quotas_of(std::int64_t limit, Duration window) {
  std::vector<Quota> quotas;
  for (int i = 0; i < kDecidingAlgorithmCount; ++i) {
    quotas.push_back(*Quota::make({static_cast<Algorithm>(i), limit, window}));
  }
  const Quota adaptive = *Quota::make({Algorithm::kAdaptive, limit, window});
  for (const Algorithm active : kActive) {
    quotas.push_back(adaptive.following({active, 1}));
  }
  quotas.push_back(*Quota::make({Algorithm::kStrictWindow, limit, window}));
  return quotas;
}

std::string name_of(const Quota& quota) {
  return std::string(algorithm_name(quota.algorithm())) + " as " +
         std::string(algorithm_name(quota.active()));
}

TEST(Charge, TenLooksAndChargesOfSevenAgainstTenADayLetTwoThrough) {
  for (const Quota& quota : quotas_of(10, 24h)) {
    AnyKey key(quota.algorithm());
    int through = 0;
    for (int i = 0; i < 10; ++i) {
      if (!key.look(quota, 0, kDay).allowed()) continue;
      ++through;
      const Decision decision = key.charge(quota, 7, kDay);
      EXPECT_EQ(decision, key.look(quota, 0, kDay)) << name_of(quota);
      EXPECT_EQ(decision.remaining, through == 1 ? 3 : 0);
    }
    EXPECT_EQ(through, 2) << name_of(quota);
    EXPECT_FALSE(key.decide(quota, 1, kDay).allowed());
  }
}

TEST(Charge, OfMoreThanTheLimitCountsAndSaysWhenTheDebtIsPaid) {
  for (const Quota& quota : quotas_of(10, 1min)) {
    AnyKey key(quota.algorithm());
    const Decision decision = key.charge(quota, kCostMax, kDay);
    EXPECT_EQ(decision.verdict, Verdict::kDenied) << name_of(quota);
    ASSERT_GT(decision.retry_after, 0s);
    EXPECT_FALSE(key.look(quota, 0, kDay + decision.retry_after - 1us).allowed());
    EXPECT_TRUE(key.look(quota, 0, kDay + decision.retry_after).allowed()) << name_of(quota);
  }
}

// By hand, for a charge of 25 against 10 a minute as a minute begins: 20 of them count.
TEST(Charge, DebtsArePaidAsDocsAlgorithmsSays) {
  const auto waits = [](const Quota& quota) {
    AnyKey key(quota.algorithm());
    return key.charge(quota, 25, kDay).retry_after;
  };
  const std::vector<Quota> quotas = quotas_of(10, 1min);
  EXPECT_EQ(waits(quotas[0]), 60s);  // fixed_window: until the window ends
  EXPECT_EQ(waits(quotas[1]), 60s);  // sliding_log: until the charge has gone
  EXPECT_EQ(waits(quotas[2]), 90s);  // sliding_window: until 20 weigh 10
  EXPECT_EQ(waits(quotas[3]), 60s);  // token_bucket: until 20 have become 10
  EXPECT_EQ(waits(quotas[4]), 60s);
  EXPECT_EQ(waits(quotas[5]), 90s);
  EXPECT_EQ(waits(quotas[6]), 60s);
  EXPECT_EQ(waits(quotas[7]), 90s);
  EXPECT_EQ(waits(quotas[8]), 75s);
  const Quota burst = *Quota::make({Algorithm::kTokenBucket, 10, 1min, 30});
  AnyKey key(burst.algorithm());
  EXPECT_TRUE(key.charge(burst, 30, kDay).allowed());
  EXPECT_EQ(key.charge(burst, 100, kDay).retry_after, 60s);  // 40 owed: its burst and its limit
}

TEST(Charge, OfNothingLooksAndOfLessGivesBack) {
  for (const Quota& quota : quotas_of(10, 1min)) {
    AnyKey key(quota.algorithm());
    key.charge(quota, 14, kDay);
    EXPECT_EQ(key.charge(quota, 0, kDay).verdict, Verdict::kDenied) << name_of(quota);
    EXPECT_EQ(key.charge(quota, -5, kDay).remaining, 1) << name_of(quota);
    EXPECT_TRUE(key.charge(quota, 0, kDay).allowed()) << name_of(quota);
  }
}

TEST(Charge, AtLimitZeroIsForNever) {
  for (const Quota& quota : quotas_of(0, 1min)) {
    AnyKey key(quota.algorithm());
    EXPECT_EQ(key.charge(quota, 1, kDay).verdict, Verdict::kNever) << name_of(quota);
    EXPECT_EQ(key, AnyKey(quota.algorithm()));
  }
}

TEST(Charge, ThatDoesNotFitIsADenialForBackoffAndOneThatFitsIsNot) {
  for (const Quota& quota : {*Quota::make({Algorithm::kExponentialBackoff, 10, 1h}),
                             Quota::make({Algorithm::kAdaptive, 10, 1h})
                                 ->following({Algorithm::kExponentialBackoff, 1})}) {
    AnyKey key(quota.algorithm());
    for (int i = 0; i < 9; ++i) key.charge(quota, 1, kDay);
    key.charge(quota, 2, kDay);  // the first denial
    for (int i = 0; i < 8; ++i) EXPECT_EQ(key.charge(quota, 1, kDay).backoff_level, 0);
    EXPECT_EQ(key.charge(quota, 1, kDay).backoff_level, 1);
    for (int i = 0; i < 40; ++i) key.charge(quota, 1, kDay);
    EXPECT_EQ(key.look(quota, 0, kDay).backoff_level, 5);
    AnyKey in_cooldown = key;
    in_cooldown.charge(quota, 1, kDay);
    EXPECT_EQ(in_cooldown.look(quota, 0, kDay).backoff_level, 5);
  }
}

TEST(Charge, MadeByAMistakenClockBlocksNoKeyForLongerThanTwoWindows) {
  for (const Quota& quota : quotas_of(10, 1min)) {
    if (quota.active() == Algorithm::kExponentialBackoff) continue;
    AnyKey key(quota.algorithm());
    key.charge(quota, 100, kDay + 24h * 365);
    key.charge(quota, 100, kDay);
    EXPECT_TRUE(key.decide(quota, 1, kDay + 2min).allowed()) << name_of(quota);
  }
}

// A switch does not change how much a key holds, debts included.
TEST(Charge, ADebtOutlivesASwitch) {
  const Quota adaptive = *Quota::make({Algorithm::kAdaptive, 60, 1h});
  for (const Algorithm from : kActive) {
    for (const Algorithm to : kActive) {
      AnyKey key(Algorithm::kAdaptive);
      const Instant now = kDay + 20min;
      key.charge(adaptive.following({from, 1}), 100, now);
      const Quota then = adaptive.following({to, 2});
      EXPECT_FALSE(key.look(then, 0, now).allowed()) << algorithm_name(to);
      EXPECT_FALSE(key.look(then, 0, now + 39min).allowed()) << algorithm_name(to);
    }
  }
}

// ---- properties ------------------------------------------------------------------------

Quota any_quota_of_any() {
  const auto algorithm = static_cast<Algorithm>(*rc::gen::inRange(0, kAlgorithmCount));
  const Quota quota = any_quota(algorithm);
  return quota.following({any_active(), 1});
}

TEST(Charge, DebtIsBounded) {
  EXPECT_TRUE(rc::check([] {
    const Quota quota = any_quota_of_any();
    AnyKey key(quota.algorithm());
    Instant now = kStart;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      const std::int64_t cost = cost_of(quota, move);
      if (move.step_permille % 2 == 0) {
        key.charge(quota, std::min(kCostMax, 3 * cost), now);
      } else {
        key.decide(quota, cost, now);
      }
      const Duration wait = key.look(quota, 0, now).retry_after;
      if (quota.active() == Algorithm::kExponentialBackoff) continue;  // it has its own waits
      RC_ASSERT(wait <= quota.window() * 3 / 2 + 1us);
    }
  }));
}

// Charges only take units: a key with charges is admitted no more than an exact log of its checks
// alone would allow.
TEST(Charge, ChecksKeepTheirBoundBesideCharges) {
  EXPECT_TRUE(rc::check([] {
    const Quota quota = any_quota_of_any();
    AnyKey key(quota.algorithm());
    std::vector<Admitted> admitted;
    Instant now = kStart;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      const std::int64_t cost = cost_of(quota, move);
      if (move.step_permille % 3 == 0) {
        key.charge(quota, cost, now);
      } else if (key.decide(quota, cost, now).allowed()) {
        admitted.push_back({epoch_us(now), cost});
      }
    }
    const Int128 most = Int128{quota.debt_max()};
    for (const Admitted& one : admitted) {
      const std::int64_t after_us = one.at_us - quota.window().count();
      RC_ASSERT(units_between(admitted, after_us, one.at_us) <= most);
    }
  }));
}

// A key whose debt is paid decides like a key that was never charged.
TEST(Charge, ADebtThatIsPaidLeavesNothing) {
  EXPECT_TRUE(rc::check([] {
    const Quota quota = any_quota_of_any();
    AnyKey charged(quota.algorithm());
    AnyKey fresh(quota.algorithm());
    Instant now = kStart;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      charged.charge(quota, std::min(kCostMax, 3 * cost_of(quota, move)), now);
    }
    now += charged.look(quota, 0, now).reset_after;
    for (const Move& move : any_life()) {
      now += step_of(quota, move);
      const std::int64_t cost = cost_of(quota, move);
      RC_ASSERT(charged.decide(quota, cost, now) == fresh.decide(quota, cost, now));
    }
  }));
}

}  // namespace
}  // namespace weir::algo::testing
