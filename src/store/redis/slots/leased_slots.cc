#include "store/redis/slots/leased_slots.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/if_memory.h"

namespace weir {
namespace {

// If there are more keys, so many are looked after at a time.
constexpr std::size_t kKeysAtOnce = 1024;
// Errands for which no caller waits follow each other, however many keys are due. So Redis is never
// busy with them for as long as a check has time.
constexpr std::size_t kUnhurriedMax = RedisSender::kChargesWorthACall;

}  // namespace

LeasedSlots::LeasedSlots(const Place& place, RedisSender& sender, Reactor& reactor)
    : place_(place),
      sender_(sender),
      turns_(reactor.make_alarm([this](Instant now) { ring(now); })),
      deadlines_(reactor.make_alarm([this](Instant now) { give_up(now); })) {}

// kNobody: there is no room.
LeasedSlots::PlaceNumber LeasedSlots::place_for(const Charge& charge, Instant now) {
  if (keys_ == nullptr) keys_ = make_if_memory<Keys>(kKeysMax);
  if (keys_ == nullptr) return kNobody;
  const PlaceNumber known = keys_->find(charge.key, charge.tag);
  if (known != kNobody || keys_->is_full()) return known;
  if (keys_->size() == 0) turns_->set(now + SlotShare::kTurn);
  return keys_->add(charge.key, charge.tag);
}

// ---- slots are given out ----

void LeasedSlots::reserve(Batch& batch, HoldOrder& order, Instant now) noexcept {
  WEIR_ASSERT(batch.charges.size() == 1);
  const Charge& charge = batch.charges.front();
  batch.error = StoreError::kNone;
  order.outcome = HoldOrder::Outcome::kDenied;
  const std::int64_t limit = charge.quota->limit();
  batch.decisions[0] = {.limit = limit, .remaining = 0};
  const PlaceNumber place = limit == 0 ? kNobody : place_for(charge, now);
  if (place == kNobody) {
    if (limit == 0) batch.decisions[0].verdict = Verdict::kNever;
    if (limit > 0) order.outcome = HoldOrder::Outcome::kTooMany;
    return batch.on_done(batch);
  }
  Key& key = (*keys_)[place];
  key.limit = limit;
  if (take(place, batch, order, now)) return;
  if (!key.share.is_asked() && !key.share.may_ask(now)) return deny(place, batch, now);
  if (!ask(place, now) || !wait(place, batch, order, now)) return batch.fail();
  sender_.hurry();
}

// The limit may be lower than when Redis lent the slots.
bool LeasedSlots::has_room(const Key& key, std::int64_t held, Instant now) {
  return key.share.has_room(held, now) && held + key.share.others() < key.limit;
}

// False, and no answer, if the core has no slot to give.
bool LeasedSlots::take(PlaceNumber place, Batch& batch, HoldOrder& order, Instant now) {
  Key& key = (*keys_)[place];
  SlotShare& share = key.share;
  const std::int64_t held_before = held(place, now);
  if (!has_room(key, held_before, now)) return false;
  const Quota all = *slot_quota(share.count());
  const auto [decision, token] = place_.tokens.acquire(
      {.key = name_here(place), .quota = &all},
      {.length = order.length, .lease_end = share.end(), .room = HoldingStore::kHoldsMax}, now);
  batch.decisions[0] = decision;
  batch.decisions[0].limit = key.limit;
  batch.decisions[0].remaining =
      std::max<std::int64_t>(0, key.limit - share.others() - held_before - 1);
  order.outcome = token ? HoldOrder::Outcome::kHeld : HoldOrder::Outcome::kTooMany;
  if (token) {
    share.note_taken(held_before + 1);
    order.token = *token;
    order.end = now + key.redis_ahead + order.length;
    order.lender = {place_.core, static_cast<std::uint64_t>(epoch_us(share.since()))};
  }
  batch.on_done(batch);
  return true;
}

void LeasedSlots::deny(PlaceNumber place, Batch& batch, Instant now) {
  SlotShare& share = (*keys_)[place].share;
  share.note_denied();
  Decision& decision = batch.decisions[0];
  decision.verdict = Verdict::kDenied;
  decision.retry_after = decision.more_after = share.retry_after(now);
  decision.reset_after = SlotShare::kLength;
  batch.on_done(batch);
}

void LeasedSlots::commit(Batch& batch, CommitOrder& order, Instant now) noexcept {
  WEIR_ASSERT(order.lender);
  const bool is_ours = (order.lender->high ^ place_.core) < kCoresMax;
  if (!is_ours) return place_.redis.commit(batch, order, now);
  batch.error = StoreError::kNone;
  order.outcome = place_.tokens.release(order.token, now) ? HoldingStore::Commit::kCharged
                                                          : HoldingStore::Commit::kUnknown;
  batch.on_done(batch);
}

// ---- those that wait ----

bool LeasedSlots::wait(PlaceNumber place, Batch& batch, HoldOrder& order, Instant now) {
  std::uint32_t number = free_waiter_;
  const bool has_place =
      number != kNobody || (waiters_.size() < kWaitingMax && has_memory_for([&] {
                              waiters_.push_back({});
                              number = static_cast<std::uint32_t>(waiters_.size() - 1);
                            }));
  if (!has_place) return false;
  if (number == free_waiter_) free_waiter_ = waiters_[number].next;
  const Instant deadline = std::min(now + place_.deadline, batch.give_up_at);
  waiters_[number] = {
      .batch = &batch, .order = &order, .deadline = deadline, .place = place, .next = kNobody};
  if (deadline < next_deadline_) deadlines_->set(next_deadline_ = deadline);
  Key& key = (*keys_)[place];
  (key.waiting == 0 ? key.first_waiter : waiters_[key.last_waiter].next) = number;
  key.last_waiter = number;
  ++key.waiting;
  return true;
}

LeasedSlots::Waiter LeasedSlots::next_waiter(Key& key) {
  const std::uint32_t number = key.first_waiter;
  const Waiter waiter = waiters_[number];
  key.first_waiter = waiter.next;
  --key.waiting;
  waiters_[number].batch = nullptr;
  waiters_[number].next = std::exchange(free_waiter_, number);
  return waiter;
}

// A caller that came after the errand left waits for the next one, so that Redis hears of it first.
void LeasedSlots::wake(PlaceNumber place, Instant now) {
  Key& key = (*keys_)[place];
  const std::uint32_t all = key.waiting;
  for (std::uint32_t woken = 0; woken < all; ++woken) {
    const bool is_asked_for = woken < key.asked_for;
    if (!has_room(key, held(place, now), now) && !is_asked_for && key.share.may_ask(now) &&
        ask(place, now)) {
      return sender_.hurry();
    }
    const Waiter waiter = next_waiter(key);
    if (!take(place, *waiter.batch, *waiter.order, now)) deny(place, *waiter.batch, now);
  }
}

// A caller that came while an errand was out may wait for another one, but not past its deadline.
// The slots that Redis then lends are for others.
void LeasedSlots::give_up(Instant now) {
  next_deadline_ = Instant::max();
  for (std::size_t number = 0; number < waiters_.size(); ++number) {
    if (waiters_[number].batch == nullptr) continue;
    if (waiters_[number].deadline > now) {
      next_deadline_ = std::min(next_deadline_, waiters_[number].deadline);
      continue;
    }
    Key& key = (*keys_)[waiters_[number].place];
    while (key.waiting > 0 && waiters_[key.first_waiter].deadline <= now) {
      if (key.asked_for > 0) --key.asked_for;
      next_waiter(key).batch->fail();
    }
  }
  deadlines_->set(next_deadline_);
}

// ---- errands ----

bool LeasedSlots::ask(PlaceNumber place, Instant now) {
  SlotShare& share = (*keys_)[place].share;
  if (share.is_asked()) return true;
  const Errand errand{.owner = this, .number = place, .operation = ScriptOperation::kLend};
  if (!sender_.add(errand, keys_->charge_of(place), {.due = now, .latest = now}, now)) return false;
  share.ask();
  return true;
}

bool LeasedSlots::pack(Errand& errand, ChargeCall& words, Instant now) {
  errand.deadline = now + place_.deadline;
  Key& key = (*keys_)[errand.number];
  key.asked_for = key.waiting;
  LendTerms wish = key.share.wish(key.limit, held(errand.number, now), key.waiting, now);
  wish.core = place_.core;
  wish.number = ++errands_;
  wish.heard = key.heard;
  const Quota limit = *slot_quota(key.limit);
  const Charge charge = keys_->charge_of(errand.number, &limit, 1);
  words.add_lend(charge, wish);
  return true;
}

ChargeFailure LeasedSlots::answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                                    Instant now) {
  Lent lent;
  const ChargeFailure failure = replies.read_lent(lent);
  if (failure != ChargeFailure::kNone || errand.is_lost) return failure;
  Key& key = (*keys_)[errand.number];
  came_back(key, now);
  const KeyHash name = name_here(errand.number);
  if (!key.share.receive(lent, asked_at, now)) place_.tokens.renew(name, now, now);
  place_.tokens.renew(name, key.share.end(), now);
  key.redis_ahead = replies.time() - asked_at;
  for (const HoldToken& token : std::span(lent.released).first(lent.released_count)) {
    place_.tokens.release(token, now);
    key.heard = token;
  }
  wake(errand.number, now);
  if (lent.released_count == Lent::kReleasedMax) ask(errand.number, now);  // there are more
  return failure;
}

