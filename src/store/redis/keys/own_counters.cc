#include "store/redis/keys/own_counters.h"

#include <algorithm>

#include "algo/quota_share.h"

namespace weir {
namespace {

// Whether a denial changes counters, too.
bool is_entered_whatever(Operation operation) {
  return operation == Operation::kCharge || operation == Operation::kDrain;
}

// Whether Redis forgets what it has said of long before this node would. It was in the window
// before ours, which ended while the answer was on its way, or its clock is behind.
bool ends_before(const Decision& said, const Quota& quota, Instant now) {
  if (quota.active() == Algorithm::kTokenBucket) return false;  // it fills at one speed everywhere
  const std::int64_t window_us = quota.window().count();
  const bool is_log = quota.active() == Algorithm::kSlidingLog;
  const std::int64_t lasts_us = is_log ? window_us : window_us - epoch_us(now) % window_us;
  return 2 * said.reset_after.count() < lasts_us;
}

}  // namespace

Decision OwnCounters::decide(Operation operation, const Charge& charge, Instant now) {
  Decision decision;
  Batch batch{.operation = operation,
              .charges = {&charge, 1},
              .decisions = {&decision, 1},
              .on_done = [](Batch&) noexcept {}};
  memory_->decide(batch, now);
  return decision;
}

void OwnCounters::enter(const Batch& answered, Instant now) {
  if (memory_ == nullptr) return;
  const bool is_joint = answered.operation == Operation::kSpendAll;
  const bool is_charged = !is_joint || std::ranges::all_of(answered.decisions, &Decision::allowed);
  for (std::size_t index = 0; index < answered.charges.size(); ++index) {
    if (is_charged) enter_answer(answered, index, now);
    lower(answered.charges[index], answered.decisions[index], now);
  }
}

void OwnCounters::enter_answer(const Batch& answered, std::size_t index, Instant now) {
  const Charge& charge = answered.charges[index];
  if (answered.operation == Operation::kLook) return;
  if (answered.operation == Operation::kReset) {
    decide(Operation::kReset, charge, now);
  } else if (is_entered_whatever(answered.operation)) {
    enter_as(answered.operation, charge, now);
  } else if (answered.decisions[index].allowed()) {
    enter(charge, now);
  }
}

Quota OwnCounters::own_quota(const Quota& quota) const {
  const bool is_bucket = quota.switches() || quota.algorithm() == Algorithm::kTokenBucket;
  return is_bucket ? share_of(quota, nodes()) : quota;
}

void OwnCounters::enter_as(Operation operation, const Charge& charge, Instant now) {
  const Quota quota = own_quota(*charge.quota);
  Charge entered = charge;
  entered.quota = &quota;
  decide(operation, entered, now);
}

// If the counter has less left than was admitted, that.
void OwnCounters::enter(const Charge& charge, Instant now) {
  if (memory_ == nullptr || charge.cost == 0) return;
  const Quota quota = own_quota(*charge.quota);
  Charge entered = charge;
  entered.quota = &quota;
  const Decision decision = decide(Operation::kSpendEach, entered, now);
  if (decision.allowed() || decision.remaining == 0) return;
  entered.cost = decision.remaining;
  decide(Operation::kSpendEach, entered, now);
}

void OwnCounters::lower(const Charge& charge, const Decision& said, Instant now) {
  if (memory_ == nullptr || ends_before(said, *charge.quota, now)) return;
  const Quota share = share_of(*charge.quota, nodes());
  const std::int64_t part = (said.remaining + nodes() - 1) / nodes();
  Charge others{.key = charge.key, .quota = &share, .cost = 0};
  others.cost = decide(Operation::kLook, others, now).remaining - part;
  if (others.cost > 0) decide(Operation::kSpendEach, others, now);
}

}  // namespace weir
