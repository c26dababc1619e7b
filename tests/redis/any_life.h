// Quotas, costs and steps of time at random, for lives of keys: the ordinary, the extreme, and
// clocks that step back.
//
// Thread rule: one thread. Tested by decide_script_test.cc, which uses it.

#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "algo/wide_math.h"
#include "weir/quota.h"

namespace weir::testing {

inline std::int64_t part(std::int64_t whole, int permille) {
  return static_cast<std::int64_t>(algo::Int128{whole} * permille / 1000);
}

inline constexpr int kStepKinds = 10;
inline constexpr int kCostKinds = 10;

// Mostly forward: microseconds, parts of a window, windows; some back.
inline Duration step_of(const Quota& quota, int kind, int permille) {
  const std::int64_t window_us = quota.window().count();
  switch (kind) {
    case 0:
    case 1: return Duration{0};
    case 2: return Duration{permille % 3};
    case 3: return Duration{part(window_us, permille) / 20};
    case 4: return Duration{part(window_us, permille)};
    case 5: return Duration{part(window_us, permille) * 3};
    case 6: return -Duration{permille};
    case 7: return -Duration{part(window_us, permille)};
    case 8: return -Duration{part(window_us, permille) * 4};
    default: return std::chrono::seconds(permille / 20);
  }
}

inline std::int64_t cost_of(const Quota& quota, int kind, int permille) {
  const std::int64_t capacity = quota.capacity();
  const std::int64_t some = part(capacity, permille);
  switch (kind) {
    case 0:
    case 1: return 1;
    case 2: return std::max<std::int64_t>(1, some / 10);
    case 3: return std::max<std::int64_t>(1, some);
    case 4: return capacity;
    case 5: return std::min(kCostMax, capacity + 1);
    case 6: return 0;
    case 7: return -some;
    case 8: return -kCostMax;
    default: return permille % 2 == 0 ? kCostMax : -1;
  }
}

// Evenly spread over the orders of magnitude.
inline rc::Gen<std::int64_t> any_magnitude(std::int64_t least, std::int64_t most) {
  return rc::gen::mapcat(rc::gen::inRange(0, 46), [least, most](int bits) {
    const std::int64_t top = std::clamp(std::int64_t{1} << bits, least, most);
    return rc::gen::inRange<std::int64_t>(least, top + 1);
  });
}

inline Quota any_quota(Algorithm algorithm) {
  using namespace std::chrono_literals;
  QuotaSpec spec{algorithm};
  spec.limit = *any_magnitude(0, kLimitMax);
  spec.window = Duration{*any_magnitude(kWindowMin.count(), kWindowMax.count())};
  const int kind = *rc::gen::inRange(0, 3);
  if (kind == 1) {  // as people choose them
    spec.limit = *rc::gen::inRange<std::int64_t>(1, 20);
    spec.window = *rc::gen::element<Duration>(1ms, 100ms, 1s, 10s, 1min, 1h, 24h);
  } else if (kind == 2) {  // so that products need far over 53 bits
    spec.limit = kLimitMax - *rc::gen::inRange<std::int64_t>(0, 1000);
    spec.window = kWindowMax - Duration{*rc::gen::inRange<std::int64_t>(0, 1000)};
  }
  if (algorithm == Algorithm::kTokenBucket && *rc::gen::arbitrary<bool>()) {
    spec.burst = *any_magnitude(1, kLimitMax);
  }
  const Result<Quota> quota = Quota::make(spec);
  RC_PRE(quota.has_value());  // not if its bucket takes too long to fill
  RC_LOG() << algorithm_name(algorithm) << " " << spec.limit << "/" << spec.window.count()
           << "us burst " << spec.burst << "\n";
  return *quota;
}

}  // namespace weir::testing
