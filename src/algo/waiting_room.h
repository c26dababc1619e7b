// A token bucket with room for requests that wait for their turn.
//
//   without   |<── burst ──>|                        a debt beyond it denies
//   with      |<── burst ──>|<────── room ──────>|   a debt in there is how long its request waits
//
// The room holds what is refilled within the longest wait. Each waiting request adds to the debt,
// so the next one waits longer: they go on one by one, at the bucket's rate. A request that would
// wait too long is denied and makes no debt. The store decides all this at once.
//
// Thread rule: pure. Tested by src/engine/asks/asks_waiting_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>

#include "algo/wide_math.h"
#include "weir/decision.h"
#include "weir/quota.h"
#include "weir/result.h"

namespace weir {

// The size of the room, in units. REQUIRES: 0 <= patience <= bucket.window()
inline std::int64_t room_in(const Quota& bucket, Duration patience) {
  const auto units = algo::Int128{bucket.limit()} * patience.count() / bucket.window().count();
  return static_cast<std::int64_t>(units);
}

// Fails if a bucket may not hold so much. REQUIRES: as for room_in(), and a token bucket
inline Result<Quota> with_room(const Quota& bucket, Duration patience) {
  return Quota::make(
      {.algorithm = Algorithm::kTokenBucket,
       .limit = bucket.limit(),
       .window = bucket.window(),
       .burst = bucket.limit() == 0 ? 0 : bucket.capacity() + room_in(bucket, patience)});
}

// Turns a decision by with_room() into the bucket's. Returns how long the request waits.
inline Duration leave_room(const Quota& with_room, Duration patience, Decision& decision) {
  const std::int64_t room = room_in(with_room, patience);
  decision.limit = std::max<std::int64_t>(0, decision.limit - room);
  decision.remaining = std::max<std::int64_t>(0, decision.remaining - room);
  if (!decision.allowed() || with_room.limit() == 0) return Duration{0};
  const auto burst = algo::Int128{with_room.capacity() - room} * with_room.window().count();
  // Rounded as `reset_after` is: if the debt fills the bucket exactly, nobody waits.
  const Duration full{
      static_cast<std::int64_t>(algo::ceil_div<algo::Int128>(burst, with_room.limit()))};
  return std::max(Duration{0}, decision.reset_after - full);
}

}  // namespace weir
