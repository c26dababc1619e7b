// find_byte: finds the first byte of a kind, sixteen bytes at a time. has_byte: whether there is
// one, which costs less.
//
//   find_byte(at, end, [](ByteGroup bytes) { return bytes < ' '; })
//
// A kind is a function that marks bytes: it sets all bits of a byte of the kind, none of others.
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
#include <string_view>

namespace weir {

using ByteGroup [[gnu::vector_size(16)]] = unsigned char;

// The place of the first marked byte of a group, or the group's size if none is marked.
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

// Fills a group from a shorter text; each byte is in it at least once. REQUIRES: text is not empty
inline ByteGroup short_group(std::string_view text) {
  std::array<std::uint64_t, 2> halves{};
  const auto word_at = [&text](std::size_t at) {
    std::uint32_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    return std::uint64_t{word};
  };
  const auto byte_at = [&text](std::size_t at) {
    return std::uint64_t{static_cast<unsigned char>(text[at])};
  };
  if (text.size() >= 8) {
    std::memcpy(&halves[0], text.data(), 8);
    std::memcpy(&halves[1], text.data() + text.size() - 8, 8);
  } else if (text.size() >= 4) {
    halves[0] = halves[1] = word_at(0) | word_at(text.size() - 4) << 32;
  } else {
    const std::uint64_t three =
        byte_at(0) | byte_at(text.size() / 2) << 8 | byte_at(text.size() - 1) << 16;
    halves[0] = halves[1] = (three | byte_at(0) << 24) * 0x1'0000'0001;
  }
  return std::bit_cast<ByteGroup>(halves);
}

// As find_byte(), for the last bytes, fewer than a group.
template <typename Kind>
[[gnu::noinline]] const char* find_byte_in_rest(const char* at, const char* end, Kind kind) {
  if (at == end) return end;
  const std::ptrdiff_t first = first_marked(kind(short_group({at, end})));
  const std::ptrdiff_t part = end - at >= 8 ? 8 : end - at >= 4 ? 4 : 3;
  if (first == std::ptrdiff_t{sizeof(ByteGroup)}) return end;
  return first < part ? at + first : end - (2 * part - first);
}

template <typename Kind>
bool has_byte(std::string_view text, Kind kind) {
  constexpr std::size_t kSize = sizeof(ByteGroup);
  const auto is_marked_at = [&](const char* at) {
    ByteGroup bytes{};
    std::memcpy(&bytes, at, kSize);
    return first_marked(kind(bytes)) < std::ptrdiff_t{kSize};
  };
  if (text.size() < kSize) {
    return !text.empty() && first_marked(kind(short_group(text))) < std::ptrdiff_t{kSize};
  }
  const char* const last = text.data() + text.size() - kSize;
  for (const char* at = text.data(); at < last; at += kSize) {
    if (is_marked_at(at)) return true;
  }
  return is_marked_at(last);
}

// Returns `end` if there is no such byte.
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
