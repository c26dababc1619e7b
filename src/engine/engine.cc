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

void Check::decide(Store& store, Instant now, Instant give_up_at) noexcept {
  batch_.charges = {charges_.data(), size_};
  batch_.decisions = {decisions_.data(), size_};
  batch_.error = StoreError::kNone;
  batch_.give_up_at = give_up_at;
  batch_.on_done = &Check::finish;
  batch_.context = this;
  store.decide(batch_, now);
}

void Check::turn_round() {
  batch_.operation = Operation::kSpendEach;
  for (std::size_t index = 0; index < size_; ++index) {
    charges_[index].cost = -std::max<std::int64_t>(0, charges_[index].cost);
  }
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

void Engine::join(Fleet& fleet, std::function<void()> on_abandoned) {
  fleet_ = &fleet;
  abandoned_ = std::make_shared<Abandoned>(std::move(on_abandoned));
}

void Engine::give_back(Instant now) {
  if (abandoned_ != nullptr) abandoned_->give_back(now);
}

void Engine::resume(std::shared_ptr<Visit> visit) {
  if (visit != nullptr) {
    visit->rewind();
    if (visit_ != nullptr && settle()) spare_visits_.push_back(std::move(visit_));
    if (spare_visits_.size() > kSpareVisitsMax) spare_visits_.pop_back();
    visit_ = std::move(visit);
  } else if (!settle()) {
    visit_.reset();  // of a door that could not wait
  }
}

Visit& Engine::visit() {
  if (visit_ != nullptr) return *visit_;
  if (spare_visits_.empty()) {
    if (abandoned_ == nullptr) abandoned_ = std::make_shared<Abandoned>();
    visit_ = std::make_shared<Visit>(abandoned_);
  } else {
    visit_ = std::move(spare_visits_.back());
    spare_visits_.pop_back();
  }
  return *visit_;
}

bool Engine::settle() {
  if (waits()) return false;
  if (visit_ != nullptr) visit_->forget();
  return true;
}

bool Engine::waits() const { return visit_ != nullptr && visit_->waits(); }

std::shared_ptr<Visit> Engine::pause(Waker& waker) {
  WEIR_ASSERT(waits());
  visit_->waker_ = &waker;
  return std::move(visit_);
}

}  // namespace weir
