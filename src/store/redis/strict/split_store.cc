#include "store/redis/strict/split_store.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/if_memory.h"
#include "store/redis/script/charge_script.h"

namespace weir {

// A batch and its parts: a part has the charges of one slot. Charges are sorted by slot, so a part
// is a contiguous piece of them.
struct SplitStore::Split {
  SplitStore* store = nullptr;
  Instant asked_at;
  Batch* whole = nullptr;  // null: it is answered, and the parts are its refunds
  std::array<Charge, Batch::kChargesMax> charges;
  std::array<Quota, Batch::kChargesMax> quotas;  // of the charges: a refund outlives the whole
  std::array<Decision, Batch::kChargesMax> decisions;
  std::array<std::size_t, Batch::kChargesMax> places;  // of `charges`, in the whole
  std::array<Batch, Batch::kChargesMax> parts;
  std::size_t part_count = 0;
  std::size_t open = 0;  // parts that are not answered
};

namespace {

bool is_in_one_slot(std::span<const Charge> charges) {
  const auto same_place = [&](const Charge& charge) {
    const Charge& first = charges.front();
    const bool same_tag = charge.tag != 0 && charge.tag == first.tag;
    return same_tag || slot_of(charge) == slot_of(first);
  };
  return std::ranges::all_of(charges, same_place);
}

// Longer than a trip takes, unless Redis hangs at that moment.
constexpr Duration kTripMax = std::chrono::milliseconds(50);

// From the charge to the end of its window; a key is as good as new when that or a later one ends.
// A later refund would reduce what others have been charged since. Logs and buckets have no windows
// that end; an adaptive quota may have some, whatever is active now.
Duration time_to_give_back(const Quota& quota, const Decision& decision) {
  switch (quota.algorithm()) {
    case Algorithm::kFixedWindow:
    case Algorithm::kSlidingWindow:
    case Algorithm::kExponentialBackoff:
    case Algorithm::kAdaptive: return decision.reset_after % quota.window();
    case Algorithm::kCalendarWindow: return decision.reset_after;
    case Algorithm::kStrictWindow:
    case Algorithm::kSlidingLog:
    case Algorithm::kTokenBucket: break;
  }
  return Duration::max();
}

bool is_charged(const Batch& part, std::size_t index) {
  if (part.error != StoreError::kNone) return false;
  if (part.operation == Operation::kSpendEach) return part.decisions[index].allowed();
  return std::ranges::all_of(part.decisions, &Decision::allowed);
}

// Whether the parts' charges stay.
bool is_kept(const Batch& whole, std::span<const Batch> parts) {
  const bool never_returns =
      whole.operation == Operation::kCharge || whole.operation == Operation::kDrain;
  if (never_returns) return true;  // rather too much than too little
  if (whole.operation == Operation::kSpendEach) return whole.error == StoreError::kNone;
  const auto charged = [](const Batch& part) { return is_charged(part, 0); };
  return whole.operation != Operation::kSpendAll || std::ranges::all_of(parts, charged);
}

}  // namespace

SplitStore::SplitStore(std::unique_ptr<Store> store, Reactor& reactor)
    : round_end_(reactor.make_alarm([this](Instant now) { give_back(now); })),
      store_(std::move(store)) {
  splits_.reserve(kSplitsMax);
  free_.reserve(kSplitsMax);
  to_give_back_.reserve(kSplitsMax);
}

SplitStore::~SplitStore() = default;

SplitStore::Split* SplitStore::free_split() {
  if (free_.empty()) {
    if (splits_.size() == kSplitsMax) return nullptr;
    auto made = make_if_memory<Split>();
    if (made == nullptr) return nullptr;
    made->store = this;
    free_.push_back(splits_.emplace_back(std::move(made)).get());
  }
  Split* const split = free_.back();
  free_.pop_back();
  return split;
}

void SplitStore::decide(Batch& batch, Instant now) noexcept {
  if (batch.charges.size() < 2 || is_in_one_slot(batch.charges)) return store_->decide(batch, now);
  Split* const split = free_split();
  if (split == nullptr) return batch.fail();
  batch.error = StoreError::kNone;
  split->asked_at = now;
  split->whole = &batch;

  const std::size_t size = batch.charges.size();
  const std::span places(split->places.data(), size);
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto slot_at = [&](std::size_t place) { return slot_of(batch.charges[place]); };
  std::ranges::sort(places, [&](std::size_t left, std::size_t right) {
    return std::pair(slot_at(left), left) < std::pair(slot_at(right), right);
  });
  for (std::size_t i = 0; i < size; ++i) {
    split->charges[i] = batch.charges[places[i]];
    split->quotas[i] = *split->charges[i].quota;
    split->charges[i].quota = &split->quotas[i];
  }

  split->part_count = 0;
  for (std::size_t begin = 0, end = 0; begin < size; begin = end) {
    while (end < size && slot_at(places[end]) == slot_at(places[begin])) ++end;
    Batch& part = split->parts[split->part_count++];
    part.operation = batch.operation;
    part.give_up_at = batch.give_up_at;
    part.charges = std::span(split->charges).subspan(begin, end - begin);
    part.decisions = std::span(split->decisions).subspan(begin, end - begin);
    part.context = split;
    part.on_done = [](Batch& done) noexcept {
      auto& of = *static_cast<Split*>(done.context);
      of.store->part_done(of);
    };
  }
  send(*split, now);
}

// One more is open while parts are sent, as Redis may answer some at once.
void SplitStore::send(Split& split, Instant now) {
  split.open = split.part_count + 1;
  for (std::size_t i = 0; i < split.part_count; ++i) store_->decide(split.parts[i], now);
  part_done(split);
}

void SplitStore::part_done(Split& split) {
  if (--split.open > 0) return;
  Batch* const whole = std::exchange(split.whole, nullptr);
  if (whole == nullptr) return free_.push_back(&split);
  answer(split, *whole);
  if (becomes_what_is_given_back(split)) {
    to_give_back_.push_back(&split);
    round_end_->set(Instant{});
  } else {
    free_.push_back(&split);
  }
  whole->on_done(*whole);
}

void SplitStore::give_back(Instant now) {
  // By index: a sent refund may be answered at once.
  for (std::size_t i = 0; i < to_give_back_.size(); ++i) {
    keep_what_is_late(*to_give_back_[i], now);
    send(*to_give_back_[i], now);
  }
  to_give_back_.clear();
}

// Its decisions are still those of the charges.
void SplitStore::keep_what_is_late(Split& split, Instant now) {
  for (std::size_t i = 0; i < split.charges.size(); ++i) {
    Charge& charge = split.charges[i];
    if (charge.cost >= 0) continue;
    const Duration taken = now - split.asked_at + kTripMax;
    if (taken > time_to_give_back(*charge.quota, split.decisions[i])) charge.cost = 0;
  }
}

// The whole's decisions. Where a charge is going to be given back, `remaining` is from before it.
void SplitStore::answer(Split& split, Batch& whole) {
  const std::span parts(split.parts.data(), split.part_count);
  for (const Batch& part : parts) {
    if (part.error != StoreError::kNone) whole.error = part.error;
  }
  const bool keeps = is_kept(whole, parts);
  std::size_t at = 0;
  for (Batch& part : parts) {
    for (std::size_t i = 0; i < part.charges.size(); ++i, ++at) {
      const bool returns = !keeps && is_charged(part, i);
      Decision& decision = whole.decisions[split.places[at]];
      decision = part.decisions[i];
      const std::int64_t cost = std::max<std::int64_t>(0, part.charges[i].cost);
      if (returns) decision.remaining = std::min(decision.limit, decision.remaining + cost);
      if (decision.remaining == decision.limit) decision.more_after = Duration{0};
      split.charges[at].cost = returns ? -cost : 0;
    }
  }
}

// Turns the parts into refunds. False if there is nothing to refund.
bool SplitStore::becomes_what_is_given_back(Split& split) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < split.part_count; ++i) {
    Batch part = split.parts[i];
    const bool returns =
        std::ranges::any_of(part.charges, [](const Charge& charge) { return charge.cost < 0; });
    if (!returns) continue;
    part.operation = Operation::kSpendEach;
    part.give_up_at = Instant::max();
    split.parts[kept++] = part;
  }
  split.part_count = kept;
  return kept > 0;
}

}  // namespace weir
