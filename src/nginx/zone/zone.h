// Zone: the memory that all workers of one nginx share, and its parts.
//
//   │ head: mark, version, size, hash secret, board of the fleet │
//   │ changed rules │ blocks │ units owed to a Redis │ requests under way │ table │
//
// The master makes it before it starts workers. It has the same address in all of them, and stays
// through reloads. It has no pointers to other memory.
//
// Thread rule: format() before there are workers; the rest in any process.
// Tested by zone_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "nginx/zone/fleet_board.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir::nginx {

class Zone {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{768} << 10;

  // Turns zeros into a zone. REQUIRES: at least kBytesMin, aligned to a page
  static void format(std::span<std::byte> memory, Instant now);

  // `memory`: a zone, perhaps of another version or size, or damaged.
  explicit Zone(std::byte* memory) : memory_(memory) {}

  // Why the zone is unusable; empty if it is one of ours. `size`: the right one.
  std::string fault(std::size_t size) const;

  // REQUIRES for all below: the zone has no fault
  const HashSecret& secret() const { return head().secret; }
  Instant started() const { return instant_from_epoch_us(head().started_us); }
  FleetBoard& board() const { return head().board; }
  std::span<std::byte> rules() const { return part(0); }      // see rule_board.h
  std::span<std::byte> blocks() const { return part(1); }     // see block_log.h
  std::span<std::byte> owed() const { return part(2); }       // see owed_ledger.h
  std::span<std::byte> under_way() const { return part(3); }  // see concurrency.h
  std::span<std::byte> table() const { return part(4); }      // see store/memory/shared_store.h

 private:
  struct Head {
    std::uint64_t mark;
    std::uint64_t version;
    std::uint64_t size;
    std::int64_t started_us;
    HashSecret secret;
    FleetBoard board;
  };

  static std::uint64_t version_here();
  Head& head() const { return *reinterpret_cast<Head*>(memory_); }
  std::span<std::byte> part(std::size_t number) const;

  std::byte* memory_;
};

}  // namespace weir::nginx
