#include "store/redis/strict/lost_holds.h"

#include <algorithm>

#include "base/if_memory.h"

namespace weir {

LostHolds::LostHolds(SharedHolds& holds, Reactor& reactor)
    : holds_(holds), alarm_(reactor.make_alarm([this](Instant now) { end_next(now); })) {
  batch_.operation = Operation::kReset;
  batch_.context = this;
  batch_.on_done = [](Batch& batch) noexcept { static_cast<LostHolds*>(batch.context)->ended(); };
}

void LostHolds::add(std::span<const Charge> charges, const CommitOrder& order, Instant since,
                    Instant until) noexcept {
  if (&order == &order_ || waiting_.size() == kWaitingMax) return;
  Lost lost{.order = order,
            .keys = {},
            .size = charges.size(),
            .tag = charges.front().tag,
            .since = since,
            .until = until};
  std::ranges::transform(charges, lost.keys.begin(), &Charge::key);
  const bool is_kept = has_memory_for([&] { waiting_.push_back(lost); });
  if (is_kept && waiting_.size() == 1) alarm_->set(since);
}

void LostHolds::end_next(Instant now) {
  while (!waiting_.empty() && waiting_.front().until <= now) waiting_.pop_front();
  if (waiting_.empty()) {
    pause_ = kRetry;
    return;
  }
  static const Quota kAny;
  const Lost& lost = waiting_.front();
  order_ = lost.order;
  if (order_.length > Duration{0}) order_.age = now - lost.since;
  for (std::size_t i = 0; i < lost.size; ++i) {
    charges_[i] = {.key = lost.keys[i], .quota = &kAny, .cost = 1, .tag = lost.tag};
  }
  batch_.charges = std::span(charges_).first(lost.size);
  batch_.decisions = std::span(decisions_).first(lost.size);
  asked_at_ = now;
  holds_.commit(batch_, order_, now);
}

void LostHolds::ended() {
  const bool is_told = batch_.error == StoreError::kNone;
  if (is_told) {
    waiting_.pop_front();
  } else {
    // One that fails always holds up no other.
    waiting_.splice(waiting_.end(), waiting_, waiting_.begin());
  }
  alarm_->set(is_told ? asked_at_ : asked_at_ + pause_);
  pause_ = is_told ? kRetry : std::min(2 * pause_, kRetryMax);
}

}  // namespace weir
