#include "store/redis/keys/own_counters.h"

#include <algorithm>
#include <array>

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

void OwnCounters::enter(const Batch& answered, Instant now) {
  if (memory_ == nullptr || answered.operation == Operation::kLook) return;
  const bool is_joint = answered.operation == Operation::kSpendAll;
  if (is_joint && !std::ranges::all_of(answered.decisions, &Decision::allowed)) return;
  std::array<Charge, Batch::kChargesMax> charged;
  std::array<Decision, Batch::kChargesMax> decisions;
  std::size_t count = 0;
  const bool resets = answered.operation == Operation::kReset;
  for (std::size_t index = 0; index < answered.charges.size(); ++index) {
    if (resets || answered.decisions[index].allowed()) charged[count++] = answered.charges[index];
  }
  const auto operation = resets ? Operation::kReset : Operation::kSpendEach;
  decide(*memory_, operation, std::span(charged).first(count), decisions, now);
}

void OwnCounters::enter(const Charge& charge, Instant now) {
  if (memory_ == nullptr || charge.cost == 0) return;
  std::array<Decision, 1> decision;
  decide(*memory_, Operation::kSpendEach, {&charge, 1}, decision, now);
  if (decision.front().allowed() || decision.front().remaining == 0) return;
  Charge rest = charge;
  rest.cost = decision.front().remaining;
  decide(*memory_, Operation::kSpendEach, {&rest, 1}, decision, now);
}

}  // namespace weir
