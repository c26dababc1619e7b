#include "store/redis/slots/slot_share.h"

namespace weir {

LendTerms SlotShare::wish(std::int64_t limit, std::int64_t held, std::int64_t waiting,
                          Instant now) {
  asked_for_ = needed(held) + waiting;
  count_ = is_lent(now) ? kept(held, waiting) : 0;
  LendTerms wish{
      .kept = count_, .since = since_, .needed = std::min(limit, asked_for_), .length = kLength};
  const std::int64_t ahead = wish.needed > count_ ? 1 + wish.needed / 2 : 0;
  wish.wanted = std::max(count_, std::min(limit, wish.needed + ahead));
  told_ = std::max(told_, wish.needed);
  told_until_ = now + kLength;
  limit_ = limit;
  return wish;
}

bool SlotShare::receive(const Lent& grant, Instant asked_at, Instant now) {
  // Clocks may drift apart by this part.
  constexpr int kDriftPart = 128;
  const bool goes_on = grant.since == since_;
  is_asked_ = false;
  count_ = grant.count;
  fair_ = grant.fair;
  others_ = grant.others;
  since_ = grant.since;
  end_ = asked_at + grant.length - grant.length / kDriftPart;
  renew_at_ = asked_at + grant.length / 3;
  told_ = std::min(limit_, asked_for_);
  told_until_ = now + kLength;
  const bool is_content = count_ >= asked_for_;
  const Duration pause = is_content ? Duration{0} : count_ < fair_ ? kPause : kPauseAtPart;
  ask_again_ = now + std::max(pause, grant.wait);
  return goes_on;
}

void SlotShare::turn(std::int64_t held) {
  peak_before_ = std::max(peak_, held);
  peak_ = held;
  unmet_before_ = unmet_;
  unmet_ = 0;
}

bool SlotShare::wants_errand(std::int64_t held, Instant now) const {
  // This part of the lent slots may be idle until the lease is renewed.
  constexpr int kIdlePart = 8;
  constexpr int kLessPart = 4;
  if (is_asked_) return false;
  const std::int64_t idle = is_lent(now) ? count_ - kept(held, 0) : 0;
  if (is_lent(now) && (now >= renew_at_ || (idle > 0 && idle * kIdlePart >= count_))) return true;
  const std::int64_t less = told_ - needed(held);
  return less > 0 && now < told_until_ && (needed(held) == 0 || less * kLessPart >= told_);
}

bool SlotShare::is_over(std::int64_t held, Instant now) const {
  const bool is_told = told_ > 0 && now < told_until_;
  return !is_asked_ && !is_lent(now) && needed(held) == 0 && !is_told;
}

}  // namespace weir
