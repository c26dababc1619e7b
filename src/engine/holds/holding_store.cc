#include "weir/holding_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/if_memory.h"
#include "base/node_memory.h"
#include "engine/holds/hold_wait.h"

namespace weir {

struct HoldingStore::State {
  struct Part {
    KeyHash key;
    Quota quota;
    std::uint64_t tag;
  };
  struct Hold {
    explicit Hold(NodeMemory& memory) : parts(NodeAllocator<Part>(memory)) {}

    std::vector<Part, NodeAllocator<Part>> parts;
    Instant end{};
    std::int64_t units = 0;  // held
    std::int64_t due = 0;    // charged by a lapse
    bool is_slot = false;
  };
  using End = std::pair<Instant, HoldToken>;
  using Ends = std::set<End, std::less<>, NodeAllocator<End>>;
  struct OfKey {
    explicit OfKey(NodeMemory& memory) : ends(NodeAllocator<End>(memory)) {}
    Duration first(Instant now) const { return ends.begin()->first - now; }
    Instant last() const { return ends.rbegin()->first; }

    std::int64_t units = 0;
    Instant lease_end = Instant::max();  // HoldTerms
    Ends ends;
  };
  struct KeyMix {
    std::size_t operator()(const KeyHash& key) const { return key.low; }
    std::size_t operator()(const HoldToken& token) const { return token.low; }
  };
  template <typename Key, typename Value>
  using Map = std::unordered_map<Key, Value, KeyMix, std::equal_to<>,
                                 NodeAllocator<std::pair<const Key, Value>>>;
  using Holds = Map<HoldToken, Hold>;

  State(Store& below, Chance from) : inner(below), chance(std::move(from)) {}

  void decide(Batch& batch, Instant now) noexcept;
  void lapse(Instant now) noexcept;
  void end(Holds::iterator place, std::int64_t cost, Instant at, Instant now) noexcept;
  OfKey* find_lent(const KeyHash& key, Instant now) noexcept;
  std::optional<HoldToken> make(std::span<const Charge> charges, const HoldTerms& terms,
                                Instant now) noexcept;
  bool put_down(const HoldToken& token, Hold hold) noexcept;
  void take_up(const HoldToken& token, const Hold& hold) noexcept;
  void ask_inner(Batch& batch, Instant now) noexcept;
  Decision charge_inner(Operation operation, Charge charge, std::int64_t cost,
                        Instant now) noexcept;
  Decision drain(const Charge& charge, Instant now) noexcept;
  void give_back(const Charge& charge, Instant now) noexcept;
  Duration wait_of(const Charge& charge, const OfKey& of_key, Instant now) noexcept;
  const OfKey* find(const KeyHash& key) const;
  std::optional<Decision> denied(const Charge& charge, std::int64_t before, Instant now) noexcept;
  void lower(Operation operation, const Charge& charge, Decision& decision, Instant now) noexcept;
  Decision judge(Operation operation, const Charge& charge, Instant now) noexcept;
  void judge_all(Batch& batch, Instant now) noexcept;
  HoldToken next_token();

