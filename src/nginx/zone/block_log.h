// BlockLog: the blocks that one worker of nginx knows. Workers tell each other of blocks by it, in
// memory that all of them map.
//
// Each worker has all blocks in its own BlockList, which its requests ask. It appends its blocks
// and lifts to the log. It reads the other workers' entries before it decides the next request: one
// load, while there is nothing new. A new worker reads the whole log, so blocks outlive reloads and
// killed workers.
//
//   half 0  │ block │ block │ lifted │ block │        <- size
//   half 1  │                                         the next log, when this half is full
//
// When a half is full, the entries that still hold go to the other half, and fill three quarters of
// it at most. If they filled more, each further block would make the log start over. An unfinished
// write lies behind `size`, or in the half that nobody reads. So a worker may be killed at any
// time; its lock then passes to another.
//
// Thread rule: one thread of each process. Tested by block_log_test.cc.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/block_list.h"
#include "store/memory/shard_lock.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir::nginx {

class BlockLog {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{64} << 10;

  // Once, before any process uses it. REQUIRES: zeros, at least kBytesMin, aligned for any type
  static void format(std::span<std::byte> memory);

  // `memory` has been formatted; it and `hasher` outlive this.
  BlockLog(std::span<std::byte> memory, const KeyHasher& hasher);

  BlockList& list() { return list_; }

  // Reads the other workers' new blocks, and appends this worker's.
  void learn(Instant now) {
    tell(now);
    if (head_.state.load(std::memory_order_acquire) != seen_) catch_up(now);
    told_ = list_.changes();
  }
  void tell(Instant now) {
    if (list_.changes() != told_) write(now);
  }

  // One worker tells other nodes of all blocks, from the first that they may not know; or stops to.
  void tell_fleet(Instant now);
  void stop_telling_fleet() { list_.stop_sharing(BlockList::Audience::kFleet); }
  // Other nodes know all blocks that this worker knows. REQUIRES: learn() was called
  void fleet_knows_all() { head_.fleet_knows.store(*seen_, std::memory_order_relaxed); }

  // How often the log has started over: rarely, even if more blocks are told than fit.
  std::uint32_t generation() const;

  // Blocks that found no room, so that the other workers do not know them.
  std::uint64_t dropped() const { return head_.dropped.load(std::memory_order_relaxed); }

 private:
  struct Head {
    ShardMutex mutex;  // if a worker dies with it, the guarded memory is complete
    // The generation, whose lowest bit says which half is read, and how many bytes that half has.
    std::atomic<std::uint64_t> state;
    std::atomic<std::uint64_t> dropped;
    std::atomic<std::uint64_t> fleet_knows;  // a state
  };

  std::size_t blocks_max() const;
  void catch_up(Instant now);
  void learn_locked(Instant now);
  std::vector<Block> records(std::uint64_t from, std::uint64_t state) const;
  std::vector<Block> unknown_to_fleet() const;
  void lift_unknown(std::span<const Block> known, Instant now);
  void write(Instant now);
  void start_over(Instant now);
  std::span<std::byte> half(std::uint32_t generation) const;
  void publish(std::uint32_t generation, std::size_t size);

  Head& head_;
  const std::span<std::byte> bytes_;  // of both halves
  std::optional<std::uint64_t> seen_;
  BlockList list_;
  std::uint64_t told_ = 0;  // changes of the list that are in the log
};

}  // namespace weir::nginx
