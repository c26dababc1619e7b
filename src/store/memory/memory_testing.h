// What the tests of the memory store share: a time, quotas and keys.

#pragma once

#include <cstdint>
#include <cstdlib>

#include "weir/key.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

inline constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);
// On the boundary of a minute and of an hour.
inline constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

// REQUIRES: the spec can be enforced
inline Quota quota_of(const QuotaSpec& spec) {
  const Result<Quota> quota = Quota::make(spec);
  if (!quota) std::abort();
  return *quota;
}

// As random as a hash, without one.
inline KeyHash key_of(std::uint64_t number) {
  const auto mix = [](std::uint64_t value) {  // splitmix64, Steele et al. 2014
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
  };
  return {mix(number), mix(~number)};
}

}  // namespace weir