  Store& inner;
  const Chance chance;
  std::atomic<std::size_t> size{0};
  std::atomic<std::uint64_t> changes{0};  // grows when the holds change
  std::atomic<Instant> first_end{Instant::max()};
  std::mutex mutex;  // guards all below
  NodeMemory memory;
  Holds holds{NodeAllocator<Holds::value_type>(memory)};
  Map<KeyHash, OfKey> keys{NodeAllocator<std::pair<const KeyHash, OfKey>>(memory)};
  Ends ends{NodeAllocator<End>(memory)};
  HashSecret tokens{};  // some of them are used
  std::size_t tokens_used = sizeof(HashSecret);
};

HoldingStore::HoldingStore(Store& inner, Chance chance)
    : state_(std::make_unique<State>(inner, std::move(chance))) {}
HoldingStore::~HoldingStore() = default;

HoldToken HoldingStore::fresh_token() {
  const std::scoped_lock lock(state_->mutex);
  return state_->next_token();
}

std::size_t HoldingStore::size() const noexcept {
  return state_->size.load(std::memory_order_relaxed);
}

// ---- deciding next to holds ----

void HoldingStore::decide(Batch& batch, Instant now) noexcept {
  state_->decide(batch, now);
  batch.on_done(batch);
}

// While there are holds, each charge is judged next to what the charges before it have spent.
void HoldingStore::State::decide(Batch& batch, Instant now) noexcept {
  lapse(now);
  bool has_asked = false;
  if (size.load(std::memory_order_relaxed) == 0) {
    const std::uint64_t before = changes.load(std::memory_order_acquire);
    ask_inner(batch, now);
    // A hold that came or went meanwhile may be in neither the counter nor the list of holds.
    const bool is_empty = size.load(std::memory_order_acquire) == 0;  // before it looks at changes
    if (is_empty && changes.load(std::memory_order_acquire) == before) return;
    if (batch.error != StoreError::kNone) return;
    has_asked = true;
  }
  const std::scoped_lock lock(mutex);
  const bool is_joint = batch.operation == Operation::kSpendAll;
  const bool is_denied = is_joint && !std::ranges::all_of(batch.decisions, &Decision::allowed);
  for (std::size_t i = 0; i < batch.charges.size() && has_asked && !is_denied; ++i) {
    const bool is_charged = is_hit(batch.operation) && batch.decisions[i].allowed();
    if (is_charged) give_back(batch.charges[i], now);
  }
  if (is_joint) return judge_all(batch, now);
  const bool is_done = has_asked && !is_hit(batch.operation);
  for (std::size_t i = 0; i < batch.charges.size(); ++i) {
    const Charge& charge = batch.charges[i];
    Decision& decision = batch.decisions[i];
    if (!is_done) decision = judge(batch.operation, charge, now);
    if (is_done) lower(batch.operation, charge, decision, now);
  }
}

Decision HoldingStore::decide_one(Operation operation, Charge charge, Instant now) noexcept {
  Decision decision;
  Batch batch{.operation = operation,
              .charges = {&charge, 1},
              .decisions = {&decision, 1},
              .on_done = [](Batch&) noexcept {}};
  state_->decide(batch, now);
  return decision;
}

void HoldingStore::State::ask_inner(Batch& batch, Instant now) noexcept {
  Batch asked = batch;
  asked.on_done = [](Batch&) noexcept {};
  inner.decide(asked, now);
  batch.error = asked.error;
}

Decision HoldingStore::State::charge_inner(Operation operation, Charge charge, std::int64_t cost,
                                           Instant now) noexcept {
  charge.cost = cost;
  return inner.decide_one(operation, charge, now);
}

void HoldingStore::State::give_back(const Charge& charge, Instant now) noexcept {
  charge_inner(Operation::kSpendEach, charge, -charge.cost, now);
}

Duration HoldingStore::State::wait_of(const Charge& charge, const OfKey& of_key,
                                      Instant now) noexcept {
  const auto look = [&](std::int64_t cost) {
    return charge_inner(Operation::kLook, charge, cost, now);
  };
  const auto next_lapse = [this, &of_key, next = of_key.ends.begin()]() mutable {
    if (next == of_key.ends.end()) return std::optional<Lapse>();
    const Hold& hold = holds.find(next->second)->second;
    return std::optional(Lapse{.at = next++->first, .units = hold.units, .due = hold.due});
  };
  return wait_next_to_holds(*charge.quota, charge.cost, of_key.units, of_key.last(), now, look,
                            next_lapse);
}

// If the cost does not fit, takes what is left next to the holds.
Decision HoldingStore::State::drain(const Charge& charge, Instant now) noexcept {
  const OfKey* const of_key = find(charge.key);
  if (of_key == nullptr) return charge_inner(Operation::kDrain, charge, charge.cost, now);
  const Decision before = charge_inner(Operation::kLook, charge, 0, now);
  const std::int64_t left = std::max<std::int64_t>(0, before.remaining - of_key->units);
  Decision decision = charge_inner(Operation::kSpendEach, charge, std::min(charge.cost, left), now);
  decision.remaining = left - std::min(charge.cost, left);
  outlast(decision, *charge.quota, of_key->last(), now);
  if (charge.cost <= left) return decision;
  return denied_by_holds(decision, 0, wait_of(charge, *of_key, now));
}

// The denial of a charge that fits, but not next to the holds and `before`, earlier charges' costs.
std::optional<Decision> HoldingStore::State::denied(const Charge& charge, std::int64_t before,
                                                    Instant now) noexcept {
  const OfKey* const of_key = find(charge.key);
  if (of_key == nullptr || charge.cost <= 0) return std::nullopt;
  Decision at_hand = charge_inner(Operation::kLook, charge, charge.cost, now);
  const std::int64_t left = at_hand.remaining - of_key->units - before;
  if (!at_hand.allowed() || left >= charge.cost) return std::nullopt;
  Charge all = charge;
  all.cost = std::min(charge.quota->capacity(), charge.cost + before);
  outlast(at_hand, *charge.quota, of_key->last(), now);
  return denied_by_holds(at_hand, left, wait_of(all, *of_key, now));
}

// Subtracts the holds from what the counters have left, and lets resets wait for the last hold.
void HoldingStore::State::lower(Operation operation, const Charge& charge, Decision& decision,
                                Instant now) noexcept {
  const OfKey* const of_key = find(charge.key);
  if (of_key == nullptr) return;
  Charge asked = charge;
  if (operation == Operation::kCharge) asked.cost = 0;  // its decision is that of a look
  if (operation != Operation::kReset && decision.verdict == Verdict::kDenied) {
    decision.retry_after = std::max(decision.retry_after, wait_of(asked, *of_key, now));
  }
  decision.remaining = std::max<std::int64_t>(0, decision.remaining - of_key->units);
  outlast(decision, *charge.quota, of_key->last(), now);
  const std::int64_t more = decision.remaining + 1;
  if (decision.more_after > Duration{0} || more > charge.quota->capacity()) return;
  Charge one_more = charge;  // the counter is empty: more comes when a hold lapses
  one_more.cost = more;
  if (decision.allowed()) decision.more_after = wait_of(one_more, *of_key, now);
}

Decision HoldingStore::State::judge(Operation operation, const Charge& charge,
                                    Instant now) noexcept {
  if (operation == Operation::kDrain) return drain(charge, now);
  const bool may_deny = is_hit(operation) || operation == Operation::kLook;
  if (may_deny) {
    if (const auto denial = denied(charge, 0, now)) return *denial;
  }
  Decision decision = charge_inner(operation, charge, charge.cost, now);
  lower(operation, charge, decision, now);
  return decision;
}

void HoldingStore::State::judge_all(Batch& batch, Instant now) noexcept {
  std::array<std::optional<Decision>, Batch::kChargesMax> denials;
  bool is_denied = false;
  for (std::size_t i = 0; i < batch.charges.size(); ++i) {
    std::int64_t before = 0;
    for (const Charge& other : batch.charges.first(i)) {
      if (other.key == batch.charges[i].key) before += std::max<std::int64_t>(0, other.cost);
    }
    denials[i] = denied(batch.charges[i], before, now);
    is_denied = is_denied || denials[i];
  }
  if (!is_denied) ask_inner(batch, now);
  for (std::size_t i = 0; i < batch.charges.size(); ++i) {
    const Charge& charge = batch.charges[i];
    if (is_denied) {
      batch.decisions[i] = denials[i] ? *denials[i] : judge(Operation::kLook, charge, now);
    } else {
      lower(batch.operation, charge, batch.decisions[i], now);
    }
  }
}

// ---- holds ----

const HoldingStore::State::OfKey* HoldingStore::State::find(const KeyHash& key) const {
  const auto place = keys.find(key);
  return place == keys.end() ? nullptr : &place->second;
}

std::optional<HoldToken> HoldingStore::hold(std::span<const Charge> charges, const HoldTerms& terms,
                                            Instant now) noexcept {
  const std::scoped_lock lock(state_->mutex);
  const auto token = state_->make(charges, terms, now);
  if (!terms.is_charged) return token;
  for (const Charge& charge : charges) state_->give_back(charge, now);
  return token;
}

// With the lock held.
std::optional<HoldToken> HoldingStore::State::make(std::span<const Charge> charges,
                                                   const HoldTerms& terms, Instant now) noexcept {
  std::optional<HoldToken> token;
  const bool has_room = holds.size() < std::min(terms.room, kHoldsMax) &&
                        std::ranges::all_of(charges, [&](const Charge& charge) {
                          const OfKey* const of_key = find(charge.key);
                          return of_key == nullptr || std::ssize(of_key->ends) < terms.holds_max;
                        });
  has_memory_for([&] {
    if (!has_room) return;
    Hold hold(memory);
    hold.end = now + terms.length;
    hold.units = terms.estimate;
    hold.due = terms.is_free || terms.is_slot ? 0 : terms.estimate;
    hold.is_slot = terms.is_slot;
    hold.parts.reserve(charges.size());
    for (const Charge& charge : charges) {
      hold.parts.push_back({.key = charge.key, .quota = *charge.quota, .tag = charge.tag});
    }
    const HoldToken next = next_token();
    if (put_down(next, std::move(hold))) token = next;
  });
  return token;
}

// Returns false, and holds nothing, if there is no memory.
bool HoldingStore::State::put_down(const HoldToken& token, Hold hold) noexcept {
  std::size_t counted = 0;
  auto place = holds.end();
  const bool has_memory = has_memory_for([&] {
    place = holds.emplace(token, std::move(hold)).first;
    ends.emplace(place->second.end, token);
    for (const Part& part : place->second.parts) {
      OfKey& of_key = keys.try_emplace(part.key, memory).first->second;
      of_key.ends.emplace(place->second.end, token);
      of_key.units += place->second.units;
      ++counted;
    }
  });
  if (!has_memory) {
    if (place == holds.end()) return false;
    place->second.parts.resize(counted);
    take_up(token, place->second);
    holds.erase(place);
    std::erase_if(keys, [](const auto& key) { return key.second.ends.empty(); });
    return false;
  }
  first_end.store(ends.begin()->first, std::memory_order_relaxed);
  changes.fetch_add(1, std::memory_order_release);
  size.store(holds.size(), std::memory_order_release);
  return true;
}

void HoldingStore::State::take_up(const HoldToken& token, const Hold& hold) noexcept {
  for (const Part& part : hold.parts) {
    const auto place = keys.find(part.key);
    OfKey& of_key = place->second;
    of_key.units -= hold.units;
    of_key.ends.erase({hold.end, token});
    if (of_key.ends.empty()) keys.erase(place);
  }
  ends.erase({hold.end, token});
}

HoldingStore::Commit HoldingStore::commit(const HoldToken& token, std::int64_t cost, Work work,
                                          Instant now) noexcept {
  State& state = *state_;
  state.lapse(now);
  const std::scoped_lock lock(state.mutex);
  const auto place = state.holds.find(token);
  if (place == state.holds.end() || place->second.is_slot) return Commit::kUnknown;
  State::Hold& hold = place->second;
  if (work == Work::kIsDone) {
    const bool is_counted = !hold.parts.empty();
    state.end(place, cost, now, now);
    return is_counted ? Commit::kCharged : Commit::kNoted;
  }
  hold.due = cost;
  const std::int64_t more = std::max<std::int64_t>(0, cost - hold.units);
  hold.units += more;
  for (const auto& part : hold.parts) state.keys.find(part.key)->second.units += more;
  return Commit::kNoted;
}

// ---- slots ----

HoldingStore::Acquired HoldingStore::acquire(const Charge& charge, const HoldTerms& terms,
                                             Instant now) noexcept {
  state_->lapse(now);
  const std::scoped_lock lock(state_->mutex);
  const State::OfKey* const of_key = state_->find_lent(charge.key, now);
  const std::int64_t limit = charge.quota->limit();
  const std::int64_t held = of_key == nullptr ? 0 : of_key->units;
  Decision decision{.limit = limit, .remaining = std::max<std::int64_t>(0, limit - held)};
  if (of_key != nullptr) decision.reset_after = of_key->last() - now;
  if (limit == 0) {
    decision.verdict = Verdict::kNever;
    return {.decision = decision, .token = {}};
  }
  if (held >= limit) {
    return {.decision = denied_by_holds(decision, 0, of_key->first(now)), .token = {}};
  }
  const HoldTerms slot{.length = terms.length,
                       .estimate = 1,
                       .holds_max = limit,
                       .is_slot = true,
                       .room = terms.room};
  --decision.remaining;
  decision.reset_after = std::max(decision.reset_after, terms.length);
  const auto token = state_->make({&charge, 1}, slot, now);
  if (token) state_->keys.find(charge.key)->second.lease_end = terms.lease_end;
  return {.decision = decision, .token = token};
}

// Ends all slots of the key if their lease has ended.
HoldingStore::State::OfKey* HoldingStore::State::find_lent(const KeyHash& key,
                                                           Instant now) noexcept {
  auto place = keys.find(key);
  while (place != keys.end() && place->second.lease_end <= now) {
    end(holds.find(place->second.ends.begin()->second), 0, now, now);
    place = keys.find(key);
  }
  return place == keys.end() ? nullptr : &place->second;
}

void HoldingStore::renew(const KeyHash& key, Instant lease_end, Instant now) noexcept {
  const std::scoped_lock lock(state_->mutex);
  State::OfKey* const of_key = state_->find_lent(key, now);
  if (of_key != nullptr) of_key->lease_end = lease_end;
}

bool HoldingStore::find_slot(const HoldToken& token, Then then, Instant now) noexcept {
  State& state = *state_;
  state.lapse(now);
  const std::scoped_lock lock(state.mutex);
  const auto place = state.holds.find(token);
  if (place == state.holds.end() || !place->second.is_slot) return false;
  const auto& parts = place->second.parts;
  if (!parts.empty() && state.find_lent(parts.front().key, now) == nullptr) return false;
  if (then == Then::kEnds) state.end(place, 0, now, now);
  return true;
}

// The cost is in the counters before the hold goes. Most costs fit, and then spending is shorter.
// If the window of `at` is over, the counters would take it for a late charge of the next window.
void HoldingStore::State::end(Holds::iterator place, std::int64_t cost, Instant at,
                              Instant now) noexcept {
  const auto& [token, hold] = *place;
  for (const Part& part : hold.parts) {
    if (cost == 0) break;
    if (part.quota.is_fixed() && refilled(part.quota, 0, 1, at) <= now) continue;
    const Charge charge{.key = part.key, .quota = &part.quota, .tag = part.tag};
    if (charge_inner(Operation::kSpendEach, charge, cost, at).allowed()) continue;
    charge_inner(Operation::kCharge, charge, cost, at);
  }
  take_up(HoldToken(token), hold);
  holds.erase(place);
  first_end.store(ends.empty() ? Instant::max() : ends.begin()->first, std::memory_order_relaxed);
  changes.fetch_add(1, std::memory_order_release);
  size.store(holds.size(), std::memory_order_release);
}

// Each hold is charged as of its own end: nobody has asked for its keys since then.
void HoldingStore::State::lapse(Instant now) noexcept {
  if (first_end.load(std::memory_order_relaxed) > now) return;
  const std::scoped_lock lock(mutex);
  while (!ends.empty() && ends.begin()->first <= now) {
    const auto place = holds.find(ends.begin()->second);
    end(place, place->second.due, place->second.end, now);
  }
}

HoldingStore::Held HoldingStore::held(const KeyHash& key, Instant now) noexcept {
  state_->lapse(now);
  const std::scoped_lock lock(state_->mutex);
  const State::OfKey* const of_key = state_->find_lent(key, now);
  if (of_key == nullptr) return {};
  return {.units = of_key->units, .holds = of_key->ends.size(), .lapses_after = of_key->first(now)};
}

HoldToken HoldingStore::State::next_token() {
  if (tokens_used + sizeof(HoldToken) > sizeof(tokens.bytes)) {
    tokens = chance();
    tokens_used = 0;
  }
  HoldToken token;
  std::memcpy(&token, tokens.bytes.data() + tokens_used, sizeof(token));
  tokens_used += sizeof(token);
  return token;
}

}  // namespace weir
