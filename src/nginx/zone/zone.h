// Zone: the memory that all workers of one nginx share, and what is where in it.
//
//   │ head: mark, version, size, hash secret, board of the fleet, places │
//   │ changed rules │ blocks │ units owed to a Redis │ requests under way │ table │
//
// The master makes it before it starts workers. It has the same address in all of them, and stays
// through reloads. It has no pointers to anything outside.
//
// Each worker takes a place, which is the number of its own counters of traffic. The place of one
// that is gone is free again, and its figures stay.
//
// Thread rule: format() before there are workers; the rest in any process.
// Tested by zone_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nginx/zone/fleet_board.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir::nginx {

class Zone {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{768} << 10;
  static constexpr std::size_t kPlacesMax = 256;

  // Makes zeros a zone. REQUIRES: at least kBytesMin, aligned to a page
  static void format(std::span<std::byte> memory, Instant now);

  // `memory`: of a zone, perhaps of another version or size, or damaged.
  explicit Zone(std::byte* memory) : memory_(memory) {}

  // Why nothing may be read from it; empty if it is a zone of ours. `size`: what it should have.
  std::string fault(std::size_t size) const;

  // REQUIRES, of all that follows: it is without fault
  const HashSecret& secret() const { return head().secret; }
  Instant started() const { return instant_from_epoch_us(head().started_us); }
  FleetBoard& board() const { return head().board; }
  std::span<std::byte> rules() const;  // see rule_board.h
  std::span<std::byte> blocks() const;
  std::span<std::byte> owed() const;       // see owed_ledger.h
  std::span<std::byte> under_way() const;  // see concurrency.h
  std::span<std::byte> table() const;

  // A place below `places` that nobody has who lives. Nothing if there is none.
  std::optional<std::size_t> take_place(std::int32_t process, std::size_t places) const;
  void leave(std::size_t place) const;

 private:
  struct Head {
    std::uint64_t mark;
    std::uint64_t version;
    std::uint64_t size;
    std::int64_t started_us;
    HashSecret secret;
    FleetBoard board;
    std::array<std::atomic<std::int32_t>, kPlacesMax> places;  // process ids; 0: free
  };

  static std::uint64_t version_here();
  Head& head() const { return *reinterpret_cast<Head*>(memory_); }
  static std::size_t rules_begin();
  std::size_t blocks_begin() const;
  std::size_t owed_begin() const;
  std::size_t under_way_begin() const;
  std::size_t table_begin() const;

  std::byte* memory_;
};

}  // namespace weir::nginx
