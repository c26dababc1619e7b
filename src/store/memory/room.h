// Room: which of its sixteen places a new key takes, and which keys no flood can push out.
//
// Both halves of the memory store keep a key in one of two sets of eight places that its hash
// names. A new key takes a free place: in the first set while that has more than four, else in the
// emptier set. If no place is free, a key has to go: the one of the lowest rank, and among equals
// the one nearest to its expiry.
//
// A key that has nothing left of its limit is worth keeping, since a forgotten key starts with its
// whole limit again. A flood can make such keys, too. So the first of them in each set, up to five,
// get a protected place, which they keep until they have something left or expire. Later ones rank
// above plain keys, but compete with each other. So no flood pushes out a key that was protected
// before it, three of eight places stay there to count new keys, and protection takes no memory.
//
//   set   │ P │ P │ P │ P │ P │ over │ plain │ over │     P: protected, five at most
//                                 └── a new key takes the place of a plain one, else of one
//                                     that is over its limit and has no protected place
//
// Why five: with a tenth of max_keys over their limits, about one set in ten million has
// more of them than that (with four, one in 100,000).
//
// Thread rule: pure functions. Threads that protect keys of one set at the same moment may
// protect one more than five: that leaves less room for others, and frees nobody.
// Tested by memory_store_flood_test.cc and compact_table_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/atomic128.h"
#include "weir/decision.h"
#include "weir/quota.h"

namespace weir {

inline constexpr std::size_t kSetPlaces = 8;
inline constexpr std::size_t kCandidates = 2 * kSetPlaces;
inline constexpr std::size_t kProtectedMax = 5;  // of each set

// The order in which keys have to go: lower ranks first.
enum class Rank : std::uint8_t {
  kPlain,
  kOverLimit,  // the last request was denied, or left nothing
  kBlocked,    // in a cooldown
  kProtected,  // one of the last two, and among the first of its set
};

// Whether the decision leaves nothing of the limit, which makes its key worth keeping.
inline bool leaves_nothing(const Decision& decision) noexcept {
  return !decision.allowed() || decision.remaining == 0;
}

// The key in a place.
struct Tenant {
  bool is_void;  // no key, or an expired one
  Rank rank;
  std::int64_t expiry_us;
};

struct Room {
  std::size_t candidate;
  bool is_free;
  Rank rank;  // of the key that has to go, if it is not free

  // Whether that key would start with its whole limit though it has nothing left.
  bool frees_somebody() const noexcept { return !is_free && rank != Rank::kPlain; }
};

// The answer to a new key that gets no room: nobody knows when a place becomes free.
inline Decision refused_for_room(const Quota& quota) noexcept {
  return {.verdict = Verdict::kDenied,
          .limit = quota.capacity(),
          .retry_after = std::chrono::seconds(1),
          .more_after = std::chrono::seconds(1),
          .is_store_full = true};
}

// `tenant_of` reads a candidate, and is called once for each that matters.
template <typename TenantOf>
Room choose_room(TenantOf tenant_of) noexcept {
  constexpr std::size_t kFirstSetReserve = 4;
  std::array<std::size_t, 2> free_places{};  // in each set
  std::array<std::size_t, 2> a_free_place{};
  std::size_t cheapest = 0;
  Tenant best{.is_void = false, .rank = Rank::kProtected, .expiry_us = INT64_MAX};
  for (std::size_t candidate = 0; candidate < kCandidates; ++candidate) {
    if (!kOneThread && candidate == kSetPlaces && free_places[0] > kFirstSetReserve) break;
    const Tenant tenant = tenant_of(candidate);
    const std::size_t set = candidate / kSetPlaces;
    if (tenant.is_void) {
      ++free_places[set];
      a_free_place[set] = candidate;
      continue;
    }
    if (tenant.rank < best.rank ||
        (tenant.rank == best.rank && tenant.expiry_us < best.expiry_us)) {
      cheapest = candidate;
      best = tenant;
    }
  }
  if (free_places[0] == 0 && free_places[1] == 0) return {cheapest, false, best.rank};
  const bool first = free_places[0] > kFirstSetReserve || free_places[0] >= free_places[1];
  return {a_free_place[first ? 0 : 1], true, Rank::kPlain};
}

// Whether a key in this candidate may get a protected place.
template <typename TenantOf>
bool may_protect(std::size_t candidate, TenantOf tenant_of) noexcept {
  const std::size_t first = candidate - candidate % kSetPlaces;
  std::size_t taken = 0;
  for (std::size_t place = first; place < first + kSetPlaces; ++place) {
    const Tenant tenant = tenant_of(place);
    if (tenant.rank == Rank::kProtected && !tenant.is_void) ++taken;
  }
  return taken < kProtectedMax;
}

}  // namespace weir
