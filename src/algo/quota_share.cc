#include "algo/quota_share.h"

#include <algorithm>

namespace weir {
namespace {

struct Part {
  std::int64_t times;
  std::int64_t of;
};

Quota part_of(const Quota& quota, const Part& part) noexcept {
  if (quota.limit() == 0) return quota;
  const bool has_burst = quota.algorithm() == Algorithm::kTokenBucket;
  const auto units = [&part](std::int64_t whole) {
    return std::max<std::int64_t>(1, whole * part.times / part.of);
  };
  auto made = Quota::make({.algorithm = quota.algorithm(),
                           .limit = units(quota.limit()),
                           .window = quota.window(),
                           .burst = has_burst ? units(quota.capacity()) : 0});
  if (!made) return quota;  // a bucket may take too long to fill
  made->share_calendar(quota);
  return made->following({.algorithm = quota.active(), .number = quota.switch_number()});
}

}  // namespace

Quota share_of(const Quota& quota, std::int64_t nodes) noexcept {
  return nodes <= 1 ? quota : part_of(quota, {.times = 1, .of = nodes});
}

Quota percent_of(const Quota& quota, std::int64_t percent) noexcept {
  static_assert(kLimitMax <= INT64_MAX / 100);
  return percent == 100 ? quota : part_of(quota, {.times = percent, .of = 100});
}

}  // namespace weir
