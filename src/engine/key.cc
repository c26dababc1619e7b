#include "weir/key.h"

#include "engine/key_mix.h"

namespace weir {

// Most names are short. Inline, hashing them needs few registers and no call.
[[gnu::always_inline]] inline KeyHash KeyHasher::hash_text(std::string_view text) const noexcept {
  return text.size() <= 16 ? weir::hash_text(secret_, text) : hash_long_text(text);
}

[[gnu::noinline]] KeyHash KeyHasher::hash_long_text(std::string_view text) const noexcept {
  return weir::hash_text(secret_, text);
}

KeyHasher::KeyHasher(const HashSecret& secret) noexcept
    : secret_(secret), no_bucket_(hash_text({})) {}

KeyHash KeyHasher::hash_bucket(std::string_view bucket) const noexcept {
  return bucket.empty() ? no_bucket_ : hash_text(bucket);
}

[[gnu::flatten]] HashedName KeyHasher::hash_names(const KeyName& name) const noexcept {
  const bool has_rule = !name.rule.empty();
  return {.rule = has_rule ? hash_text(name.rule) : KeyHash(),
          .bucket = hash_bucket(name.bucket),
          .key = hash_text(name.key),
          .has_rule = has_rule};
}

KeyHash KeyHasher::combine_names(const HashedName& name, const Quota& quota) noexcept {
  KeyHash scope = scope_of(name.bucket, quota);
  if (name.has_rule) scope = combine(name.rule, scope);
  return combine(scope, name.key);
}

KeyHash KeyHasher::hash_scope(std::string_view bucket, const Quota& quota) const noexcept {
  return scope_of(hash_bucket(bucket), quota);
}

[[gnu::flatten]] KeyHash KeyHasher::hash_in(KeyHash scope, std::string_view key) const noexcept {
  return combine(scope, hash_text(key));
}

[[gnu::flatten]] KeyHash KeyHasher::hash(const KeyName& name, const Quota& quota) const noexcept {
  KeyHash scope = hash_scope(name.bucket, quota);
  if (!name.rule.empty()) scope = combine(hash_long_text(name.rule), scope);
  return hash_in(scope, name.key);
}

}  // namespace weir
