// The parts of a KeyHash: hashes of texts under a secret, and how two hashes become one.
//
// For the core that is compiled to WebAssembly: it hashes many keys of one bucket, and keeps what
// they share. All others use KeyHasher (weir/key.h).
//
// Thread rule: pure. Tested by key_test.cc and wasm/differential_test.mjs.

#pragma once

#include <xxhash.h>

#include <cstdint>
#include <string_view>

#include "weir/key.h"
#include "weir/quota.h"

namespace weir {

inline KeyHash hash_text(const HashSecret& secret, std::string_view text) noexcept {
  const XXH128_hash_t hash =
      XXH3_128bits_withSecret(text.data(), text.size(), secret.bytes.data(), secret.bytes.size());
  return {.high = hash.high64, .low = hash.low64};
}

// 64 x 64 -> 128 bits, folded: each bit of the result depends on every bit of both.
inline std::uint64_t mix(std::uint64_t left, std::uint64_t right) noexcept {
  __extension__ typedef unsigned __int128 Product;
  const Product product = static_cast<Product>(left) * right;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Makes one hash of an ordered pair. The operands are hashes under the secret, so nobody can choose
// them. The constants (odd, the fractions of the square roots of 2 and 3) keep the two sides apart.
inline KeyHash combine(KeyHash left, KeyHash right) noexcept {
  constexpr std::uint64_t kLeft = 0x6a09e667f3bcc909;
  constexpr std::uint64_t kRight = 0xbb67ae8584caa73b;
  return {.high = mix(left.high + kLeft, right.low ^ kRight) ^ left.low,
          .low = mix(left.low + kRight, right.high ^ kLeft) ^ right.low};
}

// The common part of the hashes of a bucket's keys that have this algorithm and window.
inline KeyHash scope_of(KeyHash bucket, const Quota& quota) noexcept {
  const auto window_us = static_cast<std::uint64_t>(quota.window().count());
  bucket.low += window_us << 8 | static_cast<std::uint64_t>(quota.algorithm());
  return bucket;
}
inline KeyHash hash_scope(const HashSecret& secret, std::string_view bucket,
                          const Quota& quota) noexcept {
  return scope_of(hash_text(secret, bucket), quota);
}

}  // namespace weir
