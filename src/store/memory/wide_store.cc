#include "store/memory/wide_store.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>

#include "algo/exponential_backoff.h"
#include "algo/sliding_log.h"
#include "base/assert.h"
#include "store/memory/with_state.h"

namespace weir {
namespace {

constexpr std::size_t kShardsMax = 64;

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
  return (records / WideStore::kSetRecords + 2) * WideStore::kSetRecords;
}

Rank rank_of(const Decision& decision) {
  if (decision.allowed()) return Rank::kPlain;
  return decision.backoff_level == algo::kBackoffLevelMax ? Rank::kBlocked : Rank::kOverLimit;
}

TimeRing& ring_in(StateBytes& state) { return *std::launder(reinterpret_cast<TimeRing*>(&state)); }

}  // namespace

WideStore::WideStore(std::size_t max_keys, std::size_t log_entries_max)
    : shard_count_(shards_for(max_keys)),
      records_per_shard_(records_for(max_keys / shard_count_)),
      records_(shard_count_ * records_per_shard_),
      shards_(shard_count_) {
  for (Shard& shard : shards_) shard.budget.entries_max = log_entries_max / shard_count_;
}

WideStore::~WideStore() {
  for (std::size_t index = 0; index < records_.size(); ++index) {
    Shard& shard = shards_[index / records_per_shard_];
    // Reading a record that was never used would take memory for it from the system.
    if (shard.used && records_[index].used) clear(shard, records_[index]);
  }
}

WideStore::Place WideStore::place_of(KeyHash key) noexcept {
  const std::size_t shard = key.low % shard_count_;
  const std::size_t sets = records_per_shard_ / kSetRecords;
  Record* const records = &records_[shard * records_per_shard_];
  const std::size_t first = (key.high >> 32) % sets;
  std::size_t second = (key.high & 0xffffffff) % sets;
  if (second == first) second = (first + 1) % sets;
  return {.shard = shards_[shard],
          .first = records + first * kSetRecords,
          .second = records + second * kSetRecords};
}

WideStore::Record* WideStore::find(const Place& place, KeyHash key) noexcept {
  for (std::size_t candidate = 0; candidate < kCandidates; ++candidate) {
    Record& record = place[candidate];
    if (record.used && record.key == key) return &record;
  }
  return nullptr;
}

// An unused record among the candidates, made so if need be: one of the emptier set.
WideStore::Record& WideStore::make_room(const Place& place, Instant now) noexcept {
  std::array<std::size_t, 2> free_records{};
  std::array<Record*, 2> a_free_record{};
  Record* cheapest = &place[0];
  for (std::size_t candidate = 0; candidate < kCandidates; ++candidate) {
    Record& record = place[candidate];
    if (!record.used || record.expiry_us <= epoch_us(now)) {
      ++free_records[candidate / kSetRecords];
      a_free_record[candidate / kSetRecords] = &record;
    }
    if (std::tie(record.rank, record.expiry_us) < std::tie(cheapest->rank, cheapest->expiry_us)) {
      cheapest = &record;
    }
  }
  Record* room = a_free_record[free_records[0] >= free_records[1] ? 0 : 1];
  if (room == nullptr) {
    ++place.shard.evictions;
    room = cheapest;
  }
  if (room->used) clear(place.shard, *room);
  return *room;
}

void WideStore::clear(Shard& shard, Record& record) noexcept {
  if (record.has_ring) RingView(ring_in(record.state), shard.budget).clear();
  record = Record{};
}

// The key's record, new if it had none.
WideStore::Record& WideStore::keep(const Place& place, Record* record, KeyHash key,
                                   Instant now) noexcept {
  if (record != nullptr) return *record;
  Record& fresh = make_room(place, now);
  fresh.used = true;
  place.shard.used = true;
  fresh.key = key;
  return fresh;
}

Decision WideStore::spend(const Charge& charge, Instant now, WideChange* change) noexcept {
  const Place place = place_of(charge.key);
  const std::lock_guard lock(place.shard.mutex);
  return charge.quota->algorithm() == Algorithm::kSlidingLog
             ? spend_log(charge, place, now, change)
             : spend_state(charge, place, now, change);
}

Decision WideStore::spend_state(const Charge& charge, const Place& place, Instant now,
                                WideChange* change) noexcept {
  const Quota& quota = *charge.quota;
  Record* record = find(place, charge.key);
  return with_state(quota.algorithm(), [&]<typename State>(std::type_identity<State>) {
    const State before = record != nullptr ? unpack<State>(record->state) : State{};
    const auto step = algo::decide(quota, before, charge.cost, now);
    if (change != nullptr) *change = {.before = pack(before), .after = pack(step.state)};
    if (step.changed) {
      record = &keep(place, record, charge.key, now);
      record->state = pack(step.state);
      record->expiry_us = epoch_us(algo::expiry(quota, step.state));
    }
    if (record != nullptr && charge.cost > 0 && step.decision.verdict != Verdict::kNever) {
      record->rank = rank_of(step.decision);
    }
    return step.decision;
  });
}

