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
  check.batch_.charges = {check.charges_.data(), check.size_};
  check.batch_.decisions = {check.decisions_.data(), check.size_};
  check.batch_.error = StoreError::kNone;
  check.batch_.on_done = &Engine::finish;
  check.batch_.context = &check;
  store_.decide(check.batch_, now);
}

void Engine::finish(Batch& batch) noexcept {
  Check& check = *static_cast<Check*>(batch.context);
  check.on_done_(check);
}

}  // namespace weir
