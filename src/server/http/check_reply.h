// The answer to a check: its JSON, and with a single check its header fields.
//
//   {"key":"user_123","allowed":true,"remaining":99,"algorithm":"sliding_window",
//    "retry_after":0,"backoff_level":0,"limit":100,"reset_after":60}
//
// Seconds are exact, to the microsecond. retry_after is 0 when allowed and null when no
// wait helps.
//
// Thread rule: pure. Tested by http_check_test.cc.

#pragma once

#include <cstddef>

#include "proto/rate_limit_headers.h"
#include "proto/text_writer.h"
#include "server/http/check_terms.h"
#include "weir/decision.h"

namespace weir {

// No more than this is written, the key aside.
inline constexpr std::size_t kDecisionJsonMax = 320;  // names: 108; values: up to 105

void write_decision_json(TextWriter& writer, const CheckTerms& terms, const Decision& decision);

// What a disabled rule answers: allowed, as if the key had never been seen.
Decision untouched(const Quota& quota);

inline RateLimitPolicy policy_of(const CheckTerms& terms) {
  return {.name = terms.policy, .limit = terms.quota.limit(), .window = terms.quota.window()};
}

}  // namespace weir
