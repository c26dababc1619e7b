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

// At most kSlotsMax + 1 rules are ever made, 15 MB, each at its first use. Cores ask for each
// request, so none waits for another: if two make the same rule, one throws its own away.
const Rule& ruleless_slots(std::int64_t limit) {
  // No rule's id begins like this, so no rule can reach these slots.
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

std::shared_ptr<const Rule> ruleless_holds(const Quota& quota, Mode mode) {
  WEIR_ASSERT(why_not_held(quota).empty() && why_not_held(mode).empty());
  auto made = std::make_shared<Rule>();
  made->id.assign("\0holds", 6);  // the same for all, as in ruleless_slots()
  made->quota = quota;
  made->mode = mode == Mode::kLocal ? mode : Mode::kStrict;
  made->holds_max = kRulelessHoldsMax;
  return made;
}

std::string_view why_not_held(const Quota& quota) {
  if (!quota.switches() && quota.algorithm() != Algorithm::kExponentialBackoff) return "";
  return "needs counters that give units back; write 'algorithm: sliding_window', fixed_window, "
         "token_bucket or sliding_log";
}

std::string_view why_not_held(Mode mode) {
  if (mode != Mode::kAsync) return "";
  return "needs one place that knows what is held, and in mode async each node counts by itself; "
         "write 'mode: strict' or local";
}

}  // namespace weir
