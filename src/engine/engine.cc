#include "engine/engine.h"

#include <utility>

#include "algo/quota_share.h"

namespace weir {

void KeptBatch::begin(Operation operation, void (*on_done)(KeptBatch&) noexcept) {
  batch_.operation = operation;
  on_done_ = on_done;
  size_ = 0;
}

void KeptBatch::stand_in(std::int64_t nodes, Duration wall_lead) {
  if (nodes == 1 && wall_lead == Duration{0}) return;
  shares_.resize(Batch::kChargesMax);
  for (std::size_t i = 0; i < size_; ++i) {
    shares_[i] = share_of(*charges_[i].quota, nodes);
    if (shares_[i].is_by_calendar()) {
      shares_[i].set_window_ends(moved(shares_[i].window_ends(), -wall_lead));
    }
    charges_[i].quota = &shares_[i];
  }
}

void KeptBatch::decide(Store& store, Instant now, Instant give_up_at) noexcept {
  batch_.charges = {charges_.data(), size_};
  batch_.decisions = {decisions_.data(), size_};
  batch_.error = StoreError::kNone;
  batch_.give_up_at = give_up_at;
  batch_.on_done = &KeptBatch::finish;
  batch_.context = this;
  store.decide(batch_, now);
}

void KeptBatch::finish(Batch& batch) noexcept {
  KeptBatch& kept = *static_cast<KeptBatch*>(batch.context);
  kept.on_done_(kept);
}

void Engine::answer_came(Asker& asker) noexcept {
  const bool is_first = first_answered_ == nullptr;
  (is_first ? first_answered_ : last_answered_->next_) = &asker;
  last_answered_ = &asker;
  if (is_first && on_answered_) on_answered_();
}

// An asker may be gone after it has gone on.
void Engine::go_on(Instant now) {
  while (first_answered_ != nullptr) {
    Asker& asker = *first_answered_;
    first_answered_ = std::exchange(asker.next_, nullptr);
    asker.answered(now);
  }
}

}  // namespace weir
