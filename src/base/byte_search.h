// find_byte: where the first byte of a kind stands, sixteen bytes at a time.
//
//   find_byte(at, end, [](ByteGroup bytes) { return bytes < ' '; })
//
// A kind marks bytes: all bits of a byte that is of the kind, and none of another.
//
// Thread rule: pure. Tested by byte_search_test.cc.

#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weir {

using ByteGroup [[gnu::vector_size(16)]] = unsigned char;

// The first of a group that is marked; its size if none is.
template <typename Marks>
std::ptrdiff_t first_marked(Marks marks) {
#ifdef __SSE2__  // one bit of each byte
  return std::countr_zero(0x1'0000U |
                          static_cast<unsigned>(_mm_movemask_epi8(std::bit_cast<__m128i>(marks))));
#else
  static_assert(std::endian::native == std::endian::little);
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(marks);
  if (halves[0] != 0) return std::countr_zero(halves[0]) / 8;
  return 8 + std::countr_zero(halves[1]) / 8;
#endif
}

// The same as find_byte(), where less than a group is left.
template <typename Kind>
[[gnu::noinline]] const char* find_byte_in_rest(const char* at, const char* end, Kind kind) {
  if (at == end) return end;
  std::array<char, sizeof(ByteGroup)> rest{};
  const bool is_long = end - at >= 8;
  if (is_long) {  // its first eight and its last eight, which may overlap
    std::memcpy(rest.data(), at, 8);
    std::memcpy(rest.data() + 8, end - 8, 8);
  } else {
    std::copy(at, end, rest.data());
  }
  const std::ptrdiff_t first = first_marked(kind(std::bit_cast<ByteGroup>(rest)));
  return is_long && first >= 8 ? end - (16 - first) : at + std::min(first, end - at);
}

// `end` if there is none.
template <typename Kind>
const char* find_byte(const char* at, const char* end, Kind kind) {
  constexpr std::ptrdiff_t kSize = sizeof(ByteGroup);
  ByteGroup bytes{};
  for (; end - at >= kSize; at += kSize) {
    std::memcpy(&bytes, at, kSize);
    const std::ptrdiff_t first = first_marked(kind(bytes));
    if (first < kSize) return at + first;
  }
  return find_byte_in_rest(at, end, kind);
}

}  // namespace weir
