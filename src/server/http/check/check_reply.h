// The answer to a check: its JSON, and with a single check its header fields.
//
//   {"key":"user_123","allowed":true,"remaining":99,"algorithm":"sliding_window",
//    "retry_after":0,"backoff_level":0,"limit":100,"reset_after":60}
//
// and "mode":"local" if this node decided alone because the shared store failed.
//
// Seconds are exact, to the microsecond. retry_after is 0 if the check is allowed, and null if no
// wait helps.
//
// Thread rule: pure. Tested by http_check_test.cc.

#pragma once

#include <cstddef>
#include <string_view>

#include "engine/ask.h"
#include "proto/text_writer.h"

namespace weir {

// The most bytes that this writes, without the key.
inline constexpr std::size_t kDecisionJsonMax = 320;  // names: 123; values: up to 105

// `key_json` is the key as a JSON string.
void write_decision_json(TextWriter& writer, std::string_view key_json, const Answer& answer);

}  // namespace weir
