// ProbeCharges: what a Redis is asked to find out whether it decides again.
//
// Charges that matter to nobody and are written like any other: a Redis that takes no
// writes is not back. Each is of another key, in a cluster mostly of another slot.
//
// Thread rule: one core. Tested by redis_store_test.cc and tests/redis/async_fleet_test.cc.

#pragma once

#include <cstdint>

#include "weir/quota.h"
#include "weir/store.h"

namespace weir {

class ProbeCharges {
 public:
  // Valid as long as this.
  Charge next() {
    ++made_;
    return {.key = {made_ * 0x9e3779b97f4a7c15, made_}, .quota = &quota_};
  }

 private:
  const Quota quota_ = *Quota::make({Algorithm::kFixedWindow, kLimitMax, std::chrono::seconds(1)});
  std::uint64_t made_ = 0;
};

}  // namespace weir
