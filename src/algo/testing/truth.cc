#include "algo/testing/truth.h"

#include <gtest/gtest.h>

namespace weir::algo::testing {
namespace {

constexpr Duration kMicrosecond{1};

bool is_admitted(const AnyKey& key, const Quota& quota, std::int64_t cost, Instant at) {
  return key.look(quota, cost, at).allowed();
}

void expect_retry_truthful(const AnyKey& key, const Quota& quota, std::int64_t cost,
                           const Decision& decision, Instant now) {
  const Instant retry = now + decision.retry_after;
  EXPECT_TRUE(is_admitted(key, quota, cost, retry)) << "retry_after is too early";
  if (quota.algorithm() != Algorithm::kExponentialBackoff) {
    EXPECT_FALSE(is_admitted(key, quota, cost, retry - kMicrosecond)) << "retry_after is late";
    return;
  }
  const Duration least = std::chrono::seconds(1 << decision.backoff_level);
  EXPECT_GE(decision.retry_after, least);
  if (decision.retry_after > least) {
    EXPECT_FALSE(is_admitted(key, quota, cost, retry - kMicrosecond)) << "retry_after is late";
  }
}

void expect_remaining_truthful(const AnyKey& key, const Quota& quota, const Decision& decision,
                               Instant now) {
  if (decision.remaining > 0) {
    EXPECT_TRUE(is_admitted(key, quota, decision.remaining, now)) << "remaining is too much";
  }
  EXPECT_FALSE(is_admitted(key, quota, decision.remaining + 1, now)) << "remaining is too little";
}

void expect_reset_truthful(const AnyKey& key, const Quota& quota, const Decision& decision,
                           Instant now) {
  const AnyKey fresh(quota.algorithm());
  const Instant reset = now + decision.reset_after;
  EXPECT_EQ(key.look(quota, 0, reset), fresh.look(quota, 0, reset)) << "reset_after is too early";
  EXPECT_LE(key.expiry(quota), reset);
  // A row of denials is held, too, but does not show in a look.
  if (decision.reset_after.count() == 0 || quota.limit() == 0 ||
      quota.algorithm() == Algorithm::kExponentialBackoff) {
    return;
  }
  EXPECT_LT(key.look(quota, 0, reset - kMicrosecond).remaining, quota.capacity())
      << "reset_after is late";
}

}  // namespace

void expect_truthful(const AnyKey& key, const Quota& quota, std::int64_t cost,
                     const Decision& decision, Instant now) {
  if (decision.verdict == Verdict::kDenied) {
    expect_retry_truthful(key, quota, cost, decision, now);
  }
  expect_remaining_truthful(key, quota, decision, now);
  // kNever leaves no trace, not even of a correction, so its reset is a look's.
  if (decision.verdict != Verdict::kNever) expect_reset_truthful(key, quota, decision, now);
}

}  // namespace weir::algo::testing
