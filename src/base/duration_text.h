// Durations as people write them: "500ms", "1m", "1h30m", or a number of seconds.
//
// One grammar for the configuration, the HTTP API and the command line:
//
//   seconds   60      0.25            digits, and up to six decimals
//   units     500ms   1h30m   2w      w d h m s ms us; largest first, each once
//
// There are no signs, spaces, exponents or fractions of a unit: "1.5h" is "1h30m".
// The resolution is that of Duration, one microsecond.
//
// Thread rule: pure functions. Tested by duration_text_test.cc.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/time.h"

namespace weir {

// Returns nothing if `text` is not of the form above, or is more than a Duration can hold (292,000
// years). The caller judges whether the length makes sense as a window.
std::optional<Duration> parse_duration(std::string_view text) noexcept;

// The shortest text that parse_duration reads back as the same duration: "1m", "1h30m",
// "500ms", "0s". Weeks only when nothing else is needed: "1w", but "8d".
// A negative duration gets a leading '-', which parse_duration refuses.
std::string format_duration(Duration duration);

// The same in a sentence for people, rounded up to whole seconds, or below one to milliseconds.
std::string rounded_duration(Duration duration);

// Rounds to the nearest microsecond. Returns nothing for a negative number, infinity, NaN, and more
// than a Duration can hold.
std::optional<Duration> duration_from_seconds(double seconds) noexcept;

}  // namespace weir
