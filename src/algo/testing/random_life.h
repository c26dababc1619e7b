// Random lives of a key for property tests: quotas, steps in time and costs. They make sense for
// every quota, and get simpler as RapidCheck makes their numbers smaller.
//
// Thread rule: one thread. Tested by ../properties_test.cc, ../adaptive_properties_test.cc and
// tests/redis/decide_script_test.cc, which use it.

#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ostream>
#include <vector>

#include "algo/wide_math.h"
#include "weir/quota.h"

namespace weir::algo::testing {

// The algorithms that can be leased; and those between which an adaptive rule switches.
inline constexpr std::array kLeasable{Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                      Algorithm::kSlidingWindow, Algorithm::kTokenBucket};
inline constexpr std::array kActive{Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                    Algorithm::kExponentialBackoff};

inline std::int64_t within(std::int64_t from, std::int64_t to) {
  return *rc::gen::inRange<std::int64_t>(from, to + 1);
}
inline Algorithm any_active() { return *rc::gen::elementOf(kActive); }

// One request; numbers are fractions of a window and a limit.
struct Move {
  int step_kind = 0;
  int step_permille = 0;
  int cost_kind = 0;
  int cost_permille = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Move& move) {
  return out << "{" << move.step_kind << ", " << move.step_permille << ", " << move.cost_kind
             << ", " << move.cost_permille << "}";
}

inline constexpr int kUsualKinds = 5;  // of steps and costs: forward, and spending
inline constexpr int kAllKinds = 9;    // also backward, looks, refunds and the largest costs

inline constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'123'457);

inline std::int64_t part(std::int64_t whole, int permille) {
  return static_cast<std::int64_t>(Int128{whole} * permille / 1000);
}

// Nothing, microseconds, parts of a window, several windows; then seconds, and all of these back.
inline Duration step_of(const Quota& quota, const Move& move) {
  const std::int64_t window_us = quota.window().count();
  switch (move.step_kind) {
    case 0: return Duration{0};
    case 1: return Duration{move.step_permille % 3};
    case 2: return Duration{part(window_us, move.step_permille) / 20};
    case 3: return Duration{part(window_us, move.step_permille)};
    case 4: return Duration{part(window_us, move.step_permille) * 3};
    case 5: return std::chrono::seconds(move.step_permille / 20);
    case 6: return -Duration{move.step_permille};
    case 7: return -Duration{part(window_us, move.step_permille)};
    default: return -Duration{part(window_us, move.step_permille) * 4};
  }
}

// From 1 to a bit above the capacity; then 0, negative, and the largest.
inline std::int64_t cost_of(const Quota& quota, const Move& move) {
  const std::int64_t capacity = quota.capacity();
  switch (move.cost_kind) {
    case 0: return 1;
    case 1: return std::max<std::int64_t>(1, part(capacity, move.cost_permille) / 10);
    case 2: return std::max<std::int64_t>(1, part(capacity, move.cost_permille));
    case 3: return std::max<std::int64_t>(1, capacity);
    case 4: return std::min(kCostMax, capacity + 1);
    case 5: return 0;
    case 6: return -part(capacity, move.cost_permille);
    case 7: return -kCostMax;
    default: return move.cost_permille % 2 == 0 ? kCostMax : -1;
  }
}

inline rc::Gen<Move> any_move(int kinds = kUsualKinds) {
  return rc::gen::build<Move>(rc::gen::set(&Move::step_kind, rc::gen::inRange(0, kinds)),
                              rc::gen::set(&Move::step_permille, rc::gen::inRange(0, 1001)),
                              rc::gen::set(&Move::cost_kind, rc::gen::inRange(0, kinds)),
                              rc::gen::set(&Move::cost_permille, rc::gen::inRange(0, 1001)));
}

inline std::vector<Move> any_life() { return *rc::gen::container<std::vector<Move>>(any_move()); }

// Each order of magnitude is equally likely.
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
  const std::int64_t kind = within(0, 2);
  if (kind == 1) {  // numbers that people choose
    spec.limit = within(1, 20);
    spec.window = *rc::gen::element<Duration>(1ms, 100ms, 1s, 10s, 1min, 1h, 24h);
  } else if (kind == 2) {  // products need far more than 53 bits
    spec.limit = kLimitMax - within(0, 999);
    spec.window = kWindowMax - Duration{within(0, 999)};
  }
  if (algorithm == Algorithm::kTokenBucket && *rc::gen::arbitrary<bool>()) {
    spec.burst = *any_magnitude(1, kLimitMax);
  }
  RC_LOG() << algorithm_name(spec.algorithm) << " " << spec.limit << "/" << spec.window.count()
           << "us burst " << spec.burst << "\n";
  const Result<Quota> quota = Quota::make(spec);
  RC_PRE(quota.has_value());  // not if its bucket takes too long to fill
  return *quota;
}

}  // namespace weir::algo::testing
