// SyncedState: what a node copies of a key in Redis, and what src/algo makes of it.
//
// The script returns the state as numbers; here it is decided on like any other. That of an
// quota that switches says which switch it follows: the later of it and of the quota decides, as in
// Redis.
//
// Thread rule: pure functions. Tested by tests/redis/synced_state_test.cc.

#pragma once

#include <cstdint>

#include "store/redis/script/charge_script.h"
#include "weir/decision.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

// Whether copies are made of such keys. For those of which none are, what follows keeps a sliding
// window in place of the state: near enough for what a node has admitted alone.
bool is_synced(Algorithm algorithm);

// Whether Redis counts denials of the key: then the state is only a part of what it has, as one of
// a sliding window.
bool is_in_backoff(const SyncedState& state);

// Decides one request on the copy, as src/algo does.
Decision spend(const Quota& quota, SyncedState& state, std::int64_t cost, Instant now);

// What spending would answer; remaining and reset are those from before.
Decision look_at(const Quota& quota, const SyncedState& state, std::int64_t cost, Instant now);

// How many units of the key count, also above the limit.
std::int64_t held(const Quota& quota, const SyncedState& state, Instant now);

// Charges whatever the limit says, as the script does.
Decision charge(const Quota& quota, SyncedState& state, std::int64_t units, Instant now);

}  // namespace weir
