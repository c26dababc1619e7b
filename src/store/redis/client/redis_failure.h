// RedisFailure: the ways in which a Redis does not answer or decide, for counters and messages.
//
// Thread rule: values. Tested by redis_failure_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/resp/reply.h"
#include "store/redis/script/charge_script.h"

namespace weir {

enum class RedisFailure : std::uint8_t {
  kDisconnected,  // there is no connection to ask on, or it ended before the reply
  kTimedOut,      // no reply until the deadline; the command may yet be carried out
  kOverloaded,    // too many calls wait for replies
  kNotAsked,      // not sent: Redis has not answered others; see Breaker
  kOutOfMemory,   // from here on: errors of Redis
  kReadOnly,
  kNoPermission,
  kNoAuth,
  kCrossSlot,
  kBusy,
  kNotReady,     // loading, failing over, a cluster without all its slots or at odds about them
  kForeignType,  // from here on: errors of single keys
  kUnreadable,
  kOutsideWindows,
  kOther,
};
inline constexpr std::size_t kRedisFailures = 15;

// Whether Redis received the call, and the failure concerns Redis as a whole.
bool concerns_all(RedisFailure failure);

// "out_of_memory" and so on: for metrics.
std::string_view failure_name(RedisFailure failure);
// What to do about it, or what it means: for a person, one sentence without its stop.
std::string_view failure_meaning(RedisFailure failure);

// REQUIRES: not kNone
RedisFailure failure_of(ChargeFailure failure);
// REQUIRES: error.is_error()
RedisFailure failure_of_error(const resp::Reply& error);

}  // namespace weir
