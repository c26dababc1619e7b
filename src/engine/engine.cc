#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "engine/visit.h"

namespace weir {

void Check::begin(Operation operation, void (*on_done)(Check&) noexcept) {
  batch_.operation = operation;
  on_done_ = on_done;
  size_ = 0;
}

void Check::add(KeyHash key, const Quota& quota, std::int64_t cost, std::uint64_t tag) {
  WEIR_ASSERT(size_ < Batch::kChargesMax);
  WEIR_ASSERT(cost >= -kCostMax && cost <= kCostMax);
  quotas_[size_] = quota;
  charges_[size_] = {.key = key, .quota = &quotas_[size_], .cost = cost, .tag = tag};
  ++size_;
}

void Check::decide(Store& store, Instant now) noexcept {
  batch_.charges = {charges_.data(), size_};
  batch_.decisions = {decisions_.data(), size_};
  batch_.error = StoreError::kNone;
  batch_.on_done = &Check::finish;
  batch_.context = this;
  store.decide(batch_, now);
}

bool Check::asks_same(const Check& other) const {
  if (batch_.operation != other.batch_.operation || size_ != other.size_) return false;
  return std::equal(charges_.begin(), charges_.begin() + static_cast<std::ptrdiff_t>(size_),
                    other.charges_.begin(), [](const Charge& one, const Charge& two) {
                      return one.key == two.key && one.cost == two.cost;
                    });
}

void Check::finish(Batch& batch) noexcept {
  Check& check = *static_cast<Check*>(batch.context);
  check.on_done_(check);
}

void Engine::resume(std::shared_ptr<Visit> visit) {
  if (visit != nullptr) {
    visit->rewind();
    visit_ = std::move(visit);
  } else if (waits()) {
    visit_.reset();  // of a door that could not wait
  } else {
    settle();
  }
}

Visit& Engine::visit() {
  if (visit_ == nullptr) visit_ = std::make_shared<Visit>();
  return *visit_;
}

void Engine::settle() {
  if (visit_ != nullptr) visit_->forget();
}

bool Engine::waits() const { return visit_ != nullptr && visit_->waits(); }

std::shared_ptr<Visit> Engine::pause(Waker& waker) {
  WEIR_ASSERT(waits());
  visit_->waker_ = &waker;
  return std::move(visit_);
}

}  // namespace weir
