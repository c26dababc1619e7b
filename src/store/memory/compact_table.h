// CompactTable: the counters of millions of keys in one array, shared by all threads
// without a lock.
//
// Layout. The array is divided into sets of eight 16-byte slots (two neighbouring
// cache lines). A key's hash names two sets; the key lives in one of their sixteen slots
// or nowhere. That bounds every operation: at most sixteen slots are looked at, four
// cache lines fetched, all four at once. room.h says which slot a new key takes. Four of five keys
// are found in the first set, and yet with 1/kLoadMax slots a key the table fills to max_keys
// without an eviction. (Simulated up to 16 M slots: the first pair of sets overflows at a load of
// 0.65 or more.)
//
//   hash ──┬─ first set   │s0│s1│s2│s3│s4│s5│s6│s7│   candidates 0..7
//          └─ second set  │s0│s1│s2│s3│s4│s5│s6│s7│   candidates 8..15
//
// A slot is one SlotWord: the key's fingerprint, when its state expires, how much it is
// worth keeping, and the state. All of it changes in one 16-byte compare-exchange, so a slot can
// never hold one key's name and another one's counts. A thread that decided on an outdated word
// fails its exchange and decides again.
//
// A key is in at most one slot. A thread that does not find the key must put it somewhere, and two
// threads may do so at once in different slots. So a slot is taken in two steps:
//
//   1. claim   exchange an empty, expired or evicted word for a claim: the fingerprint
//              and a number never used before, but no state;
//   2. settle  look at all candidates again. Another slot with the key's state: give the
//              claim up. Another claim for the key: the one in the earlier candidate
//              survives. Nothing: exchange the claim for the first state. A program of one
//              thread (kOneThread) need not look.
//
// Any thread that meets a claim settles it with its own charge; no thread waits. A thread that made
// a claim and then finds the key elsewhere gives the claim up first. Why no two slots of one key
// ever both get a state: suppose both did. Each was claimed before its settler looked at the other.
// Neither saw the other there, so each settler looked before the other's claim. But each claim came
// before its own settler's look: a circle. This needs one order of all loads and exchanges that
// every thread agrees on, which Atomic128 gives (sequential consistency). It also needs an exchange
// that fails if the claim was given up: hence its number.
//
// room.h also says which key goes when all sixteen candidates are in use. A claim counts as a plain
// key that never expires; the thread that loses one starts over.
//
// Processes may share a table's slots and Counts. A killed process leaves at worst a claim.
// `Probe` lets a test stop a thread before an exchange.
// Thread rule: any thread, concurrently. Progress: lock-free.
// Tested by compact_table_test.cc, compact_table_race_test.cc and the store's tests.

#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "algo/adaptive.h"
#include "algo/exponential_backoff.h"
#include "base/atomic128.h"
#include "base/huge_array.h"
#include "store/memory/fine_counts.h"
#include "store/memory/packing.h"
#include "store/memory/room.h"
#include "store/memory/slot_word.h"
#include "weir/key.h"
#include "weir/store.h"

namespace weir {

enum class TablePoint : std::uint8_t {
  kBeforeChoice,
  kBeforeClaim,
  kBeforeSettle,
  kBeforeCommit,
  kBeforeUpdate,
};

struct NoProbe {
  static void reached(TablePoint) noexcept {}
};

// A charge's effect, so that it can be undone. Equal words: it changed nothing.
struct SlotChange {
  SlotWord before;  // empty if the key was new
  SlotWord after;
};

template <typename Probe = NoProbe>
// check:allow(methods): steps of one exchange, which finish what other threads' steps left
class CompactTable {
 public:
  // Keys per slot up to which no live key has to make room.
  static constexpr double kLoadMax = 0.6;

  // On cache lines of their own: they change only when a new key moves in. Valid as zeros.
  struct Counts {
    alignas(64) std::atomic<std::uint64_t> claims{0};
    alignas(64) std::atomic<std::uint64_t> evictions{0};
    std::atomic<std::uint64_t> freed{0};    // evicted keys that had nothing left of their limit
    std::atomic<std::uint64_t> refused{0};  // new keys that were denied for want of room
  };

  CompactTable(std::size_t max_keys, Instant base)
      : slots_(kSetSlots * set_count_for(max_keys)),
        set_count_(slots_.size() / kSetSlots),
        packing_(base) {}
  // A table that other processes may use, too: all must give the same `base`. `slots`, which are
  // zeros before the first table, and `counts` outlive this.
  // REQUIRES: at least 2 * kSetPlaces slots; slots beyond the last whole set stay unused
  CompactTable(std::span<Atomic128> slots, Counts& counts, Instant base)
      : slots_(slots), set_count_(slots.size() / kSetSlots), packing_(base), counts_(&counts) {}
  CompactTable(const CompactTable&) = delete;
  CompactTable& operator=(const CompactTable&) = delete;

