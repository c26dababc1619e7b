#include "rls/limit_terms.h"

#include <gtest/gtest.h>

namespace weir::rls {
namespace {

using namespace std::chrono_literals;
using RateLimit = envoy::service::ratelimit::v3::RateLimitResponse::RateLimit;

constexpr Instant kNow = instant_from_epoch_us(1'600'000'043'000'000);

TEST(LimitTerms, UnitsAreWindowsOfThatLength) {
  EXPECT_EQ(unit_of(1s), RateLimit::SECOND);
  EXPECT_EQ(unit_of(60s), RateLimit::MINUTE);
  EXPECT_EQ(unit_of(1h), RateLimit::HOUR);
  EXPECT_EQ(unit_of(24h), RateLimit::DAY);
  EXPECT_EQ(unit_of(7 * 24h), RateLimit::WEEK);
  EXPECT_EQ(unit_of(30 * 24h), RateLimit::MONTH);
  EXPECT_EQ(unit_of(365 * 24h), RateLimit::YEAR);
  EXPECT_EQ(unit_of(10s), RateLimit::UNKNOWN);
  constexpr std::array kUnits{RateLimit::DAY, RateLimit::WEEK, RateLimit::MONTH, RateLimit::YEAR};
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    const auto quota = *Quota::make({Algorithm::kCalendarWindow, 5, kCalendarUnitLengths[i]});
    EXPECT_EQ(unit_of(quota), kUnits[i]);
  }
}

TEST(LimitTerms, InlineLimitsAreFixedWindowsOfAUnit) {
  AskedDescriptor::RateLimitOverride limit;
  limit.set_requests_per_unit(UINT32_MAX);
  const std::pair<int, Duration> kUnits[] = {{1, 1s},  {2, 1min},     {3, 1h},
                                             {4, 24h}, {5, 30 * 24h}, {6, 365 * 24h}};
  for (const auto& [unit, window] : kUnits) {
    limit.set_unit(static_cast<envoy::type::v3::RateLimitUnit>(unit));
    const auto quota = inline_quota(limit);
    ASSERT_TRUE(quota) << unit;
    EXPECT_EQ(quota->window(), window);
    EXPECT_EQ(quota->limit(), UINT32_MAX);
    EXPECT_EQ(quota->algorithm(), Algorithm::kFixedWindow);
  }
  for (const int unknown : {0, 8, -1}) {
    limit.set_unit(static_cast<envoy::type::v3::RateLimitUnit>(unknown));
    EXPECT_FALSE(inline_quota(limit)) << unknown;
  }
}

TEST(LimitTerms, AFixedWindowResetsWhenItEnds) {
  const Quota quota =
      *Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = 5, .window = 1min});
  EXPECT_EQ(seconds_until_reset(quota, {}, kNow), 37);
  EXPECT_EQ(seconds_until_reset(quota, {}, kNow + 500ms), 37) << "rounded up";
  EXPECT_EQ(seconds_until_reset(quota, {}, kNow + 37s), 60);
  EXPECT_EQ(seconds_until_reset(quota, {.verdict = Verdict::kNever}, kNow), 37);
  EXPECT_EQ(seconds_until_reset(quota, {.verdict = Verdict::kDenied, .retry_after = 300s}, kNow),
            300)
      << "a block ends later";
}

TEST(LimitTerms, OthersResetWhenTheDeniedRequestFitsOrTheQuotaIsWhole) {
  const Quota quota = *Quota::make({.limit = 5, .window = 1min});
  EXPECT_EQ(seconds_until_reset(quota, {.reset_after = 100ms}, kNow), 1);
  EXPECT_EQ(seconds_until_reset(quota, {.reset_after = 1100ms}, kNow), 2);
  EXPECT_EQ(seconds_until_reset(quota, {}, kNow), 1) << "at least one";
  const Decision denied{.verdict = Verdict::kDenied, .retry_after = 7s, .reset_after = 60s};
  EXPECT_EQ(seconds_until_reset(quota, denied, kNow), 7);
  EXPECT_EQ(seconds_until_reset(quota, {.verdict = Verdict::kNever}, kNow), 60);
}

}  // namespace
}  // namespace weir::rls
