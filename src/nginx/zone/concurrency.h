// Concurrency: how many requests of a key are under way, or how much they hold, in memory that all
// workers map.
//
//   │ owners: a lock and a term for each │ locks of the sets │ sets of entries │
//
// An entry says how much of one key one worker has under way; the entries of a key are in one set.
// A limit is compared with the sum of the entries whose owners live.
//
// No count outlives its worker. Each worker holds the lock of its place among the owners. If it is
// killed, the kernel says so to the next worker that tries the lock. That worker ends the term of
// the place, and all entries of the term become void. Before a denial, and before a set counts as
// full, the set's owners are tried: a denial never counts the dead. A worker that is killed in the
// middle of a change leaves a whole entry, as it writes the count last.
//
// A set that is full of requests under way has no place for another key.
//
// Thread rule: format() before there are workers; then one thread of each process.
// Tested by concurrency_test.cc and tests/nginx/concurrency_test.py.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "store/memory/shard_lock.h"
#include "weir/key.h"

namespace weir::nginx {

class Concurrency {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{32} << 10;
  static constexpr std::size_t kOwnersMax = 256;

  // Once, before any process uses it. REQUIRES: zeros, at least kBytesMin, aligned for any type
  static void format(std::span<std::byte> memory);

  // Takes a place among the owners, if there is one. The memory outlives this.
  explicit Concurrency(std::span<std::byte> memory);
  // Lets go of all that this worker holds.
  ~Concurrency();
  Concurrency(const Concurrency&) = delete;
  Concurrency& operator=(const Concurrency&) = delete;

  // Its number among the owners: no other living worker has it. nullopt: all are taken.
  std::optional<std::uint32_t> place() const { return place_; }

  struct Entrance {
    enum class Kind : std::uint8_t {
      kEntered,  // counted until it leaves
      kOver,     // with this request the limit would be exceeded
      kNoPlace,  // no room to count it
    };
    Kind kind = Kind::kNoPlace;
    std::int64_t under_way = 0;  // of the key, with this request if it has entered
    bool is_alone = false;       // no other request is under way

    bool has_entered() const { return kind == Kind::kEntered; }
  };
  // kLiving: leaves out every dead worker's entries, however few, as somebody asks for the number.
  enum class Count : std::uint8_t { kAll, kLiving };
  // REQUIRES: units > 0
  Entrance enter(KeyHash key, std::int64_t limit, Count count = Count::kAll,
                 std::int64_t units = 1);
  // REQUIRES: as many units have entered, and not left
  void leave(KeyHash key, std::int64_t units = 1);

 private:
  struct Owner {
    ShardMutex life;                  // held by the owner of the place
    std::atomic<std::uint32_t> term;  // changes with each owner
  };
  struct Entry {
    std::uint64_t key;
    std::uint32_t term;
    std::uint32_t owner;
    std::atomic<std::int64_t> count;  // 0: free
  };
  static_assert(sizeof(Entry) == 24);
  static constexpr std::size_t kEntriesASet = 42;  // about a KiB
  static constexpr std::size_t kLocks = 64;
  using Set = std::array<Entry, kEntriesASet>;
  struct Head {
    std::array<Owner, kOwnersMax> owners;
    std::array<ShardMutex, kLocks> locks;
  };

  static Head& head_of(std::span<std::byte> memory) {
    return *reinterpret_cast<Head*>(memory.data());
  }
  std::optional<std::uint32_t> take_place();
  Set& set_of(KeyHash key) const;
  ShardMutex& lock_of(KeyHash key) const;
  bool is_own(const Entry& entry) const;
  bool is_valid(const Entry& entry) const;
  // Voids the entry if its owner is dead.
  bool is_orphan(const Entry& entry) const;
  std::int64_t count_all(Set& set, std::uint64_t key) const;
  std::int64_t count_living(Set& set, std::uint64_t key) const;
  Entry* place_for(Set& set, std::uint64_t key) const;

  Head& head_;
  const std::span<Set> sets_;
  const std::optional<std::uint32_t> place_;  // nullopt: all are taken
  const std::uint32_t term_;
};

}  // namespace weir::nginx
