// A key's slot among a cluster's 16,384: CRC16 (XMODEM) of the key, or of its hash tag. The hash
// tag is the text between its first { and the next }, if that is not empty.
//
// Thread rule: pure. Tested by cluster_slot_test.cc.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir {

inline constexpr std::uint16_t kClusterSlots = 16'384;

// One step of CRC16 for each value of a byte: polynomial 0x1021, not reflected.
inline constexpr auto kCrc16Steps = [] {
  std::array<std::uint16_t, 256> steps{};
  for (unsigned byte = 0; byte < steps.size(); ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021u : 0u);
    steps[byte] = static_cast<std::uint16_t>(crc);
  }
  return steps;
}();

constexpr std::uint16_t crc16(std::string_view bytes) {
  unsigned crc = 0;
  for (const char c : bytes) {
    crc = ((crc << 8) ^ kCrc16Steps[((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xff]) & 0xffff;
  }
  return static_cast<std::uint16_t>(crc);
}

constexpr std::string_view hashed_part(std::string_view key) {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return key;
  const auto close = key.find('}', open);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

constexpr std::uint16_t cluster_slot(std::string_view key) {
  return crc16(hashed_part(key)) % kClusterSlots;
}

}  // namespace weir
