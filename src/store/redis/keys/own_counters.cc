#include "store/redis/keys/own_counters.h"

#include <algorithm>
#include <utility>

#include "algo/quota_share.h"
#include "base/assert.h"

namespace weir {
namespace {

// Whether the counter is entered by a share: buckets, and quotas that may become buckets.
bool is_entered_by_share(const Quota& quota) {
  return quota.switches() || quota.algorithm() == Algorithm::kTokenBucket;
}

// Whether a denial changes counters, too.
bool is_entered_whatever(Operation operation) {
  return operation == Operation::kCharge || operation == Operation::kDrain;
}

// Whether Redis forgets the window of its answer long before this node would. The answer was for
// the window before ours, which ended while the answer was on its way, or Redis's clock is behind.
bool ends_before(const Decision& said, const Quota& quota, Instant now) {
  if (quota.active() == Algorithm::kTokenBucket) return false;  // it fills at one speed everywhere
  const std::int64_t window_us = quota.window().count();
  const bool is_log = quota.active() == Algorithm::kSlidingLog;
  const std::int64_t lasts_us = is_log ? window_us : window_us - epoch_us(now) % window_us;
  return 2 * said.reset_after.count() < lasts_us;
}

}  // namespace

OwnCounters::OwnCounters(Store* memory, LiveNodes live_nodes)
    : memory_(memory), live_nodes_(std::move(live_nodes)) {
  WEIR_ASSERT(memory == nullptr || memory->answers_at_once());
}

void OwnCounters::enter(const Batch& answered, Instant now) {
  if (memory_ == nullptr) return;
  const bool is_joint = answered.operation == Operation::kSpendAll;
  const bool is_charged = !is_joint || std::ranges::all_of(answered.decisions, &Decision::allowed);
  for (std::size_t index = 0; index < answered.charges.size(); ++index) {
    const Left left = is_charged ? enter_answer(answered, index, now) : std::nullopt;
    lower_from(left, answered.charges[index], answered.decisions[index], now);
  }
}

OwnCounters::Left OwnCounters::enter_answer(const Batch& answered, std::size_t index, Instant now) {
  const Charge& charge = answered.charges[index];
  if (is_hit(answered.operation)) {
    return answered.decisions[index].allowed() ? enter_units(charge, now) : std::nullopt;
  }
  if (answered.operation == Operation::kReset) memory_->decide_one(Operation::kReset, charge, now);
  if (is_entered_whatever(answered.operation)) enter_as(answered.operation, charge, now);
  return std::nullopt;
}

void OwnCounters::enter_as(Operation operation, const Charge& charge, Instant now) {
  const Quota share = share_of(*charge.quota, is_entered_by_share(*charge.quota) ? nodes() : 1);
  Charge entered = charge;
  entered.quota = &share;
  memory_->decide_one(operation, entered, now);
}

// Enters fewer units if the counter has fewer left.
OwnCounters::Left OwnCounters::enter_units(const Charge& charge, Instant now) {
  if (memory_ == nullptr || charge.cost == 0) return std::nullopt;
  const std::int64_t shares = nodes();
  const bool is_by_share = is_entered_by_share(*charge.quota);
  const Quota share = share_of(*charge.quota, is_by_share ? shares : 1);
  Charge entered = charge;
  entered.quota = &share;
  Decision decision = memory_->decide_one(Operation::kSpendEach, entered, now);
  if (!decision.allowed() && decision.remaining > 0) {
    entered.cost = decision.remaining;
    decision = memory_->decide_one(Operation::kSpendEach, entered, now);
  }
  return is_by_share || shares <= 1 ? Left(decision.remaining) : std::nullopt;
}

void OwnCounters::lower_from(Left left, const Charge& charge, const Decision& said, Instant now) {
  if (memory_ == nullptr || ends_before(said, *charge.quota, now)) return;
  const std::int64_t shares = nodes();
  const std::int64_t part = (said.remaining + shares - 1) / shares;
  if (left && *left <= part) return;
  const Quota share = share_of(*charge.quota, shares);
  Charge others{.key = charge.key, .quota = &share, .cost = 0};
  others.cost =
      (left ? *left : memory_->decide_one(Operation::kLook, others, now).remaining) - part;
  if (others.cost > 0) memory_->decide_one(Operation::kSpendEach, others, now);
}

}  // namespace weir
