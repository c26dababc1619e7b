#include "store/memory/wide_store.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>

#include "algo/exponential_backoff.h"
#include "algo/sliding_log.h"
#include "base/assert.h"
#include "store/memory/with_state.h"

namespace weir {
namespace {

// Enough that two threads seldom come to one at the same time; each lock is on a line of its own.
constexpr std::size_t kShardsMax = 4096;

// In shared memory a shard has at most twice as many, before there is another shard.
constexpr std::size_t kSharedRecords = 512;

template <typename State>
State unpack(const StateBytes& bytes) {
  static_assert(std::is_trivially_copyable_v<State> && sizeof(State) <= sizeof(StateBytes));
  State state{};
  std::memcpy(&state, bytes.data(), sizeof(state));
  return state;
}

template <typename State>
StateBytes pack(const State& state) {
  StateBytes bytes{};
  std::memcpy(bytes.data(), &state, sizeof(state));
  return bytes;
}

static_assert(sizeof(TimeRing) <= sizeof(StateBytes));

std::size_t shards_for(std::size_t max_keys) {
  return std::clamp<std::size_t>(std::bit_floor(max_keys / 256 + 1), 1, kShardsMax);
}

// A whole number of sets, two at least.
std::size_t records_for(std::size_t keys) {
  const std::size_t records = WideStore::kRecordsPerKey * keys;
  return (records / kSetPlaces + 2) * kSetPlaces;
}

TimeRing& ring_in(StateBytes& state) { return *std::launder(reinterpret_cast<TimeRing*>(&state)); }

}  // namespace

WideStore::WideStore(std::size_t max_keys, std::size_t log_entries_max)
    : shard_count_(shards_for(max_keys)),
      records_per_shard_(records_for(max_keys / shard_count_)),
      records_(shard_count_ * records_per_shard_),
      own_shards_(shard_count_),
      shards_(own_shards_),
      budget_{.entries_max = log_entries_max} {}

std::size_t WideStore::shards_in(std::span<std::byte> memory) {
  return std::clamp<std::size_t>(
      std::bit_floor(memory.size() / (kSharedRecords * sizeof(Record)) + 1), 1, kShardsMax);
}

// Shards, and behind them the records.
WideStore::WideStore(std::span<std::byte> memory)
    : shard_count_(shards_in(memory)),
      records_per_shard_((memory.size() - shard_count_ * sizeof(Shard)) / sizeof(Record) /
                         shard_count_ / kSetPlaces * kSetPlaces),
      records_(std::span(reinterpret_cast<Record*>(memory.data() + shard_count_ * sizeof(Shard)),
                         shard_count_ * records_per_shard_)),
      shards_(reinterpret_cast<Shard*>(memory.data()), shard_count_) {
  WEIR_ASSERT(records_per_shard_ >= 2 * kSetPlaces);
}

void WideStore::format(std::span<std::byte> memory) {
  for (Shard& shard : std::span(reinterpret_cast<Shard*>(memory.data()), shards_in(memory))) {
    shard.mutex.share();
  }
}

// Holds a shard, whose last holder may have died while it held it.
class WideStore::Lock {
 public:
  Lock(WideStore& store, Shard& shard) noexcept : shard_(shard) {
    if (shard.mutex.lock() == ShardMutex::State::kDamaged) store.forget(shard);
  }
  ~Lock() { shard_.mutex.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Shard& shard_;
};

// REQUIRES: the shard is shared, so that no record has a ring with memory of its own
void WideStore::forget(const Shard& shard) noexcept {
  const auto number = static_cast<std::size_t>(&shard - shards_.data());
  Record* const first = &records_[number * records_per_shard_];
  std::fill(first, first + records_per_shard_, Record{});
}

WideStore::~WideStore() {
  if (own_shards_.empty()) return;
  for (std::size_t index = 0; index < records_.size(); ++index) {
    const Shard& shard = shards_[index / records_per_shard_];
    // Reading a record that was never used would take memory for it from the system.
    if (shard.used && records_[index].used) clear(records_[index]);
  }
}

inline WideStore::Sets WideStore::sets_of(KeyHash key) noexcept {
  const std::size_t shard = key.low & (shard_count_ - 1);  // a power of two
  const std::size_t sets = records_per_shard_ / kSetPlaces;
  Record* const records = &records_[shard * records_per_shard_];
  // A part of 2^32 of the sets, without a division.
  const std::size_t first = (key.high >> 32) * sets >> 32;
  std::size_t second = (key.high & 0xffffffff) * sets >> 32;
  if (second == first) second = first + 1 == sets ? 0 : first + 1;
  return {.shard = shards_[shard],
          .first = records + first * kSetPlaces,
          .second = records + second * kSetPlaces};
}

// A record that has expired no longer has a protected sets.
inline WideStore::Record* WideStore::find(const Sets& sets, KeyHash key, Instant now) noexcept {
  for (Record* const set : {sets.first, sets.second}) {
    for (Record& record : std::span(set, kSetPlaces)) {
      if (record.key != key || !record.used) continue;
      if (record.expiry_us <= epoch_us(now)) record.rank = Rank::kPlain;
      return &record;
    }
  }
  return nullptr;
}

Tenant WideStore::tenant_of(const Record& record, Instant now) noexcept {
  return {!record.used || record.expiry_us <= epoch_us(now), record.rank, record.expiry_us};
}

// An unused record among the candidates, emptied if necessary; null if that is not allowed.
[[gnu::noinline]] WideStore::Record* WideStore::make_room(const Sets& sets, OnFull on_full,
                                                          Instant now) noexcept {
  const Room room =
      choose_room([&](std::size_t candidate) { return tenant_of(sets[candidate], now); });
  if (on_full == OnFull::kDeny && room.frees_somebody()) {
    ++sets.shard.refused;
    return nullptr;
  }
  if (!room.is_free) ++sets.shard.evictions;
  if (room.frees_somebody()) ++sets.shard.freed;
  Record& record = sets[room.candidate];
  if (record.used) clear(record);
  return &record;
}

void WideStore::rank(const Sets& sets, Record& record, const Decision& decision,
                     Instant now) noexcept {
  if (!leaves_nothing(decision)) {
    record.rank = Rank::kPlain;
    return;
  }
  if (record.rank == Rank::kProtected) return;
  const auto tenant = [&](std::size_t candidate) { return tenant_of(sets[candidate], now); };
  const bool in_first = &record >= sets.first && &record < sets.first + kSetPlaces;
  const bool is_blocked = decision.backoff_level == algo::kBackoffLevelMax;
  record.rank = may_protect(in_first ? 0 : kSetPlaces, tenant) ? Rank::kProtected
                : is_blocked ? Rank::kBlocked
                             : Rank::kOverLimit;
}

void WideStore::clear(Record& record) noexcept {
  if (record.has_ring) RingView(ring_in(record.state), budget_).clear();
  record = Record{};
}

// The key's record, new if it had none; null if there is no room for it.
WideStore::Record* WideStore::keep(const Sets& sets, Record* record, const Charge& charge,
                                   Instant now) noexcept {
  if (record != nullptr) return record;
  Record* const fresh = make_room(sets, charge.on_full, now);
  if (fresh == nullptr) return nullptr;
  fresh->used = true;
  sets.shard.used = true;
  fresh->key = charge.key;
  return fresh;
}

#ifndef __wasm__  // where it would be too large
[[gnu::flatten, gnu::noinline]]
#endif
Decision
WideStore::spend(const Charge& charge, Instant now, WideChange* change) noexcept {
  return enter(charge, Entry::kIfItFits, now, change);
}

Decision WideStore::charge(const Charge& charge, Instant now) noexcept {
  return enter(charge, Entry::kAlways, now, nullptr);
}

Decision WideStore::enter(const Charge& charge, Entry entry, Instant now,
                          WideChange* change) noexcept {
  const Sets sets = sets_of(charge.key);
  // Fetched before the lock, as no load passes it.
#pragma GCC unroll 8
  for (std::size_t at = 0; at < kSetPlaces; ++at) __builtin_prefetch(sets.first + at);
  const Lock lock(*this, sets.shard);
  return charge.quota->algorithm() == Algorithm::kSlidingLog
             ? enter_log(charge, entry, sets, now, change)
             : enter_state(charge, entry, sets, now, change);
}

Decision WideStore::enter_state(const Charge& charge, Entry entry, const Sets& sets, Instant now,
                                WideChange* change) noexcept {
  const Quota& quota = *charge.quota;
  Record* record = find(sets, charge.key, now);
  return with_state(quota.algorithm(), [&]<typename State>(std::type_identity<State>) {
    const State before = record != nullptr ? unpack<State>(record->state) : State{};
    const auto step = entry == Entry::kAlways ? algo::charge(quota, before, charge.cost, now)
                                              : algo::decide(quota, before, charge.cost, now);
    if (change != nullptr) *change = {.before = pack(before), .after = pack(step.state)};
    if (step.changed) {
      record = keep(sets, record, charge, now);
      if (record == nullptr) return refused_for_room(quota);
      record->state = pack(step.state);
      record->expiry_us = epoch_us(algo::expiry(quota, step.state));
    }
    if (record != nullptr && charge.cost > 0 && step.decision.verdict != Verdict::kNever) {
      rank(sets, *record, step.decision, now);
    }
    return step.decision;
  });
}

[[gnu::noinline]] Decision WideStore::enter_log(const Charge& charge, Entry entry, const Sets& sets,
                                                Instant now, WideChange* change) noexcept {
  const Quota& quota = *charge.quota;
  Record* record = find(sets, charge.key, now);
  TimeRing never_seen{};
  if (record == nullptr) {
    RingView fresh(never_seen, budget_);
    const Decision decision = algo::look(quota, fresh, std::max<std::int64_t>(0, charge.cost), now);
    const bool counts = entry == Entry::kAlways && quota.limit() > 0;
    if (charge.cost <= 0 || !(decision.allowed() || counts)) return decision;
  }
  record = keep(sets, record, charge, now);
  if (record == nullptr) return refused_for_room(quota);
  record->has_ring = true;
  RingView log(ring_in(record->state), budget_);
  const Decision decision = entry == Entry::kAlways ? algo::charge(quota, log, charge.cost, now)
                                                    : algo::decide(quota, log, charge.cost, now);
  if (change != nullptr && log.size() > 0) change->charged_at_us = log[log.size() - 1].at_us;
  record->expiry_us = epoch_us(algo::expiry(quota, log));
  if (charge.cost > 0 && decision.verdict != Verdict::kNever) rank(sets, *record, decision, now);
  return decision;
}

Decision WideStore::look(const Charge& charge, Instant now) noexcept {
  const Quota& quota = *charge.quota;
  const Sets sets = sets_of(charge.key);
  const Lock lock(*this, sets.shard);
  Record* record = find(sets, charge.key, now);
  if (quota.algorithm() != Algorithm::kSlidingLog) {
    return with_state(quota.algorithm(), [&]<typename State>(std::type_identity<State>) {
      const State state = record != nullptr ? unpack<State>(record->state) : State{};
      return look_at(charge.cost, [&](std::int64_t cost) {
        return algo::decide(quota, state, cost, now).decision;
      });
    });
  }
  TimeRing never_seen{};
  const RingView log(record != nullptr ? ring_in(record->state) : never_seen, budget_);
  return look_at(charge.cost, [&](std::int64_t cost) { return algo::look(quota, log, cost, now); });
}

void WideStore::record_denial(const Charge& charge, Instant now) noexcept {
  const Sets sets = sets_of(charge.key);
  const Lock lock(*this, sets.shard);
  Record* record = find(sets, charge.key, now);
  if (!counts_denials(*charge.quota)) {
    if (record != nullptr) rank(sets, *record, {.verdict = Verdict::kDenied}, now);
    return;
  }
  with_denial_state(*charge.quota, [&]<typename State>(std::type_identity<State>) {
    const auto before = record != nullptr ? unpack<State>(record->state) : State{};
    const auto step = algo::record_denial(*charge.quota, before, now);
    if (!step.changed) return;
    record = keep(sets, record, charge, now);
    if (record == nullptr) return;
    record->state = pack(step.state);
    record->expiry_us = epoch_us(algo::expiry(*charge.quota, step.state));
    rank(sets, *record, step.decision, now);
  });
}

void WideStore::undo(const Charge& charge, const WideChange& change, Instant now) noexcept {
  const Quota& quota = *charge.quota;
  const Sets sets = sets_of(charge.key);
  const Lock lock(*this, sets.shard);
  Record* record = find(sets, charge.key, now);
  if (record == nullptr) return;
  if (quota.algorithm() == Algorithm::kSlidingLog) {
    RingView log(ring_in(record->state), budget_);
    algo::undo(log, charge.cost, change.charged_at_us);
    return;
  }
  if (record->state == change.after) {
    record->state = change.before;
    return;
  }
  if (!gives_back_exactly(quota)) return;
  with_state(quota.algorithm(), [&]<typename State>(std::type_identity<State>) {
    const auto step = algo::decide(quota, unpack<State>(record->state), -charge.cost, now);
    if (step.changed) record->state = pack(step.state);
  });
}

void WideStore::erase(KeyHash key) noexcept {
  const Sets sets = sets_of(key);
  const Lock lock(*this, sets.shard);
  if (Record* record = find(sets, key, Instant{})) clear(*record);
}

std::uint64_t WideStore::sum_of(std::uint64_t Shard::*figure) noexcept {
  std::uint64_t sum = 0;
  for (Shard& shard : shards_) {
    const Lock lock(*this, shard);
    sum += shard.*figure;
  }
  return sum;
}

std::uint64_t WideStore::count_live(Instant now) noexcept {
  std::uint64_t live = 0;
  for (std::size_t index = 0; index < records_.size(); ++index) {
    const Lock lock(*this, shards_[index / records_per_shard_]);
    const Record& record = records_[index];
    if (record.used && record.expiry_us > epoch_us(now)) ++live;
  }
  return live;
}

}  // namespace weir
