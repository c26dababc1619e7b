// FleetBoard: the workers of one nginx, which are one node of a fleet, share facts of the fleet
// here, in memory that all of them map.
//
// One worker at a time has the seat: it sends the node's beats to Redis. It notes here how many
// nodes are alive, and the secret under which the fleet hashes its keys. The other workers read
// that. The worker on the seat renews it with every look. A worker that does not look for kSeatMax
// has lost it: so the next that looks replaces a killed or stopped worker. If each worker were a
// node of its own, a node's share while Redis is away would be divided by the workers once more.
//
// A reload may bring another Redis. Notes belong to the fleet that is named with them, and workers
// of another fleet ignore them.
//
// Thread rule: format() before there are workers; the rest one thread of each process.
// Tested by fleet_board_test.cc.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "store/memory/shard_lock.h"
#include "store/redis/fleet/fleet_state.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir::nginx {

class FleetBoard {
 public:
  static constexpr Duration kSeatMax = std::chrono::seconds(1);
  static constexpr std::size_t kBlocksReadMax = 64;  // three numbers of 64 bits

  // Once, before any process uses it. REQUIRES: zeros
  void format();

  // This nginx's name among the nodes.
  std::string node() const { return {node_.begin(), node_.end()}; }

  struct Worker {
    std::uint64_t fleet;  // like no other fleet's
    std::int32_t process;
  };
  enum class Wish : std::uint8_t { kSeat, kNothing };
  // Facts of the fleet that one worker knows, and all need.
  struct Known {
    NodesHeard nodes{};
    std::optional<HashSecret> secret{};
    std::string blocks_read{};  // where this node stopped to read the others' blocks
  };
  struct News {
    bool has_seat = false;
    Known known{};
  };
  // Takes or keeps the seat if it is free and wished for, and reads the notes.
  News look(const Worker& worker, Wish wish, Instant now);

  // Writes notes for all, now and then. Does nothing if another worker has the seat by now.
  void note(const Worker& worker, const Known& known);
  void leave(const Worker& worker);

 private:
  struct Noted {
    std::uint64_t fleet;
    std::int32_t holder;  // of the seat; 0: no worker
    std::int64_t renewed_us;
    NodesHeard nodes;
    bool has_secret;
    HashSecret secret;
    std::array<char, kBlocksReadMax> blocks_read;
    std::size_t blocks_read_size;
  };
  class Lock;

  bool has_seat(const Worker& worker) const;

  ShardMutex mutex_;
  std::array<char, 16> node_;
  Noted noted_;
};

}  // namespace weir::nginx