  // Fetches the key's lines ahead of a call about it. Inlined: GCC 12 drops calls that only fetch.
  [[gnu::always_inline]] void prefetch(KeyHash key) const noexcept {
    const Sets sets = sets_of(key);
    fetch(sets.first);
    fetch(sets.second);
  }

  // Decides and, if it is allowed, charges. `change`, unless null, gets how to undo it.
  // REQUIRES: Packing::fits(*charge.quota), and State is that of its algorithm
  template <typename State>
  Decision spend(const Charge& charge, Instant now, SlotChange* change) noexcept;

  // Charges even over the limit. REQUIRES: as for spend()
  template <typename State>
  Decision charge(const Charge& charge, Instant now) noexcept {
    return apply<State>(sets_of(charge.key), charge, now, nullptr, [&](const State& state) {
      return algo::charge(*charge.quota, state, charge.cost, now);
    });
  }

  // Notes that the key was denied, in its state and rank.
  // REQUIRES: as for spend(), and the quota is adaptive and its backoff active
  void record_denial(const Charge& charge, Instant now) noexcept {
    using State = algo::AdaptiveState;
    apply<State>(sets_of(charge.key), charge, now, nullptr, [&](const State& state) {
      return algo::record_denial(*charge.quota, state, now);
    });
  }
  // Notes that the key was denied, in its rank.
  void note_denial(KeyHash key, Instant now) noexcept {
    const Sets sets = sets_of(key);
    const std::size_t candidate = candidate_of(sets);
    if (candidate == kCandidates) return;
    const SlotWord word = load(sets[candidate]);
    if (word.fingerprint() != sets.fingerprint || word.claimed()) return;
    mark_denied(sets, candidate, word, now);
  }

  // The key's state; State{} if the table does not have the key.
  template <typename State>
  State find(KeyHash key, const Quota& quota) const noexcept;

  // Takes back a charge exactly, unless the key has been charged since. Says whether it did.
  bool undo(KeyHash key, const SlotChange& change) noexcept {
    if (change.before == change.after) return true;
    const Sets sets = sets_of(key);
    const std::size_t candidate = candidate_of(sets);
    if (candidate == kCandidates) return false;
    const SlotWord word = load(sets[candidate]);
    const bool untouched = word.with_rank(change.after.rank()) == change.after;  // but for rank
    return untouched && exchange(sets[candidate], word, change.before);
  }

  // From now on `fine`, which outlives this, counts sliding windows near their limits.
  void use(FineCounts& fine) noexcept { fine_ = &fine; }

  void erase(KeyHash key) noexcept {
    const Sets sets = sets_of(key);
    for (;;) {
      const std::size_t candidate = candidate_of(sets);
      if (candidate == kCandidates) return;
      const SlotWord word = load(sets[candidate]);
      if (word.fingerprint() == sets.fingerprint) exchange(sets[candidate], word, SlotWord{});
    }
  }

  std::size_t capacity() const noexcept {
    return static_cast<std::size_t>(static_cast<double>(slots_.size()) * kLoadMax);
  }
  std::size_t bytes() const noexcept { return slots_.bytes(); }
  std::uint64_t evictions() const noexcept {
    return counts_->evictions.load(std::memory_order_relaxed);
  }
  std::uint64_t freed() const noexcept { return counts_->freed.load(std::memory_order_relaxed); }
  std::uint64_t refused() const noexcept {
    return counts_->refused.load(std::memory_order_relaxed);
  }
  std::uint64_t count_live(Instant now) const noexcept {
    std::uint64_t live = 0;
    for (const Atomic128& slot : slots_) {
      const SlotWord word = load(slot);
      if (!word.empty() && !word.claimed() && !packing_.expired(word, now)) ++live;
    }
    return live;
  }

 private:
  static constexpr std::size_t kSetSlots = kSetPlaces;

  struct Sets {
    std::uint64_t fingerprint;
    Atomic128* first;
    Atomic128* second;

    Atomic128& operator[](std::size_t candidate) const {
      return candidate < kSetSlots ? first[candidate] : second[candidate - kSetSlots];
    }
    std::uint32_t upper() const { return static_cast<std::uint32_t>(fingerprint >> 16); }
  };

