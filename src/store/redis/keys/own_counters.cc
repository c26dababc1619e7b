#include "store/redis/keys/own_counters.h"

#include <algorithm>
#include <array>

#include "algo/quota_share.h"

namespace weir {
namespace {

void decide(Store& memory, Operation operation, std::span<const Charge> charges,
            std::span<Decision> decisions, Instant now) {
  Batch batch{.operation = operation,
              .charges = charges,
              .decisions = decisions.first(charges.size()),
              .on_done = [](Batch&) noexcept {}};
  memory.decide(batch, now);
}

}  // namespace

Quota OwnCounters::entered_as(const Quota& quota) const {
  if (quota.algorithm() != Algorithm::kTokenBucket || !live_nodes_) return quota;
  return share_of(quota, live_nodes_());
}

void OwnCounters::enter(const Batch& answered, Instant now) {
  if (memory_ == nullptr || answered.operation == Operation::kLook) return;
  const bool is_joint = answered.operation == Operation::kSpendAll;
  if (is_joint && !std::ranges::all_of(answered.decisions, &Decision::allowed)) return;
  std::array<Charge, Batch::kChargesMax> charged;
  std::array<Quota, Batch::kChargesMax> quotas;
  std::array<Decision, Batch::kChargesMax> decisions;
  std::size_t count = 0;
  const bool resets = answered.operation == Operation::kReset;
  for (std::size_t index = 0; index < answered.charges.size(); ++index) {
    if (!resets && !answered.decisions[index].allowed()) continue;
    quotas[count] = entered_as(*answered.charges[index].quota);
    charged[count] = answered.charges[index];
    charged[count].quota = &quotas[count];
    ++count;
  }
  const auto operation = resets ? Operation::kReset : Operation::kSpendEach;
  decide(*memory_, operation, std::span(charged).first(count), decisions, now);
  for (std::size_t i = 0; i < count && !resets; ++i) spend_rest(charged[i], decisions[i], now);
}

void OwnCounters::enter(const Charge& charge, Instant now) {
  if (memory_ == nullptr || charge.cost == 0) return;
  const Quota quota = entered_as(*charge.quota);
  Charge entered = charge;
  entered.quota = &quota;
  std::array<Decision, 1> decision;
  decide(*memory_, Operation::kSpendEach, {&entered, 1}, decision, now);
  spend_rest(entered, decision.front(), now);
}

// The counter has less left than was admitted.
void OwnCounters::spend_rest(const Charge& charge, const Decision& decision, Instant now) {
  if (decision.allowed() || decision.remaining == 0) return;
  Charge rest = charge;
  rest.cost = decision.remaining;
  std::array<Decision, 1> spent;
  decide(*memory_, Operation::kSpendEach, {&rest, 1}, spent, now);
}

}  // namespace weir
