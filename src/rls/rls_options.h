// RlsOptions: how Envoy's rate limit service behaves.
//
// Thread rule: values. Tested by rate_limit_service_test.cc.

#pragma once

#include "config/settings.h"
#include "observe/detailed_counts.h"

namespace weir {

struct RlsOptions {
  EnvoySettings envoy{};
  // Where rules with detailed_metric or value_to_metric are counted by the values of the
  // request; null: nowhere. Outlives the service.
  DetailedCounts* detailed_counts = nullptr;
};

}  // namespace weir
