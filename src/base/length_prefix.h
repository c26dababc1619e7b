// Texts joined so that no two lists of them give the same text: "1:a2:bc".
//
// Thread rule: pure. Tested by src/rules/descriptor_tree_test.cc and
// src/rls/limit_terms_test.cc.

#pragma once

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace weir {

inline void append_with_length(std::string& joined, std::string_view part) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), part.size()).ptr;
  joined.append(digits.data(), end).append(":").append(part);
}

}  // namespace weir
