// NameValue: a name and its value, such as a header field or an entry of a descriptor.
//
// Thread rule: a value that refers to texts elsewhere. Tested with those who use it,
// src/proto/http/http1_head_test.cc first of all.

#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "base/ascii.h"

namespace weir {

struct NameValue {
  std::string_view name;
  std::string_view value;
};

// The value of the first header field with that name. Ignores case.
inline std::optional<std::string_view> find_header(std::span<const NameValue> headers,
                                                   std::string_view name) {
  for (const NameValue& header : headers) {
    if (equal_ignoring_case(header.name, name)) return header.value;
  }
  return std::nullopt;
}

inline bool is_repeated(std::span<const NameValue> headers, std::string_view name) {
  return std::ranges::count_if(headers, [&](const NameValue& header) {
           return equal_ignoring_case(header.name, name);
         }) > 1;
}

}  // namespace weir
