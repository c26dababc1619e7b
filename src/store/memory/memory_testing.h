// Shared by the tests of the memory store: a time, quotas and keys.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/prng.h"
#include "weir/key.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

inline constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);
// On the boundary of a minute and of an hour.
inline constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

// Names a test that runs once for each algorithm.
inline std::string test_name(Algorithm algorithm) {
  const bool is_strict = algorithm == Algorithm::kStrictWindow;
  return is_strict ? "never_over" : std::string(algorithm_name(algorithm));
}

// REQUIRES: the spec can be enforced
inline Quota quota_of(const QuotaSpec& spec) {
  const Result<Quota> quota = Quota::make(spec);
  if (!quota) std::abort();
  return *quota;
}

// A key as random as a hash.
inline KeyHash key_of(std::uint64_t number) { return {Prng(number).next(), Prng(~number).next()}; }

}  // namespace weir
