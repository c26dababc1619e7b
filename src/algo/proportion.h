// Proportion: if a key is offered more than its limit, the share limit / offered passes, evenly
// spread, and the rest is denied (Rule::is_proportional).
//
// A second counter, next to the key's own, counts what the key is offered, denied requests
// included. It is a sliding window as long as the limit's. Each request of cost 1 adds its share to
// a credit, and one request passes for each whole unit of credit. At a limit of 3 and 8 offered:
//
//   credit    .375 .75         .125 .5           -.125 .25 .625          0 ...
//   request   no   passes, -1  no   passes, -1   no    no  passes, -1    no ...
//
// The rule's own algorithm then charges each request that passes, so its limit holds, too. A
// request that the algorithm denies gives its credit back.
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

// The counter counts to so many times the limit; more counts as this. For a key in mode async, all
// nodes together keep back a twelfth of the limit untold (AsyncKey::kUntoldPart).
inline constexpr std::int64_t kOfferedMax = 64;

inline Quota offered_quota(const Quota& limit) {
  return *Quota::make({.algorithm = Algorithm::kSlidingWindow,
                       .limit = std::min(kLimitMax, kOfferedMax * limit.limit()),
                       .window = limit.window()});
}

// The offered units, by the answer of the second counter.
inline std::int64_t units_offered(const Decision& said) { return said.limit - said.remaining; }

// The denial of a request above the share. Its waits are upper bounds: by then the units are within
// the limit, if nothing more is offered. When the counter is at its maximum, nobody knows how much
// more was offered.
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

// The credits of one core. Keys with the same last bits of their hashes share one credit: what
// passes of such keys together is exact, too.
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
  // Afterwards, the key's credit is at most that of one request.
  void give_back(std::uint64_t key, std::int64_t cost) {
    double& credit = credits_[key % credits_.size()];
    const auto units = static_cast<double>(cost);
    credit = std::min(credit + units, units);
  }

 private:
  std::array<double, 512> credits_{};
};

}  // namespace weir
