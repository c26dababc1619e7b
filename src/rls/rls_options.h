// RlsOptions: how Envoy's rate limit service behaves, where its users differ.
//
// Thread rule: values. Tested by rate_limit_service_test.cc.

#pragma once

#include <string>

#include "observe/detailed_counts.h"

namespace weir {

struct RlsOptions {
  // A denied descriptor keeps all others of its request from being charged. Otherwise
  // each is charged on its own, as by the reference service.
  bool all_or_nothing = false;
  // Every request is OK, whatever its descriptors are.
  bool shadow_mode = false;
  // Answers ask Envoy to add these to its response, about the limit nearest to its end.
  bool response_headers = false;
  std::string limit_header = "RateLimit-Limit";
  std::string remaining_header = "RateLimit-Remaining";
  std::string reset_header = "RateLimit-Reset";  // seconds from now
  // Answers carry the `metadata` of the rules that matched.
  bool response_metadata = false;
  // Where rules with detailed_metric or value_to_metric are counted by the values of the
  // request; null: nowhere. Outlives the service.
  DetailedCounts* detailed_counts = nullptr;
};

}  // namespace weir
