// has_byte() of a small program: byte by byte. Takes the place of src/base/byte_search.h, whose
// groups of sixteen are as many steps where nothing handles sixteen bytes at once.
//
// Thread rule: pure. Tested by worker/test/matching.test.mjs.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace weir {

using ByteGroup = std::uint32_t;  // of one byte

template <typename Kind>
bool has_byte(std::string_view text, Kind kind) {
  return std::ranges::any_of(text,
                             [&](char byte) { return kind(static_cast<std::uint8_t>(byte)); });
}

}  // namespace weir
