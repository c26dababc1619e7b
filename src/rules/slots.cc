#include "rules/slots.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>

#include "base/assert.h"
#include "weir/holding_store.h"

namespace weir {

// At most kSlotsMax + 1 of them are ever made, each when it is first asked for.
const Rule& ruleless_slots(std::int64_t limit) {
  // No id of a rule begins so: no rule that somebody names can reach these slots.
  constexpr std::string_view kId("\0slots", 6);
  static std::mutex mutex;
  static std::map<std::int64_t, Rule> rules;
  WEIR_ASSERT(limit >= 0 && limit <= kSlotsMax);
  const std::scoped_lock lock(mutex);
  const auto [place, is_new] = rules.try_emplace(limit);
  if (is_new) {
    place->second.id = kId;
    place->second.quota = *slot_quota(limit);
    place->second.effect = Rule::Effect::kConcurrency;
    place->second.mode = Mode::kStrict;
    place->second.on_store_failure = OnStoreFailure::kDeny;
    place->second.holds_max = std::max<std::int64_t>(1, limit);
  }
  return place->second;
}

}  // namespace weir
