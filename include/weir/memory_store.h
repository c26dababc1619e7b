// The embedded store: one table in this process's memory, shared by all threads.
//
// fixed_window, sliding_window, token_bucket and adaptive keys are 16 bytes each in a lock-free
// table. sliding_log and exponential_backoff keys live in a second, locked store. So do the keys of
// the rare quota whose state does not fit 16 bytes (docs/internals/memory_store.md). Its limit is
// over about 32,000 per millisecond, a million a second or 8 million a minute. Both have fixed
// sizes: nothing grows after construction but the times of sliding logs, up to `log_entries_max`.
//
// Full is not an error: a new key takes the place of an expired one, else of the one nearest to
// expiry among 16 candidates. A key that has nothing left of its limit goes only when all
// candidates are such keys, or not even then (Charge::on_full). No flood of new keys pushes out
// those that had nothing left before it began.
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
  // Keys in the locked store (128 bytes each, taken as they are used); 0 means
  // max_keys / 4.
  std::size_t max_wide_keys = 0;
  // Times remembered by all sliding logs together (16 bytes each); 0 means
  // 16 * max_wide_keys. A log that gets no room forgets nothing: it merges its oldest
  // times into later ones, which can deny too early but never admit too much.
  std::size_t log_entries_max = 0;
  // How many keys of sliding_window may be precise at once, 624 bytes each: their requests are
  // misjudged a tenth as often, or less (docs/internals/accuracy.md). A key asks for that while it
  // holds over a quarter of its limit. Two counters decide the others; all of them if this is 0.
  std::size_t precise_keys = 0;
};

struct MemoryStoreStats {
  std::uint64_t capacity = 0;   // keys that fit
  std::uint64_t evictions = 0;  // live keys that had to make room
  std::uint64_t freed = 0;      // those of them that had nothing left of their limit
  std::uint64_t refused = 0;    // denials for want of room
  std::uint64_t bytes = 0;      // reserved at construction
  std::uint64_t log_entries = 0;
};

class MemoryStore : public Store {
 public:
  virtual MemoryStoreStats stats() const noexcept = 0;
  // Keys not yet expired at `now`. Walks the table: for tests and admin pages.
  virtual std::uint64_t count_live(Instant now) const noexcept = 0;
};

// `start` is the earliest time that calls bring, give or take a year; the store serves
// for 8 years from there. Throws std::bad_alloc if memory is short,
// std::invalid_argument if an option is out of range.
std::unique_ptr<MemoryStore> make_memory_store(const MemoryStoreOptions& options, Instant start);

}  // namespace weir
