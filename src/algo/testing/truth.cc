#include "algo/testing/truth.h"

#include <chrono>

namespace weir::algo::testing {
namespace {

constexpr Duration kMicrosecond{1};

bool is_admitted(const AnyKey& key, const Quota& quota, std::int64_t cost, Instant at) {
  return key.look(quota, cost, at).allowed();
}

std::string retry_untruth(const AnyKey& key, const Quota& quota, std::int64_t cost,
                          const Decision& decision, Instant now) {
  const Instant retry = now + decision.retry_after;
  if (!is_admitted(key, quota, cost, retry)) return "retry_after is too early";
  const bool is_backoff = quota.active() == Algorithm::kExponentialBackoff;
  const Duration least =
      is_backoff ? std::chrono::seconds(1 << decision.backoff_level) : Duration{0};
  if (decision.retry_after < least) return "retry_after is under 2^level seconds";
  if (decision.retry_after == least) return "";
  return is_admitted(key, quota, cost, retry - kMicrosecond) ? "retry_after is late" : "";
}

std::string remaining_untruth(const AnyKey& key, const Quota& quota, const Decision& decision,
                              Instant now) {
  if (decision.remaining > 0 && !is_admitted(key, quota, decision.remaining, now)) {
    return "remaining is too much";
  }
  const bool one_more = is_admitted(key, quota, decision.remaining + 1, now);
  return one_more ? "remaining is too little" : "";
}

std::string reset_untruth(const AnyKey& key, const Quota& quota, const Decision& decision,
                          Instant now) {
  const AnyKey fresh(quota.algorithm());
  const Instant reset = now + decision.reset_after;
  if (key.look(quota, 0, reset) != fresh.look(quota, 0, reset)) return "reset_after is too early";
  if (key.expiry(quota) > reset) return "reset_after is before expiry()";
  // A row of denials is kept, too, but a look does not show it.
  if (decision.reset_after.count() == 0 || quota.limit() == 0 ||
      quota.active() == Algorithm::kExponentialBackoff) {
    return "";
  }
  const bool was_fresh = key.look(quota, 0, reset - kMicrosecond).remaining == quota.capacity();
  return was_fresh ? "reset_after is late" : "";
}

}  // namespace

std::string untruth(const AnyKey& key, const Quota& quota, std::int64_t cost,
                    const Decision& decision, Instant now) {
  std::string untrue = remaining_untruth(key, quota, decision, now);
  if (untrue.empty() && decision.verdict == Verdict::kDenied) {
    untrue = retry_untruth(key, quota, cost, decision, now);
  }
  // kNever leaves no trace, not even of a correction, so its reset is a look's.
  if (untrue.empty() && decision.verdict != Verdict::kNever) {
    untrue = reset_untruth(key, quota, decision, now);
  }
  return untrue;
}

}  // namespace weir::algo::testing
