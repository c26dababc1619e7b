// A memory store whose compact table is in memory that several processes map: the workers of one
// nginx, before and after a reload.
//
// The memory has the time at which the store began, which all processes need to read the table
// alike, and the latest time that any of them has seen. It has the table, and the records of keys
// that need more than a slot (wide_store.h). Sliding logs need memory that grows, and shared memory
// does not: a node that shares a store refuses them.
//
// Thread rule: any thread of any process, concurrently. Tested by shared_store_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "weir/memory_store.h"
#include "weir/time.h"

namespace weir {

inline constexpr std::size_t kSharedStoreAlignment = 64;
// Less is too little for the fewest keys that a store may have.
inline constexpr std::size_t kSharedStoreMin = std::size_t{512} << 10;

// Turns zeros into the memory of a store that starts as make_memory_store()'s does. Called before
// any process uses it. REQUIRES: aligned to kSharedStoreAlignment, at least kSharedStoreMin bytes
void format_shared_memory_store(std::span<std::byte> memory, Instant start);

// A store in that memory, which outlives the store.
std::unique_ptr<MemoryStore> make_shared_memory_store(std::span<std::byte> memory);

}  // namespace weir
