// The answer to a check: its JSON, and with a single check its header fields.
//
//   {"key":"user_123","allowed":true,"remaining":99,"algorithm":"sliding_window",
//    "retry_after":0,"backoff_level":0,"limit":100,"reset_after":60}
//
// and "mode":"local" if this node decided alone because the shared store failed.
//
// Seconds are exact, to the microsecond. retry_after is 0 when allowed and null when no
// wait helps.
//
// Thread rule: pure. Tested by http_check_test.cc.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "engine/asks/asks.h"
#include "proto/http/rate_limit_headers.h"
#include "proto/text_writer.h"

namespace weir {

// No more than this is written, the key aside.
inline constexpr std::size_t kDecisionJsonMax = 320;  // names: 123; values: up to 105

// `key_json` is the key as a JSON string.
void write_decision_json(TextWriter& writer, std::string_view key_json, const Answer& answer);

// What the header fields tell about an answer. Without a rule the policy is "default".
inline RateLimit limit_of(const Ask& ask, const Answer& answer) {
  const auto name = ask.rule == nullptr ? "default" : std::string_view(ask.rule->id);
  return {.policy = policy_of(name, answer.quota),
          .decision = answer.decision,
          .is_alone = answer.is_alone};
}

// Adds an item for each limit of the ask, unless the rule is in shadow or nothing is counted.
void add_items(const Asks& asks, std::size_t index, std::vector<RateLimitItem>& items);

// What the fields tell about one of several asks, each of a request of its own.
// REQUIRES: `items`, whose memory is reused, outlives the answer
RateLimit limit_of_one(const Asks& asks, std::size_t index, std::vector<RateLimitItem>& items);

// What they tell about the asks of one request, of which `shown` presses most.
RateLimit limit_of_all(const Asks& asks, std::size_t shown, std::vector<RateLimitItem>& items);

}  // namespace weir
