// ResponseCount: what a rule counts when a response is known, and not before.
//
// Only who passes requests on to an origin sees the response (src/nginx). There a key is looked at
// before its request passes, and charged when the head of the response is there.
//
// Thread rule: values. Tested by response_count_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// Both ends count.
struct StatusRange {
  int first = 0;
  int last = 0;

  friend bool operator==(const StatusRange&, const StatusRange&) = default;
};

// "401", or "5xx" for 500 to 599.
inline std::optional<StatusRange> parse_statuses(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() != 3 || text[0] < '1' || text[0] > '5') return std::nullopt;
  const int hundreds = (text[0] - '0') * 100;
  if (text.substr(1) == "xx") return StatusRange{hundreds, hundreds + 99};
  if (!is_digit(text[1]) || !is_digit(text[2])) return std::nullopt;
  const int status = hundreds + (text[1] - '0') * 10 + (text[2] - '0');
  return StatusRange{status, status};
}

struct ResponseCount {
  std::vector<StatusRange> statuses{};  // that count; none: all
  std::string cost_header{};            // of the response; empty: the rule or the request says it
  std::int64_t reserved = 1;            // units for each request under way; 0: none

  bool counts(int status) const {
    return statuses.empty() || std::ranges::any_of(statuses, [status](const StatusRange& range) {
             return range.first <= status && status <= range.last;
           });
  }
};

}  // namespace weir
