// TextHash: lets an unordered_map with std::string keys be searched by a string_view,
// without making a string of it.
//
//   std::unordered_map<std::string, T, TextHash, std::equal_to<>> map;
//
// Thread rule: stateless. Tested by src/rules/descriptor_tree_test.cc.

#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace weir {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>()(text);
  }
};

}  // namespace weir
