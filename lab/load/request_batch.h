// RequestBatch: requests that are built once and sent again and again.
//
// A client that saturates a server has no time to build requests. Keys are texts of one width at
// one place, so the next request is the last one with eight changed bytes.
//
// Thread rule: one owner. Tested by http_codec_test.cc, resp_codec_test.cc and
// grpc_codec_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/assert.h"

namespace weir::load {

inline constexpr std::size_t kKeyDigits = 8;  // hexadecimal: every 32-bit number fits

// The place of the key in a request that a person writes.
inline constexpr std::string_view kKeyWord = "{key}";

// A request with a hole of kKeyDigits bytes for the key, or without one.
struct Request {
  std::string bytes;
  std::optional<std::size_t> key_at;
};

// Two hexadecimal digits a byte: four lookups write a key.
inline constexpr auto kHexPairs = [] {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<std::array<char, 2>, 256> pairs{};
  for (std::size_t byte = 0; byte < pairs.size(); ++byte) {
    pairs[byte] = {kDigits[byte / 16], kDigits[byte % 16]};
  }
  return pairs;
}();

class RequestBatch {
 public:
  RequestBatch(const Request& request, std::size_t depth)
      : size_(request.bytes.size()), key_at_(request.key_at) {
    bytes_.reserve(depth * size_);
    for (std::size_t index = 0; index < depth; ++index) bytes_.append(request.bytes);
  }

  // One request for each key. Valid until the next call. REQUIRES: keys.size() <= depth
  std::string_view with(std::span<const std::uint32_t> keys) {
    WEIR_ASSERT(keys.size() * size_ <= bytes_.size());
    if (key_at_) {
      char* hole = bytes_.data() + *key_at_;
      for (const std::uint32_t key : keys) {
        write(key, hole);
        hole += size_;
      }
    }
    return std::string_view(bytes_).substr(0, keys.size() * size_);
  }

 private:
  static void write(std::uint32_t key, char* out) noexcept {
    for (std::size_t pair = 0; pair < kKeyDigits / 2; ++pair) {
      const std::uint32_t byte = (key >> (24 - 8 * pair)) & 0xff;
      std::memcpy(out + 2 * pair, kHexPairs[byte].data(), 2);
    }
  }

  std::size_t size_;
  std::optional<std::size_t> key_at_;
  std::string bytes_;
};

}  // namespace weir::load
