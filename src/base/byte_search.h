// find_byte: where the first byte of a kind stands, eight bytes at a time.
//
//   find_byte(at, end, [](std::uint64_t word) { return bytes_below(word, ' '); })
//
// A kind marks bytes of a word by their highest bits. The lowest mark is right; one above it may
// be wrong, because the subtractions borrow.
//
// Thread rule: pure. Tested by byte_search_test.cc.

#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace weir {

inline constexpr std::uint64_t kByteOnes = 0x0101010101010101;
inline constexpr std::uint64_t kByteHighs = kByteOnes << 7;

// REQUIRES: bound <= 128
constexpr std::uint64_t bytes_below(std::uint64_t word, unsigned char bound) {
  return (word - kByteOnes * bound) & ~word & kByteHighs;
}

constexpr std::uint64_t bytes_equal(std::uint64_t word, unsigned char byte) {
  return bytes_below(word ^ kByteOnes * byte, 1);
}

// Exact: no mark is wrong. REQUIRES: first and last are below 128
constexpr std::uint64_t bytes_within(std::uint64_t word, unsigned char first, unsigned char last) {
  const std::uint64_t low = word & ~kByteHighs;
  return (low + kByteOnes * (128U - first)) & ~(low + kByteOnes * (127U - last)) & ~word &
         kByteHighs;
}

// `end` if there is none.
template <typename Kind>
const char* find_byte(const char* at, const char* end, Kind kind) {
  static_assert(std::endian::native == std::endian::little);
  for (std::uint64_t word = 0; end - at >= 8; at += sizeof word) {
    std::memcpy(&word, at, sizeof word);
    const std::uint64_t marks = kind(word);
    if (marks != 0) return at + std::countr_zero(marks) / 8;
  }
  while (at != end && kind(kByteOnes * static_cast<unsigned char>(*at)) == 0) ++at;
  return at;
}

}  // namespace weir
