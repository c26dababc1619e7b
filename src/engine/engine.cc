#include "engine/engine.h"

#include "base/assert.h"

namespace weir {

void Check::begin(Operation operation, void (*on_done)(Check&) noexcept) {
  batch_.operation = operation;
  on_done_ = on_done;
  size_ = 0;
}

void Check::add(KeyHash key, const Quota& quota, std::int64_t cost) {
  WEIR_ASSERT(size_ < Batch::kChargesMax);
  WEIR_ASSERT(cost >= -kCostMax && cost <= kCostMax);
  quotas_[size_] = quota;
  charges_[size_] = {.key = key, .quota = &quotas_[size_], .cost = cost};
  ++size_;
}

void Engine::decide(Check& check, Instant now) noexcept {
  check.engine_ = this;
  check.now_ = now;
  check.batch_.charges = {check.charges_.data(), check.size_};
  check.batch_.decisions = {check.decisions_.data(), check.size_};
  check.batch_.error = StoreError::kNone;
  check.batch_.on_done = &Engine::finish;
  check.batch_.context = &check;
  store_.decide(check.batch_, now);
}

void Engine::finish(Batch& batch) noexcept {
  Check& check = *static_cast<Check*>(batch.context);
  check.engine_->count(check);
  check.on_done_(check);
}

void Engine::count(const Check& check) noexcept {
  if (check.error() != StoreError::kNone) {
    traffic_.record_store_error();
    return;
  }
  for (std::size_t index = 0; index < check.size_; ++index) {
    if (check.batch_.operation == Operation::kLook) traffic_.record_look();
    const bool spends = check.batch_.operation == Operation::kSpendEach ||
                        check.batch_.operation == Operation::kSpendAll;
    if (!spends) continue;
    traffic_.record(check.decisions_[index], check.quotas_[index].algorithm(), check.now_);
  }
}

}  // namespace weir
