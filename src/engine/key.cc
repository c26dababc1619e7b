#include "weir/key.h"

#include <xxhash.h>

#include <cstring>

namespace weir {
namespace {

KeyHash from_xxh(XXH128_hash_t hash) noexcept { return {hash.high64, hash.low64}; }

XXH128_hash_t to_xxh(KeyHash hash) noexcept { return {hash.low, hash.high}; }

}  // namespace

// The names' hashes have fixed lengths, so putting them side by side is unambiguous
// where the names themselves would not be.
KeyHash KeyHasher::hash(const KeyName& name, const Quota& quota) const noexcept {
  const auto hash_bytes = [this](const void* bytes, std::size_t size) {
    return XXH3_128bits_withSecret(bytes, size, secret_.bytes.data(), secret_.bytes.size());
  };
  struct Parts {
    XXH128_hash_t rule;
    XXH128_hash_t bucket;
    XXH128_hash_t key;
    std::uint64_t window_us;
    std::uint64_t algorithm;
  };
  static_assert(sizeof(Parts) == 64, "no padding: every byte is hashed");
  const auto name_hash = [&](std::string_view text) {
    return text.empty() ? to_xxh(KeyHash{}) : hash_bytes(text.data(), text.size());
  };
  const Parts parts{
      .rule = name_hash(name.rule),
      .bucket = name_hash(name.bucket),
      .key = name_hash(name.key),
      .window_us = static_cast<std::uint64_t>(quota.window().count()),
      .algorithm = static_cast<std::uint64_t>(quota.algorithm()),
  };
  return from_xxh(hash_bytes(&parts, sizeof(parts)));
}

}  // namespace weir
