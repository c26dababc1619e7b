#include "algo/quota_share.h"

#include <algorithm>

namespace weir {

Quota share_of(const Quota& quota, std::int64_t nodes) noexcept {
  if (nodes <= 1 || quota.limit() == 0) return quota;
  const bool has_burst = quota.algorithm() == Algorithm::kTokenBucket;
  const auto share = [nodes](std::int64_t units) {
    return std::max<std::int64_t>(1, units / nodes);
  };
  const auto made = Quota::make({.algorithm = quota.algorithm(),
                                 .limit = share(quota.limit()),
                                 .window = quota.window(),
                                 .burst = has_burst ? share(quota.capacity()) : 0});
  if (!made) return quota;  // a bucket may take too long to fill
  return made->following({.algorithm = quota.active(), .number = quota.switch_number()});
}

}  // namespace weir