Decision WideStore::spend_log(const Charge& charge, const Place& place, Instant now,
                              WideChange* change) noexcept {
  const Quota& quota = *charge.quota;
  Record* record = find(place, charge.key);
  TimeRing never_seen{};
  if (record == nullptr) {
    RingView fresh(never_seen, place.shard.budget);
    const Decision decision = algo::look(quota, fresh, std::max<std::int64_t>(0, charge.cost), now);
    if (!decision.allowed() || charge.cost <= 0) return decision;
  }
  record = &keep(place, record, charge.key, now);
  record->has_ring = true;
  RingView log(ring_in(record->state), place.shard.budget);
  const Decision decision = algo::decide(quota, log, charge.cost, now);
  if (change != nullptr && log.size() > 0) change->charged_at_us = log[log.size() - 1].at_us;
  record->expiry_us = epoch_us(algo::expiry(quota, log));
  if (charge.cost > 0 && decision.verdict != Verdict::kNever) record->rank = rank_of(decision);
  return decision;
}

Decision WideStore::look(const Charge& charge, Instant now) noexcept {
  const Quota& quota = *charge.quota;
  const Place place = place_of(charge.key);
  const std::lock_guard lock(place.shard.mutex);
  Record* record = find(place, charge.key);
  if (quota.algorithm() != Algorithm::kSlidingLog) {
    return with_state(quota.algorithm(), [&]<typename State>(std::type_identity<State>) {
      const State state = record != nullptr ? unpack<State>(record->state) : State{};
      return look_at(charge.cost, [&](std::int64_t cost) {
        return algo::decide(quota, state, cost, now).decision;
      });
    });
  }
  TimeRing never_seen{};
  const RingView log(record != nullptr ? ring_in(record->state) : never_seen, place.shard.budget);
  return look_at(charge.cost, [&](std::int64_t cost) { return algo::look(quota, log, cost, now); });
}

void WideStore::record_denial(const Charge& charge, Instant now) noexcept {
  if (charge.quota->algorithm() != Algorithm::kExponentialBackoff) return;
  const Place place = place_of(charge.key);
  const std::lock_guard lock(place.shard.mutex);
  Record* record = find(place, charge.key);
  const auto before = record != nullptr ? unpack<algo::ExponentialBackoffState>(record->state)
                                        : algo::ExponentialBackoffState{};
  const auto step = algo::record_denial(*charge.quota, before, now);
  if (!step.changed) return;
  record = &keep(place, record, charge.key, now);
  record->state = pack(step.state);
  record->expiry_us = epoch_us(algo::expiry(*charge.quota, step.state));
  record->rank = rank_of(step.decision);
}

void WideStore::undo(const Charge& charge, const WideChange& change, Instant now) noexcept {
  const Quota& quota = *charge.quota;
  const Place place = place_of(charge.key);
  const std::lock_guard lock(place.shard.mutex);
  Record* record = find(place, charge.key);
  if (record == nullptr) return;
  if (quota.algorithm() == Algorithm::kSlidingLog) {
    RingView log(ring_in(record->state), place.shard.budget);
    algo::undo(log, charge.cost, change.charged_at_us);
    return;
  }
  if (record->state == change.after) {
    record->state = change.before;
    return;
  }
  with_state(quota.algorithm(), [&]<typename State>(std::type_identity<State>) {
    if (!kGivesBackExactly<State>) return;
    const auto step = algo::decide(quota, unpack<State>(record->state), -charge.cost, now);
    if (step.changed) record->state = pack(step.state);
  });
}

void WideStore::erase(KeyHash key) noexcept {
  const Place place = place_of(key);
  const std::lock_guard lock(place.shard.mutex);
  if (Record* record = find(place, key)) clear(place.shard, *record);
}

std::uint64_t WideStore::evictions() noexcept {
  std::uint64_t sum = 0;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    sum += shard.evictions;
  }
  return sum;
}

std::uint64_t WideStore::log_entries() noexcept {
  std::uint64_t sum = 0;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    sum += shard.budget.entries;
  }
  return sum;
}

std::uint64_t WideStore::count_live(Instant now) noexcept {
  std::uint64_t live = 0;
  for (std::size_t index = 0; index < records_.size(); ++index) {
    const std::lock_guard lock(shards_[index / records_per_shard_].mutex);
    const Record& record = records_[index];
    if (record.used && record.expiry_us > epoch_us(now)) ++live;
  }
  return live;
}

}  // namespace weir
