// for_each_header_value: the values of a header, sent in either of two forms.
//
// RFC 9110, 5.3 lets a proxy join the lines of a header: "X-App: a" and "X-App: web" become
// "X-App: a, web". Both forms are two values here. Quotes do not hold a value together: a client
// that sends half of a pair must not hide a value that a proxy joins after it. Headers in
// kSingleHeaders have one value, which may hold commas.
//
// Thread rule: pure. Tested by src/rules/request_match_test.cc and
// tests/scenarios/http_auth.yaml.

#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/name_value.h"

namespace weir {

inline constexpr std::array<std::string_view, 11> kSingleHeaders = {"authorization",
                                                                    "cookie",
                                                                    "date",
                                                                    "from",
                                                                    "host",
                                                                    "if-modified-since",
                                                                    "if-range",
                                                                    "referer",
                                                                    "if-unmodified-since",
                                                                    "user-agent",
                                                                    "proxy-authorization"};

inline bool is_list(const NameValue& header) {
  return header.value.find(',') != std::string_view::npos &&
         std::ranges::none_of(kSingleHeaders, [&](std::string_view single) {
           return equal_ignoring_case(single, header.name);
         });
}

// Calls `visit` with each value of the header with that name. Ignores case.
template <typename Visit>
void for_each_header_value(std::span<const NameValue> headers, std::string_view name, Visit visit) {
  for (const NameValue& header : headers) {
    if (!equal_ignoring_case(header.name, name)) continue;
    if (!is_list(header)) {
      visit(header.value);
      continue;
    }
    std::string_view rest = header.value;
    const auto separators = std::ranges::count(rest, ',');
    for (auto i = separators; i >= 0; --i) visit(trim_blanks(take_until(rest, ',')));
  }
}

// All values as one list: "a, web".
inline std::string joined_values(std::span<const NameValue> headers, std::string_view name) {
  std::string joined;
  std::string_view separator;
  for_each_header_value(headers, name, [&](std::string_view value) {
    joined.append(separator).append(value);
    separator = ", ";
  });
  return joined;
}

}  // namespace weir
