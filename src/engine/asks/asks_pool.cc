#include "engine/asks/asks_pool.h"

#include <utility>

namespace weir {

AsksPtr AsksPool::take(Operation operation) {
  if (spare_.empty()) {
    spare_.reserve(all_.size() + 1);  // so that giving back cannot fail
    all_.push_back(std::make_unique<Asks>(engine_, blocks_, this));
    all_.back()->place_ = all_.size() - 1;
    spare_.push_back(all_.back().get());
  }
  AsksPtr asks(spare_.back());
  spare_.pop_back();
  asks->begin(operation);
  return asks;
}

void AsksPool::take_again(AsksPtr& asks, Operation operation) {
  const bool is_free = asks != nullptr && asks->pool_ == this && !asks->trips_.are_open() &&
                       asks->progress_ != Asks::Progress::kWaits;
  if (!is_free) {
    asks.reset();
    asks = take(operation);
    return;
  }
  asks->rules_.reset();
  asks->round_.forget_long_keys();
  asks->begin(operation);
}

void AsksPool::give_back(Asks& asks) noexcept {
  asks.is_abandoned_ = false;
  asks.rules_.reset();
  asks.round_.forget_long_keys();
  if (spare_.size() < kSpareMax) return spare_.push_back(&asks);
  const std::size_t place = asks.place_;
  std::swap(all_[place], all_.back());
  all_[place]->place_ = place;
  all_.pop_back();
}

void ReturnAsks::operator()(Asks* asks) const noexcept {
  asks->listener_ = nullptr;
  asks->is_abandoned_ = asks->trips_.are_open() || asks->progress_ == Asks::Progress::kWaits;
  if (!asks->is_abandoned_) return asks->pool_->give_back(*asks);
  asks->keep_rules();
}

}  // namespace weir
