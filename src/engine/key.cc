#include "weir/key.h"

#include <xxhash.h>

namespace weir {
namespace {

// 64 x 64 -> 128 bits, folded: each bit of the result depends on every bit of both.
std::uint64_t mix(std::uint64_t left, std::uint64_t right) noexcept {
  __extension__ typedef unsigned __int128 Product;
  const Product product = static_cast<Product>(left) * right;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// An ordered pair of hashes as one. The operands are hashes under the secret, so nobody
// can choose them; the constants (odd, the fractions of the square roots of 2 and 3)
// keep the two sides apart.
KeyHash combine(KeyHash left, KeyHash right) noexcept {
  constexpr std::uint64_t kLeft = 0x6a09e667f3bcc909;
  constexpr std::uint64_t kRight = 0xbb67ae8584caa73b;
  return {.high = mix(left.high + kLeft, right.low ^ kRight) ^ left.low,
          .low = mix(left.low + kRight, right.high ^ kLeft) ^ right.low};
}

}  // namespace

KeyHash KeyHasher::hash_text(std::string_view text) const noexcept {
  const XXH128_hash_t hash =
      XXH3_128bits_withSecret(text.data(), text.size(), secret_.bytes.data(), secret_.bytes.size());
  return {.high = hash.high64, .low = hash.low64};
}

KeyHash KeyHasher::hash(const KeyName& name, const Quota& quota) const noexcept {
  const auto window_us = static_cast<std::uint64_t>(quota.window().count());
  KeyHash scope = hash_text(name.bucket);
  scope.low += window_us << 8 | static_cast<std::uint64_t>(quota.algorithm());
  if (!name.rule.empty()) scope = combine(hash_text(name.rule), scope);
  return combine(scope, hash_text(name.key));
}

}  // namespace weir
