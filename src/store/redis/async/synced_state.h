// SyncedState: a node's copy of a key's state in Redis, on which src/algo decides.
//
// The script returns the state as numbers. If the quota switches, they say which switch the
// state follows. The later switch, the state's or the quota's, decides, as in Redis.
//
// For keys that nodes do not copy (is_copied()), the functions below keep a sliding window in place
// of the state. That is near enough for the units that a node has admitted alone.
//
// Thread rule: pure functions. Tested by tests/redis/synced_state_test.cc.

#pragma once

#include <cstdint>

#include "store/redis/script/charge_script.h"
#include "weir/decision.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

// Whether Redis counts denials of the key. Redis then has more of the key than these numbers, which
// are a sliding window.
bool is_in_backoff(const SyncedState& state);

// Decides one request on the copy, as src/algo does.
Decision spend(const Quota& quota, SyncedState& state, std::int64_t cost, Instant now);

// The answer of spend(); remaining and reset are from before the cost.
Decision look_at(const Quota& quota, const SyncedState& state, std::int64_t cost, Instant now);

// How many units of the key count, even above the limit.
std::int64_t held(const Quota& quota, const SyncedState& state, Instant now);

// Charges even over the limit, as the script does.
Decision charge(const Quota& quota, SyncedState& state, std::int64_t units, Instant now);

}  // namespace weir
