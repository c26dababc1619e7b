// joined(): joins texts with a separator: "a, b, c".
//
// Thread rule: pure functions. Tested by src/config/setting_values_test.cc.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

// Joins `text_of` of each element; the element itself by default.
template <typename Range, typename TextOf = std::identity>
std::string joined(const Range& all, std::string_view separator = ", ",
                   const TextOf& text_of = {}) {
  std::string text;
  bool is_first = true;
  for (const auto& each : all) {
    if (!std::exchange(is_first, false)) text += separator;
    text += std::invoke(text_of, each);
  }
  return text;
}

}  // namespace weir
