// Proportion: of a key that is offered more than its limit, the share limit / offered passes,
// evenly spread, and the rest is denied (Rule::is_proportional).
//
// A counter of its own, next to the key's, has what the key is offered, denied requests included:
// a sliding window as long as the limit's, which counts always. Each request of cost 1 adds its
// share to a credit, and one passes for each whole unit of it. At a limit of 3 and 8 offered:
//
//   credit    .375 .75         .125 .5           -.125 .25 .625          0 ...
//   request   no   passes, -1  no   passes, -1   no    no  passes, -1    no ...
//
// The rule's own algorithm then charges each request that passes, so no more is admitted than it
// admits. A request that the algorithm denies gives its credit back.
//
// Thread rule: one core. Tested by src/engine/asks/asks_proportion_test.cc and
// tests/redis/async_share_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "algo/wide_math.h"
#include "weir/decision.h"
#include "weir/quota.h"

namespace weir {

// So many times the limit are told apart; what is above counts as so much. Of a key in mode async,
// all nodes together leave a twelfth of the limit untold (AsyncKey::kUntoldPart).
inline constexpr std::int64_t kOfferedMax = 64;

inline Quota offered_quota(const Quota& limit) {
  return *Quota::make({.algorithm = Algorithm::kSlidingWindow,
                       .limit = std::min(kLimitMax, kOfferedMax * limit.limit()),
                       .window = limit.window()});
}

// By the answer about that counter.
inline std::int64_t units_offered(const Decision& said) { return said.limit - said.remaining; }

// The denial of a request that is above the share. Its waits are how long, if nothing more is
// offered, it takes at most until the units are within the limit. Of the most that is told apart
// nobody knows how much it is.
// REQUIRES: 0 < cost <= limit < units_offered(said)
inline Decision above_share(const Quota& quota, const Decision& said, std::int64_t cost) {
  const auto until_fits = [&](std::int64_t units) {
    if (said.remaining == 0) return said.reset_after;
    return said.reset_after -
           Duration{algo::mul_div_floor(quota.window().count(), quota.limit() - units,
                                        units_offered(said))};
  };
  return {.verdict = Verdict::kDenied,
          .limit = quota.limit(),
          .retry_after = until_fits(cost),
          .reset_after = said.reset_after,
          .more_after = until_fits(1)};
}

// The credits of one core. Keys whose hashes end alike share one: what passes of them together is
// exact, too.
class PassCredits {
 public:
  // REQUIRES: cost > 0
  bool takes(std::uint64_t key, double share, std::int64_t cost) {
    double& credit = credits_[key % credits_.size()];
    const auto units = static_cast<double>(cost);
    credit += share * units;
    if (2 * credit < units) return false;
    credit -= units;
    return true;
  }
  // A key keeps the credit of one request at most.
  void give_back(std::uint64_t key, std::int64_t cost) {
    double& credit = credits_[key % credits_.size()];
    const auto units = static_cast<double>(cost);
    credit = std::min(credit + units, units);
  }

 private:
  std::array<double, 512> credits_{};
};

}  // namespace weir
