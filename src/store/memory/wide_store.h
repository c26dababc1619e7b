// WideStore: the keys that need more than a slot of the compact table.
//
// It has all keys of sliding_log and exponential_backoff, and those of the rare quotas that
// Packing::fits refuses. Their records lie in shards, each with its own mutex; a record is in one
// of two sets of eight that the key's hash names. room.h says which record a new key gets, as in
// the compact table.
//
// A sliding log's times are in a ring that grows by doubling, as long as `log_entries_max` leaves
// entries. A ring that may not grow merges its two oldest entries into the later one. Their units
// then count up to one entry longer than they should, so the log may deny too early but never
// admits too much.
//
// Processes may share records and shards, in memory that all of them map. A ring cannot grow there,
// so each log has one entry: a node that shares the store refuses sliding logs. If a process dies
// in the middle of a change, its shard forgets its keys.
//
// Thread rule: any thread, concurrently. Tested by memory_store_test.cc, shared_store_test.cc,
// memory_store_race_test.cc and tests/conformance.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/huge_array.h"
#include "store/memory/room.h"
#include "store/memory/shard_lock.h"
#include "store/memory/time_ring.h"
#include "weir/key.h"
#include "weir/store.h"

namespace weir {

// Any algorithm's state, as bytes; zeros are a key never seen.
using StateBytes = std::array<std::byte, 48>;

// A charge's effect, so that it can be undone.
struct WideChange {
  StateBytes before{};
  StateBytes after{};
  std::int64_t charged_at_us = 0;  // sliding_log: the time of its entry
};

// check:allow(methods): the calls of the table next to it, and their steps under a shard's lock
class WideStore {
 public:
  // With so many records no live key has to make room before there are max_keys.
  static constexpr std::size_t kRecordsPerKey = 2;

  WideStore(std::size_t max_keys, std::size_t log_entries_max);

  // Turns zeros into the memory of a store that processes share, before any of them uses it.
  // REQUIRES: aligned to a cache line, room for 16 KiB
  static void format(std::span<std::byte> memory);
  // A store in that memory.
  explicit WideStore(std::span<std::byte> memory);
  ~WideStore();
  WideStore(const WideStore&) = delete;
  WideStore& operator=(const WideStore&) = delete;

  // Decides and, if it is allowed, charges. `change`, unless null, gets how to undo it.
  Decision spend(const Charge& charge, Instant now, WideChange* change) noexcept;

  // Charges the cost even if it exceeds the limit.
  Decision charge(const Charge& charge, Instant now) noexcept;

  // The answer of spend(); `remaining` is before the cost.
  Decision look(const Charge& charge, Instant now) noexcept;

  // Notes that the charge was denied: for the key's rank, and for algorithms that count denials.
  void record_denial(const Charge& charge, Instant now) noexcept;

  // Takes back an allowed charge. `now` is the time of the charge.
  void undo(const Charge& charge, const WideChange& change, Instant now) noexcept;

  void erase(KeyHash key) noexcept;

  std::size_t bytes() const noexcept { return records_.bytes(); }
  std::uint64_t evictions() noexcept { return sum_of(&Shard::evictions); }
  std::uint64_t freed() noexcept { return sum_of(&Shard::freed); }
  std::uint64_t refused() noexcept { return sum_of(&Shard::refused); }
  std::uint64_t log_entries() const noexcept { return budget_.entries; }
  std::uint64_t count_live(Instant now) noexcept;

 private:
  struct Record {
    KeyHash key;
    std::int64_t expiry_us;
    bool used;
    bool has_ring;  // `state` is a TimeRing
    Rank rank;
    alignas(8) StateBytes state;
  };

  struct alignas(64) Shard {
    ShardMutex mutex;  // guards the shard's records and the fields below
    std::uint64_t evictions = 0;
    std::uint64_t freed = 0;    // evicted keys that had nothing left of their limit
    std::uint64_t refused = 0;  // new keys that were denied for want of room
    bool used = false;          // one of its records was used at some time
  };

  class Lock;

  // The two sets in which one key may be.
  struct Sets {
    Shard& shard;
    Record* first;
    Record* second;

    Record& operator[](std::size_t candidate) const {
      return candidate < kSetPlaces ? first[candidate] : second[candidate - kSetPlaces];
    }
  };

  std::uint64_t sum_of(std::uint64_t Shard::*figure) noexcept;
  static Tenant tenant_of(const Record& record, Instant now) noexcept;

  Sets sets_of(KeyHash key) noexcept;
  Record* find(const Sets& sets, KeyHash key, Instant now) noexcept;
  Record* make_room(const Sets& sets, OnFull on_full, Instant now) noexcept;
  void clear(Record& record) noexcept;

  // How a cost enters a state.
  enum class Entry : std::uint8_t { kIfItFits, kAlways };
  Decision enter(const Charge& charge, Entry entry, Instant now, WideChange* change) noexcept;
  Decision enter_state(const Charge& charge, Entry entry, const Sets& sets, Instant now,
                       WideChange* change) noexcept;
  Decision enter_log(const Charge& charge, Entry entry, const Sets& sets, Instant now,
                     WideChange* change) noexcept;
  Record* keep(const Sets& sets, Record* record, const Charge& charge, Instant now) noexcept;
  // Sets the record's rank by the decision. REQUIRES: the record is in `sets`
  static void rank(const Sets& sets, Record& record, const Decision& decision,
                   Instant now) noexcept;

  static std::size_t shards_in(std::span<std::byte> memory);
  void forget(const Shard& shard) noexcept;

  std::size_t shard_count_;
  std::size_t records_per_shard_;
  HugeArray<Record> records_;
  std::vector<Shard> own_shards_;  // empty: they are shared
  std::span<Shard> shards_;
  RingBudget budget_;
};

}  // namespace weir
