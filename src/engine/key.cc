#include "weir/key.h"

#include "engine/key_mix.h"

namespace weir {

KeyHash KeyHasher::hash_text(std::string_view text) const noexcept {
  return weir::hash_text(secret_, text);
}

KeyHash KeyHasher::hash(const KeyName& name, const Quota& quota) const noexcept {
  KeyHash scope = hash_scope(secret_, name.bucket, quota);
  if (!name.rule.empty()) scope = combine(hash_text(name.rule), scope);
  return combine(scope, hash_text(name.key));
}

}  // namespace weir
