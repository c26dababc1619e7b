// A memory store whose compact table is in memory that several processes map: the workers of one
// nginx, before and after a reload.
//
// In the memory is the time at which the store began, which all processes need to read the table
// alike, the latest time that any of them has seen, and the table. Keys that need more than a slot
// of it (wide_store.h) cannot be shared: each process has its own. So who shares a store refuses
// quotas that is_shareable() refuses.
//
// Thread rule: any thread of any process, concurrently. Tested by shared_store_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "weir/memory_store.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

inline constexpr std::size_t kSharedStoreAlignment = 64;
// Too little for the fewest keys that a store may have.
inline constexpr std::size_t kSharedStoreMin = std::size_t{64} << 10;

// `memory` was zeros before the first call about it, and outlives the store. The first call says
// when the store starts, as make_memory_store(); others take part in it.
// REQUIRES: aligned to kSharedStoreAlignment, at least kSharedStoreMin bytes
std::unique_ptr<MemoryStore> make_shared_memory_store(std::span<std::byte> memory, Instant start);

// Whether counters of this quota are in the shared memory.
bool is_shareable(const Quota& quota);

}  // namespace weir
