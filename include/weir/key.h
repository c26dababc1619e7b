// KeyHash: the key that is limited, as 128 bits that nobody outside can predict.
//
// A counter belongs to (rule, bucket, key, algorithm, window). Each name is hashed separately, and
// the hashes are combined in order. Names are never joined by a separator, so no choice of names
// makes two keys equal. The hash is keyed by a secret, so no client can aim at another's counter.
// Limit and burst are not hashed: raising a limit keeps what was counted.
//
// Two keys share a counter with the probability that 128-bit hashes collide; a store
// may keep fewer bits (the memory store: 48 and the choice of a set of slots).
//
// Hash: XXH3 (128 bit) by Yann Collet, with a full-length secret.
// Thread rule: KeyHasher is immutable; share it. Cost: about 10 ns for short keys.
// Tested by src/engine/key_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/quota.h"

namespace weir {

struct KeyHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr bool operator==(const KeyHash&, const KeyHash&) = default;
};

// The names of a counter: any bytes of any length, NUL and invalid UTF-8 included.
struct KeyName {
  std::string_view rule;    // empty when no rule is involved
  std::string_view bucket;  // may be empty
  std::string_view key;
};

// The names of a counter, each one hashed.
struct HashedName {
  KeyHash rule;  // only if has_rule
  KeyHash bucket;
  KeyHash key;
  bool has_rule = false;
};

// The bytes that make hashes unpredictable. Nodes that share a store share them.
struct HashSecret {
  std::array<std::byte, 192> bytes{};

  // From the operating system's random source. Ends the program if it has none.
  static HashSecret random();
};

class KeyHasher {
 public:
  explicit KeyHasher(const HashSecret& secret) noexcept;

  KeyHash hash(const KeyName& name, const Quota& quota) const noexcept;
  // Hashes without a rule, in two steps: first what all keys of a bucket share, then one key.
  KeyHash hash_scope(std::string_view bucket, const Quota& quota) const noexcept;
  KeyHash hash_in(KeyHash scope, std::string_view key) const noexcept;

  // Hashes in two steps, for callers that count one name under several quotas or buckets.
  HashedName hash_names(const KeyName& name) const noexcept;
  KeyHash hash_bucket(std::string_view bucket) const noexcept;
  static KeyHash combine_names(const HashedName& name, const Quota& quota) noexcept;

 private:
  KeyHash hash_text(std::string_view text) const noexcept;
  KeyHash hash_long_text(std::string_view text) const noexcept;

  HashSecret secret_;
  KeyHash no_bucket_;
};

}  // namespace weir
