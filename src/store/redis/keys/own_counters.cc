#include "store/redis/keys/own_counters.h"

#include <algorithm>

#include "algo/quota_share.h"

namespace weir {
namespace {

// Whether a denial changes counters, too.
bool is_entered_whatever(Operation operation) {
  return operation == Operation::kCharge || operation == Operation::kDrain;
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
  if (memory_ == nullptr || answered.operation == Operation::kLook) return;
  const bool is_joint = answered.operation == Operation::kSpendAll;
  if (is_joint && !std::ranges::all_of(answered.decisions, &Decision::allowed)) return;
  for (std::size_t index = 0; index < answered.charges.size(); ++index) {
    if (answered.operation == Operation::kReset) {
      decide(Operation::kReset, answered.charges[index], now);
    } else if (is_entered_whatever(answered.operation)) {
      enter_as(answered.operation, answered.charges[index], now);
    } else if (answered.decisions[index].allowed()) {
      enter(answered.charges[index], now);
    }
  }
}

Quota OwnCounters::own_quota(const Quota& quota) const {
  const Algorithm algorithm = quota.algorithm();
  const bool is_bucket = algorithm == Algorithm::kTokenBucket || algorithm == Algorithm::kAdaptive;
  return is_bucket && live_nodes_ ? share_of(quota, live_nodes_()) : quota;
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

}  // namespace weir
