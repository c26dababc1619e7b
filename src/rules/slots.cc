#include "rules/slots.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>

#include "base/assert.h"
#include "weir/holding_store.h"

namespace weir {

// At most kSlotsMax + 1 of them are ever made, 15 MB, each when it is first asked for. Cores ask
// for each request, so none waits for another: of two that make one, a core throws its own away.
const Rule& ruleless_slots(std::int64_t limit) {
  // No id of a rule begins so: no rule that somebody names can reach these slots.
  constexpr std::string_view kId("\0slots", 6);
  static constinit std::array<std::atomic<const Rule*>, kSlotsMax + 1> rules{};
  WEIR_ASSERT(limit >= 0 && limit <= kSlotsMax);
  auto& place = rules[static_cast<std::size_t>(limit)];
  const Rule* known = place.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto made = std::make_unique<Rule>();
  made->id = kId;
  made->quota = *slot_quota(limit);
  made->effect = Rule::Effect::kConcurrency;
  made->mode = Mode::kStrict;
  made->on_store_failure = OnStoreFailure::kDeny;
  made->holds_max = std::max<std::int64_t>(1, limit);
  const bool is_first = place.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel,
                                                      std::memory_order_acquire);
  return is_first ? *made.release() : *known;
}

}  // namespace weir