void LeasedSlots::lost(const Errand& errand, Instant now) {
  Key& key = (*keys_)[errand.number];
  came_back(key, now);
  key.share.lost();
  for (std::uint32_t waiting = key.waiting; waiting > 0; --waiting) next_waiter(key).batch->fail();
}

// ---- turns ----

void LeasedSlots::look_after(PlaceNumber place, Instant now) {
  Key& key = (*keys_)[place];
  const std::int64_t held_now = held(place, now);
  key.share.turn(held_now);
  if (key.waiting == 0 && key.share.is_over(held_now, now)) return keys_->remove(place);
  if (!key.share.wants_errand(held_now, now) || sender_.is_away() || !ask(place, now)) return;
  key.is_unhurried = true;
  ++unhurried_;
}

// Goes on when errands come back, if many are under way.
void LeasedSlots::ring(Instant now) {
  const std::size_t all = keys_->size();
  const std::size_t some = std::min(all, kKeysAtOnce);
  for (std::size_t i = 0; i < some && unhurried_ < kUnhurriedMax; ++i) {
    look_after(keys_->next_in_turn(), now);
  }
  if (keys_->size() == 0) return keys_.reset();
  if (unhurried_ < kUnhurriedMax) turns_->set(now + SlotShare::kTurn * some / all);
}

void LeasedSlots::came_back(Key& key, Instant now) {
  if (std::exchange(key.is_unhurried, false) && unhurried_-- == kUnhurriedMax) turns_->set(now);
}

}  // namespace weir
