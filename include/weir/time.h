// Time as Weir sees it: whole microseconds.
//
// One microsecond is the resolution of every decision, in memory and in Redis alike. It is the unit
// of Redis's TIME. The numbers of a Lua script are doubles: they hold an instant exactly in
// microseconds, but not in nanoseconds.
//
// An Instant counts from the Unix epoch, because fixed windows are aligned to it.
// It has no now(). Only an event loop, a command, or a Clock (weir/clock.h) makes one from the
// machine's time; tests make theirs from integers.
//
// Thread rule: values. Tested by src/algo/quota_test.cc and every algorithm's tests.

#pragma once

#include <chrono>
#include <cstdint>

namespace weir {

// A length of time. std::chrono::seconds, minutes, 1ms, ... convert to it.
using Duration = std::chrono::duration<std::int64_t, std::micro>;

// The timeline of Instants. It is not a clock: nobody can read it.
struct Timeline {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<Timeline>;
};

using Instant = std::chrono::time_point<Timeline, Duration>;

// Microseconds since the Unix epoch, and back.
constexpr std::int64_t epoch_us(Instant instant) noexcept {
  return instant.time_since_epoch().count();
}
constexpr Instant instant_from_epoch_us(std::int64_t us) noexcept { return Instant{Duration{us}}; }

}  // namespace weir
