#include "store/redis/leased/leased_key.h"

#include <algorithm>
#include <utility>

#include "algo/wide_math.h"
#include "base/assert.h"

namespace weir {
namespace {

// Short leases are for keys that spend so much within one. For logs and buckets they cost a little
// more than is spent.
constexpr std::int64_t kBusyDemand = 4;
// Demand may grow by this factor.
constexpr std::int64_t kGrowth = 8;
// A long lease with a smaller part of what remains than this is left to expire.
constexpr std::int64_t kTriflePart = 64;

}  // namespace

// An adaptive quota may become a bucket at any time, and then owes the rest of a lease.
Duration lease_length(const Quota& quota) {
  constexpr int kWindowPart = 8;  // so that returned units find others within their window
  constexpr int kPart = 16;
  const Duration window = quota.window();
  if (quota.limit() == 0) return Duration{0};
  switch (quota.algorithm()) {
    case Algorithm::kFixedWindow:
    case Algorithm::kCalendarWindow:
    case Algorithm::kSlidingWindow: return std::min(LeasedKey::kLengthMax, window / kWindowPart);
    case Algorithm::kSlidingLog: return std::min(LeasedKey::kLengthMax, window / kPart);
    case Algorithm::kTokenBucket: {
      const Duration fills_in{algo::mul_div_floor(quota.capacity(), window.count(), quota.limit())};
      return std::min({LeasedKey::kLengthMax, window, fills_in / kPart});
    }
    case Algorithm::kAdaptive:
      if (quota.active() == Algorithm::kExponentialBackoff) break;
      return std::min(LeasedKey::kLengthMax, window / kPart);
    case Algorithm::kExponentialBackoff:
    case Algorithm::kStrictWindow: break;  // no store shares it
  }
  return Duration{0};
}

// An adaptive bucket has none: if it becomes counts, those do not remember held units.
Duration long_lease_length(const Quota& quota) {
  constexpr int kLogPart = 8;  // leased units count for longer than spent ones
  const Duration window = quota.window();
  if (quota.switches() && quota.active() != Algorithm::kSlidingWindow) return Duration{0};
  const bool is_log = quota.algorithm() == Algorithm::kSlidingLog;
  return std::min(LeasedKey::kLongMax, is_log ? window / kLogPart : window);
}

// All units of a fixed window come back at once, when it ends.
Duration trickle_length(const Quota& quota) {
  constexpr Duration kMax = std::chrono::milliseconds(250);
  constexpr int kPart = 64;
  if (quota.is_fixed()) return Duration{0};
  return std::min(kMax, quota.window() / kPart);
}

void LeasedKey::set_terms(const Quota& quota) {
  quota_ = quota;
  switch_number_ = quota.switch_number();
  limit_ = quota.limit();
  capacity_ = quota.capacity();
}

// ---- what is held ----

std::int64_t LeasedKey::drop_expired(Instant now) {
  std::int64_t expired = 0;
  for (std::size_t lease = 0; lease < kLeases; ++lease) {
    if (leases_[lease].units == 0 || leases_[lease].end > now) continue;
    expired += leases_[lease].units;
    drop(lease);
  }
  if (leases_[0].units == 0 && leases_[1].units > 0) {
    std::swap(leases_[0], leases_[1]);
    std::swap(origins_[0], origins_[1]);
  }
  return expired;
}

// Nobody wanted the rest of the lease.
void LeasedKey::drop(std::size_t lease) {
  held_then_ -= std::exchange(leases_[lease].units, 0);
  origins_[lease].units_told = 0;
}

Decision LeasedKey::spend(std::int64_t cost, Instant now) {
  used_at_ = now;
  for (Held& lease : leases_) {
    const std::int64_t spent = std::min(cost, lease.units);
    lease.units -= spent;
    cost -= spent;
  }
  WEIR_ASSERT(cost == 0);
  Decision decision;
  decision.limit = capacity_;
  decision.remaining = std::min(capacity_, left_in_redis_ + held());
  decision.reset_after = std::max(Duration{0}, reset_at_ - now);
  if (decision.remaining < capacity_) {
    decision.more_after = more_at_ > now ? more_at_ - now : decision.reset_after;
  }
  return decision;
}

bool LeasedKey::take_back(std::int64_t units, Instant now) {
  Held& lease = leases_[0];
  if (lease.end <= now || lease.units + units > origins_[0].units_told) return false;
  lease.units += units;
  return true;
}

// ---- leases come and go ----

void LeasedKey::note_state(const Decision& decision, Instant now) {
  left_in_redis_ = decision.remaining;
  reset_at_ = now + decision.reset_after;
  more_at_ = now + decision.more_after;
}

Instant LeasedKey::receive(const Grant& grant, Instant now) {
  const Duration length = grant.lease.length;
  const Held lease{.units = grant.lease.units, .end = grant.asked_at + length};
  const Origin origin{.end_at_redis = grant.time_at_redis + length,
                      .return_at = grant.asked_at + length * 3 / 4,
                      .units_told = lease.units,
                      .is_long = grant.lease.is_long};
  const std::int64_t enough = std::max(lease.units / (origin.is_long ? 8 : 4), demand_soon(now));
  measure_demand(now);
  put(leases_[0].units == 0 ? 0 : 1, lease, origin);
  held_then_ = held();
  ask_at_ = grant.asked_at + (origin.is_long ? length * 7 / 8 : length / 2);
  ask_at_units_ = std::min(lease.units, enough);
  return origin.return_at;
}

// Puts the lease into its place, or merges it with the one there; the two then end when the first
// of them does. Redis holds nothing for a short lease, so the result is long if both are.
void LeasedKey::put(std::size_t at, const Held& lease, const Origin& origin) {
  Held& held = leases_[at];
  Origin& from = origins_[at];
  settle(at);
  if (held.units == 0) {
    held = lease;
    from = origin;
    return;
  }
  held = {.units = held.units + lease.units, .end = std::min(held.end, lease.end)};
  from = {.end_at_redis = std::min(from.end_at_redis, origin.end_at_redis),
          .return_at = std::min(from.return_at, origin.return_at),
          .units_told = held.units,
          .is_long = from.is_long && origin.is_long};
}

LeasedKey::Returned LeasedKey::give_back(std::size_t lease, Instant now) {
  const Origin& origin = origins_[lease];
  if (leases_[lease].units == 0 || leases_[lease].end <= now) return {};
  const Returned returned{.units = leases_[lease].units,
                          .settled = origin.is_long ? origin.units_told : 0,
                          .end_at_redis = origin.end_at_redis};
  left_in_redis_ += returned.units;
  drop(lease);
  return returned;
}

// A key in use may still need the units, and other nodes hardly miss a few.
bool LeasedKey::is_to_go_back(std::size_t lease, Instant now) const {
  const Held& held = leases_[lease];
  const Origin& origin = origins_[lease];
  if (held.units == 0 || origin.return_at > now) return false;
  if (!origin.is_long) return true;
  const Duration quarter = held.end - origin.return_at;
  return now - used_at_ >= 2 * quarter && held.units >= left_in_redis_ / kTriflePart;
}

std::int64_t LeasedKey::forget() {
  const std::int64_t void_units = held();
  drop(0);
  drop(1);
  settled_ = 0;
  return void_units;
}

void LeasedKey::settle(LeaseTerms& terms) {
  settle(0);
  settle(1);
  terms.settled = std::exchange(settled_, 0);
  terms.settled_until = settled_until_;
}

void LeasedKey::settle(std::size_t lease) {
  Origin& origin = origins_[lease];
  const std::int64_t spent = origin.units_told - leases_[lease].units;
  if (!origin.is_long || spent <= 0) return;
  origin.units_told -= spent;
  settled_until_ =
      settled_ == 0 ? origin.end_at_redis : std::min(settled_until_, origin.end_at_redis);
  settled_ += spent;
}

// ---- demand ----

// Demand is measured from now on.
void LeasedKey::measure_demand(Instant now) {
  earlier_since_ = demand_since_;
  earlier_demand_ = demand();
  demand_since_ = now;
  held_then_ = held();
  demand_counted_ = 0;
}

void LeasedKey::count_demand(std::int64_t cost, Instant now) {
  if (now - demand_since_ >= kLongMax) measure_demand(now);
  demand_counted_ = std::min(kUnitsMax, demand_counted_ + cost);
}

std::int64_t LeasedKey::demand_within(Duration length, Instant now) const {
  const auto at_rate = [&](std::int64_t units, Instant since) {
    constexpr Duration kGrain = std::chrono::milliseconds(1);
    const Duration elapsed = std::max(kGrain, now - since);
    units = std::max<std::int64_t>(0, units);  // more may have come back than was spent
    const std::int64_t most = kGrowth * std::max<std::int64_t>(1, units);
    return std::min(most, algo::mul_div_floor(units, length.count(), elapsed.count()));
  };
  return std::max(at_rate(demand(), demand_since_),
                  at_rate(demand() + earlier_demand(now), earlier_since_));
}

std::int64_t LeasedKey::earlier_demand(Instant now) const {
  return now - demand_since_ < kLengthMax ? earlier_demand_ : 0;
}

// At most the demand so far: more, after a burst, would leave nothing for others.
std::int64_t LeasedKey::demand_soon(Instant now) const {
  const std::int64_t known = std::max<std::int64_t>(0, demand() + earlier_demand(now));
  return std::min(known, demand_within(kAheadMin, now));
}

bool LeasedKey::is_busy(Instant now) const {
  return demand() + earlier_demand(now) >= kBusyDemand &&
         demand_within(lease_length(quota_), now) >= kBusyDemand;
}

}  // namespace weir
