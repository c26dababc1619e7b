// The forms of times in access logs.
//
//   10/Oct/2000:13:55:36 -0700    Apache, nginx; HAProxy with milliseconds and without a zone
//   2024-05-01T12:00:00.123Z      ISO 8601, with a zone or without
//   1714564800.123                since 1970, in seconds, or by its size in ms, us or ns
//
// A time without a zone counts as UTC.
//
// Thread rule: pure; a TimeReader is of one thread. Tested by log_format_test.cc.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/time.h"

namespace weir::lab {

struct LogTime {
  Instant at{};
  bool is_exact = false;  // finer than a second
};

std::optional<LogTime> parse_log_time(std::string_view text);

// Remembers the last text: most lines repeat it.
class TimeReader {
 public:
  std::optional<LogTime> read(std::string_view text) {
    if (text != text_) {
      text_.assign(text);
      time_ = parse_log_time(text);
    }
    return time_;
  }

 private:
  std::string text_;
  std::optional<LogTime> time_;
};

}  // namespace weir::lab