  static std::size_t set_count_for(std::size_t max_keys) {
    const auto slots = static_cast<std::size_t>(static_cast<double>(max_keys) / kLoadMax) + 1;
    return (slots + kSetSlots - 1) / kSetSlots + 1;  // at least two, so that a key has two sets
  }
  Sets sets_of(KeyHash key) const noexcept;

  [[gnu::always_inline]] static void fetch(const Atomic128* set) noexcept {
    __builtin_prefetch(set);
    __builtin_prefetch(set + kSetSlots / 2);
  }
  // The first slot that has the upper bits of the key's fingerprint, so it probably names the key.
  static Atomic128* likely_slot(const Sets& sets) noexcept;
  // The first candidate that names the key; kCandidates if none does.
  static std::size_t candidate_of(const Sets& sets) noexcept;
  static SlotWord load(const Atomic128& slot) noexcept { return SlotWord(slot.load()); }
  static bool exchange(Atomic128& slot, SlotWord expected, SlotWord desired) noexcept {
    return slot.compare_exchange(expected.bits(), desired.bits());
  }

  // Changes the key's state by `decide`, which maps a state to an algo::Step.
  template <typename State, typename Decide>
  Decision apply(const Sets& sets, const Charge& charge, Instant now, SlotChange* change,
                 Decide decide) noexcept;
  // The fast path: the state is mostly a Plain, kept as a State. `kFine`: use() was called.
  template <typename Plain, typename State, bool kFine = false>
  Decision spend_soon(const Charge& charge, Instant now, SlotChange* change) noexcept;
  template <typename State>
#ifndef __wasm__  // where it would be larger
  [[gnu::noinline]]
#endif
  Decision
  spend_later(const Charge& charge, Instant now, SlotChange* change) noexcept {
    Sets sets = sets_of(charge.key);
    return apply<State>(sets, charge, now, change,
                        [&](const State& state) { return decide_near(fine_, charge, state, now); });
  }

  // A slot that this call has taken; kCandidates if it has none.
  struct Claim {
    std::size_t candidate = kCandidates;
    SlotWord word;
    bool is_refused = false;
  };

  Tenant tenant_of(SlotWord word, Instant now) const noexcept {
    return {word.empty() || packing_.expired(word, now), word.rank(), word.expiry_us()};
  }
  // The rank of a key in this candidate that has nothing left; `word` was read from the candidate.
  Rank rank_over_limit(const Sets& sets, std::size_t candidate, SlotWord word,
                       Instant now) const noexcept;
  Claim claim(const Sets& sets, OnFull on_full, Instant now) noexcept;
  // Empties the claimed slot, unless the claim has been settled or evicted.
  static void give_up(const Sets& sets, Claim& claim) noexcept {
    if (claim.candidate == kCandidates) return;
    exchange(sets[claim.candidate], claim.word, SlotWord{});
    claim = {};
  }
  bool settle(const Sets& sets, std::size_t candidate, SlotWord claim, SlotWord first) noexcept;
  void mark_denied(const Sets& sets, std::size_t candidate, SlotWord word,
                   Instant now) const noexcept;

