// FleetBoard: what the workers of one nginx tell each other about the fleet of which they are one
// node, in memory that all of them map.
//
// One worker at a time has the seat: it says the node's word to the others in Redis. It notes here
// how many nodes are alive, and the secret under which the fleet hashes its keys. The others read
// it. The worker on the seat renews it with every look. A worker that does not look for kSeatMax
// has lost it, so the next that looks takes the place of one that is killed or stopped. With each
// worker a node of its own, the share that a node decides by while Redis is away would be divided
// by the workers once more.
//
// A reload may bring another Redis: what was noted is of the fleet that is named with it, and
// workers of another one read nothing.
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

  // As other nodes know this nginx.
  std::string node() const { return {node_.begin(), node_.end()}; }

  struct Worker {
    std::uint64_t fleet;  // like no other's
    std::int32_t process;
  };
  enum class Wish : std::uint8_t { kSeat, kNothing };
  // What one worker knows of the fleet, and all need to know.
  struct Known {
    NodesHeard nodes{};
    std::optional<HashSecret> secret{};
    std::string blocks_read{};  // where this node has ended to read the blocks of others
  };
  struct News {
    bool has_seat = false;
    Known known{};
  };
  // Takes or keeps the seat if it is free and wished for, and reads what is noted.
  News look(const Worker& worker, Wish wish, Instant now);

  // Notes for all, now and then. Nothing happens if somebody else has the seat by now.
  void note(const Worker& worker, const Known& known);
  void leave(const Worker& worker);

 private:
  struct Noted {
    std::uint64_t fleet;
    std::int32_t holder;  // of the seat; 0: nobody
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
