// The embedded store: one table in this process's memory, shared by all threads.
//
// fixed_window, sliding_window, token_bucket and adaptive keys are 16 bytes each in a lock-free
// table. sliding_log and exponential_backoff keys live in a second, locked store. So do keys of a
// quota whose state does not fit 16 bytes (docs/internals/memory_store.md). Its limit is over about
// 32,000 per millisecond, a million a second or 8 million a minute. Both stores have fixed sizes.
// Only the times of sliding logs grow after construction, up to `log_entries_max`.
//
// A full table is not an error: a new key replaces an expired one, or else the one nearest to
// expiry among 16 candidates. It replaces a key that has nothing left of its limit only if all
// candidates are such keys, or not even then (Charge::on_full). A flood of new keys never pushes
// out keys that had nothing left before it began.
//
// Thread rule: any thread, concurrently. Design: docs/internals/memory_store.md.
// Tested by src/store/memory/*_test.cc and tests/conformance.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "weir/store.h"
#include "weir/time.h"

namespace weir {

struct MemoryStoreOptions {
  // Keys in the compact table. 1,024 to 2^32.
  std::size_t max_keys = std::size_t{1} << 20;
  // Keys in the locked store, 128 bytes each, taken as they are used. 0 means max_keys / 4.
  std::size_t max_wide_keys = 0;
  // Times that all sliding logs remember together, 16 bytes each. 0 means 16 * max_wide_keys. A log
  // that gets no room merges its oldest times into later ones. So it may deny too early, but it
  // never admits too much.
  std::size_t log_entries_max = 0;
  // How many keys of sliding_window may be precise at once, 624 bytes each. Precise keys misjudge a
  // tenth as many requests, or fewer (docs/internals/accuracy.md). A key asks to be precise while
  // it holds over a quarter of its limit. Two counters decide all other keys. 0: no precise keys.
  std::size_t precise_keys = 0;
};

struct MemoryStoreStats {
  std::uint64_t capacity = 0;   // keys that fit
  std::uint64_t evictions = 0;  // live keys that were replaced by others
  std::uint64_t freed = 0;      // evicted keys that had nothing left of their limit
  std::uint64_t refused = 0;    // denials because the table had no room
  std::uint64_t bytes = 0;      // reserved at construction
  std::uint64_t log_entries = 0;
};

class MemoryStore : public Store {
 public:
  virtual MemoryStoreStats stats() const noexcept = 0;
  // Counts the keys not yet expired at `now`. Walks the table: for tests and admin pages.
  virtual std::uint64_t count_live(Instant now) const noexcept = 0;
};

// `start` is the earliest time that calls bring, give or take a year; the store works for 8 years
// from then. Throws std::bad_alloc if memory is short, and std::invalid_argument if an option is
// out of range.
std::unique_ptr<MemoryStore> make_memory_store(const MemoryStoreOptions& options, Instant start);

}  // namespace weir