  mutable HugeArray<Atomic128> slots_;  // a reader of a const table still gets Atomic128&
  std::size_t set_count_;
  Packing packing_;
  Counts own_counts_;
  Counts* const counts_ = &own_counts_;
  FineCounts* fine_ = nullptr;
};

template <typename Probe>
template <typename State>
Decision CompactTable<Probe>::spend(const Charge& charge, Instant now,
                                    SlotChange* change) noexcept {
  if constexpr (kOneThread) {
    return spend_later<State>(charge, now, change);
  } else if constexpr (!std::is_same_v<State, algo::AdaptiveState>) {
    if constexpr (kMayBeFine<State>)
      if (fine_ != nullptr) return spend_soon<State, State, true>(charge, now, change);
    return spend_soon<State, State>(charge, now, change);
  } else {
    switch (charge.quota->active()) {
      case Algorithm::kSlidingWindow:
        return spend_soon<algo::SlidingWindowState, State>(charge, now, change);
      case Algorithm::kTokenBucket:
        return spend_soon<algo::TokenBucketState, State>(charge, now, change);
      default: return spend_later<State>(Charge(charge), now, change);
    }
  }
}

// Most charges are of a known key and leave something, as Packing::spend() needs.
template <typename Probe>
template <typename Plain, typename State, bool kFine>
[[gnu::flatten]] Decision CompactTable<Probe>::spend_soon(const Charge& charge, Instant now,
                                                          SlotChange* change) noexcept {
  Decision decision;
  Sets sets = sets_of(charge.key);  // if const, GCC 12 keeps it in memory; so `next`
  Atomic128* const slot = likely_slot(sets);
  if (slot != nullptr && charge.cost > 0) [[likely]] {
    const SlotWord word(slot->load_halves());  // if of two words, the exchange fails
    const int code = Packing::code_of<Plain>(*charge.quota);
    Plain state;
    if (SlotWord::high_half_is(word.high_half(), sets.fingerprint, code) &&
        packing_.unpack_now(*charge.quota, word, now, state)) [[likely]] {
      FineCounts::Glance seen;
      auto next = next_of<kFine>(fine_, packing_, *slot, charge, word, state, now, decision, seen);
      Probe::reached(TablePoint::kBeforeUpdate);
      if (next && exchange(*slot, word, *next)) [[likely]] {
        if constexpr (kFine) seen.leave(state.current + charge.cost);
        if (change != nullptr) *change = {word, *next};
        return decision;
      }
    }
  }
  decision = spend_later<State>(Charge(charge), now, change);
  return decision;
}

template <typename Probe>
template <typename State, typename Decide>
Decision CompactTable<Probe>::apply(const Sets& sets, const Charge& charge, Instant now,
                                    SlotChange* change, Decide decide) noexcept {
  const Quota& quota = *charge.quota;
  Claim own;
  for (;;) {
    std::size_t candidate = candidate_of(sets);
    if (own.candidate != candidate) give_up(sets, own);
    SlotWord word;  // empty: the start of a new key
    if (candidate < kCandidates) {
      word = load(sets[candidate]);
      if (word.fingerprint() != sets.fingerprint) continue;  // replaced meanwhile
    }
    State state{};
    const bool known = candidate < kCandidates && !word.claimed();
    if (known) packing_.unpack(quota, word, state);
    const algo::Step<State> step = decide(state);
    if (!step.changed) {
      if (known && step.decision.verdict == Verdict::kDenied) {
        mark_denied(sets, candidate, word, now);
      }
      if (change != nullptr) *change = {word, word};
      return step.decision;
    }
    if (candidate == kCandidates) {
      own = claim(sets, charge.on_full, now);
      if (own.is_refused) return refused_for_room(quota);
      if (!kOneThread && own.candidate == kCandidates) continue;
      candidate = own.candidate;
      word = own.word;
    }
    Rank rank =
        leaves_nothing(step.decision) ? rank_over_limit(sets, candidate, word, now) : Rank::kPlain;
    const bool is_blocked = step.decision.backoff_level == algo::kBackoffLevelMax;
    if (is_blocked && rank == Rank::kOverLimit) rank = Rank::kBlocked;
    const SlotWord next = SlotWord::make(sets.fingerprint, rank, packing_.pack(quota, step.state));
    if (change != nullptr) *change = {known ? word : SlotWord{}, next};
    if (known) {
      Probe::reached(TablePoint::kBeforeUpdate);
      if (exchange(sets[candidate], word, next)) return step.decision;
    } else if (settle(sets, candidate, word, next)) {
      return step.decision;
    }
  }
}

template <typename Probe>
template <typename State>
State CompactTable<Probe>::find(KeyHash key, const Quota& quota) const noexcept {
  const Sets sets = sets_of(key);
  for (;;) {
    const std::size_t candidate = candidate_of(sets);
    if (candidate == kCandidates) return State{};
    const SlotWord word = load(sets[candidate]);
    if (word.fingerprint() != sets.fingerprint) continue;
    State state{};
    if (!word.claimed()) packing_.unpack(quota, word, state);
    return state;
  }
}

template <typename Probe>
auto CompactTable<Probe>::sets_of(KeyHash key) const noexcept -> Sets {
  // The high 64 bits of hash * count spread evenly over the sets, without a division.
  const auto set_of = [this](std::uint64_t hash) {
    return static_cast<std::size_t>((Uint128{hash} * set_count_) >> 64);
  };
  const std::size_t first = set_of(key.low);
  std::size_t second = set_of((key.low << 32 | key.low >> 32) ^ key.high);
  if (second == first) second = (first + 1) % set_count_;
  const std::uint64_t fingerprint = key.high >> (64 - SlotWord::kFingerprintBits);
  // An empty slot's fingerprint is 0; no key's is.
  return {fingerprint == 0 ? 1 : fingerprint, &slots_[first * kSetSlots],
          &slots_[second * kSetSlots]};
}

template <typename Probe>
std::size_t CompactTable<Probe>::candidate_of(const Sets& sets) noexcept {
  for (const std::size_t set : {std::size_t{0}, kSetSlots}) {
    for (unsigned found = Atomic128::find(&sets[set], sets.upper()); found != 0;
         found &= found - 1) {
      const std::size_t slot = set + static_cast<std::size_t>(std::countr_zero(found)) / 2;
      if (SlotWord::high_half_is(sets[slot].load_high(), sets.fingerprint)) return slot;
    }
  }
  return kCandidates;
}

// No branches among a set's slots: which one it is can't be predicted. Two bits are one slot.
template <typename Probe>
Atomic128* CompactTable<Probe>::likely_slot(const Sets& sets) noexcept {
  fetch(sets.second);  // while this thread looks through the first set
  Atomic128* set = sets.first;
  unsigned found = Atomic128::find(set, sets.upper());
  if (found == 0) [[unlikely]] {
    found = Atomic128::find(set = sets.second, sets.upper());
    if (found == 0) return nullptr;
  }
  return reinterpret_cast<Atomic128*>(reinterpret_cast<std::uint64_t*>(set) +
                                      std::countr_zero(found));
}

template <typename Probe>
Rank CompactTable<Probe>::rank_over_limit(const Sets& sets, std::size_t candidate, SlotWord word,
                                          Instant now) const noexcept {
  if (word.rank() == Rank::kProtected && !packing_.expired(word, now)) return word.rank();
  const bool protects =
      may_protect(candidate, [&](std::size_t other) { return tenant_of(load(sets[other]), now); });
  return protects ? Rank::kProtected : Rank::kOverLimit;
}

// Takes a slot for the key, unless the slot changes meanwhile. Other threads may take others.
template <typename Probe>
auto CompactTable<Probe>::claim(const Sets& sets, OnFull on_full, Instant now) noexcept -> Claim {
  Probe::reached(TablePoint::kBeforeChoice);
  std::array<SlotWord, kCandidates> words;
  const Room room = choose_room([&](std::size_t candidate) {
    words[candidate] = load(sets[candidate]);
    return tenant_of(words[candidate], now);
  });
  if (on_full == OnFull::kDeny && room.frees_somebody()) {
    counts_->refused.fetch_add(1, std::memory_order_relaxed);
    return {.word = {}, .is_refused = true};
  }
  // Relaxed, as only the numbers' being different matters.
  const std::uint64_t number = counts_->claims.fetch_add(1, std::memory_order_relaxed);
  const SlotWord word = SlotWord::claim(sets.fingerprint, number);
  Probe::reached(TablePoint::kBeforeClaim);
  if (!exchange(sets[room.candidate], words[room.candidate], word)) return {};
  // Statistics: they order nothing.
  if (!room.is_free) counts_->evictions.fetch_add(1, std::memory_order_relaxed);
  if (room.frees_somebody()) counts_->freed.fetch_add(1, std::memory_order_relaxed);
  return {.candidate = room.candidate, .word = word};
}

// Turns the claim into the key's first state. False: the caller must look at all slots again.
template <typename Probe>
bool CompactTable<Probe>::settle(const Sets& sets, std::size_t candidate, SlotWord claim,
                                 SlotWord first) noexcept {
  if constexpr (kOneThread) return exchange(sets[candidate], claim, first);
  Probe::reached(TablePoint::kBeforeSettle);
  for (const std::size_t set : {std::size_t{0}, kSetSlots}) {
    for (unsigned found = Atomic128::find(&sets[set], sets.upper()); found != 0;
         found &= found - 1) {
      const std::size_t other = set + static_cast<std::size_t>(std::countr_zero(found)) / 2;
      const SlotWord word = load(sets[other]);
      if (other == candidate || word.fingerprint() != sets.fingerprint) continue;
      if (!word.claimed() || other < candidate) {  // the other slot keeps the key
        exchange(sets[candidate], claim, SlotWord{});
        return false;
      }
      if (!exchange(sets[other], word, SlotWord{})) return false;
    }
  }
  Probe::reached(TablePoint::kBeforeCommit);
  return exchange(sets[candidate], claim, first);
}

// A denial changes only the key's rank: a denied key is worth keeping longer than others.
template <typename Probe>
void CompactTable<Probe>::mark_denied(const Sets& sets, std::size_t candidate, SlotWord word,
                                      Instant now) const noexcept {
  if (word.rank() == Rank::kProtected) return;
  const Rank rank = rank_over_limit(sets, candidate, word, now);
  if (rank > word.rank()) exchange(sets[candidate], word, word.with_rank(rank));
}

}  // namespace weir
