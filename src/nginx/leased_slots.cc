#include "nginx/leased_slots.h"

#include <iterator>
#include <utility>

#include "base/assert.h"

namespace weir::nginx {

void RequestSlot::begin(Instant now) {
  has_begun_ = true;
  asks_->holding().reserve(kHold);
  if (asks_->decide(now) == Asks::Progress::kWaits) asks_->listen(*this);
}

// If a slot is not counted because the store is full, `on_full` decides.
bool RequestSlot::lets_pass() const {
  if (asks_->progress() != Asks::Progress::kAnswered || !asks_->answer(0).allowed()) return false;
  const bool is_counted = asks_->answer(0).cause == Answer::Cause::kCounted;
  return !is_counted || asks_->holding().has_held() || asks_->ask(0).is_shadow() ||
         asks_->ask(0).rule->on_full == OnFull::kAllow;
}

void RequestSlot::let_stay(Instant now) {
  if (asks_ == nullptr) return;
  const Holding& holding = asks_->holding();
  if (has_begun_ && holding.has_held()) token_ = holding.hold(now).token;
  slots_.answered_.push_back(std::move(asks_));
}

// If Redis is asked, no request waits for its answer. Without an answer, its store asks again.
void RequestSlot::give_back(Instant now) {
  let_stay(now);
  if (token_.empty()) return;
  const AsksPtr asks = pool_.take(Operation::kLook);
  asks->holding().release(token_);
  asks->decide(now);
}

void RequestSlot::decided() noexcept { slots_.due_.wake(who_ == nullptr ? *this : *who_); }

void RequestSlot::resume() {
  if (!waits()) slots_.finish(*this);
}

const RequestSlot* RequestSlots::missing() const {
  const auto missing = std::ranges::find_if_not(slots_, &RequestSlot::lets_pass);
  return missing == slots_.end() ? nullptr : &*missing;
}

const Asks& RequestSlots::deciding(const Asks& rest) const {
  if (const RequestSlot* const slot = missing()) return slot->asks();
  return rest.empty() && !slots_.empty() ? slots_.front().asks() : rest;
}

Asks* LeasedSlots::ask(AsksPool& pool, const Ask& ask, const Request& request, RequestSlots& to) {
  const auto is_same = [&](const RequestSlot& slot) { return slot.asks().has(ask); };
  if (std::ranges::any_of(to.slots_, is_same)) return nullptr;
  AsksPtr asks = pool.take(Operation::kSpendEach);
  Asks* const added = asks.get();
  WEIR_ASSERT(asks->add(ask));
  asks->describe(request);
  to.slots_.emplace_back(*this, pool, std::move(asks));
  return added;
}

void LeasedSlots::give_back(RequestSlots& ended) {
  const Instant now = clock_.now();
  auto& slots = ended.slots_;
  for (auto slot = slots.begin(); slot != slots.end();) {
    const auto next = std::next(slot);
    slot->belong_to(nullptr);
    if (slot->waits()) {
      left_.splice(left_.end(), slots, slot);
    } else {
      slot->give_back(now);
      slots.erase(slot);
    }
    slot = next;
  }
}

void LeasedSlots::finish(const RequestSlot& slot) {
  left_.remove_if([&](RequestSlot& left) {
    if (&left != &slot) return false;
    left.give_back(clock_.now());
    return true;
  });
}

}  // namespace weir::nginx
