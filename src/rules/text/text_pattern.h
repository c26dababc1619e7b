// TextPattern: a text to compare with, either exact or with '*' for any bytes.
//
// Thread rule: a value. Tested by src/rules/descriptor_tree_test.cc.

#pragma once

#include <string>
#include <string_view>

namespace weir {

struct TextPattern {
  explicit TextPattern(std::string pattern);
  bool matches(std::string_view text) const;

  std::string text;
  bool is_exact = true;  // no '*' in it
};

}  // namespace weir
