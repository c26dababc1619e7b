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

void LostHolds::add(std::span<const Charge> charges, const HoldOrder& order,
                    Instant since) noexcept {
  if (waiting_.size() == kWaitingMax) return;
  Lost lost{.token = {.hold = order.token, .tag = charges.front().tag, .size = charges.size()},
            .length = order.length,
            .since = since};
  std::ranges::transform(charges, lost.token.keys.begin(), &Charge::key);
  if (has_memory_for([&] { waiting_.push_back(lost); }) && !is_out_) alarm_->set(since);
}

void LostHolds::end_next(Instant now) {
  while (!waiting_.empty() && waiting_.front().since + waiting_.front().length <= now) {
    waiting_.pop_front();
  }
  if (waiting_.empty()) return;
  static const Quota kAny;
  const auto& [token, length, since] = waiting_.front();
  order_ = {.token = token.hold, .length = length, .age = now - since};
  for (std::size_t i = 0; i < token.size; ++i) {
    charges_[i] = {.key = token.keys[i], .quota = &kAny, .cost = 1, .tag = token.tag};
  }
  batch_.charges = std::span(charges_).first(token.size);
  batch_.decisions = std::span(decisions_).first(token.size);
  asked_at_ = now;
  is_out_ = true;
  holds_.commit(batch_, order_, now);
}

void LostHolds::ended() {
  is_out_ = false;
  const bool is_told = batch_.error == StoreError::kNone;
  if (is_told) {
    waiting_.pop_front();
  } else {
    std::ranges::rotate(waiting_, waiting_.begin() + 1);  // one that fails always holds up no other
  }
  alarm_->set(is_told ? asked_at_ : asked_at_ + kRetry);
}

}  // namespace weir
