// Rules for callers that name a limit themselves: slots, which bound work under way, and held units
// (weir/holding_store.h).
//
// Thread rule: any thread. Tested by src/server/http/check/http_holds_test.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "rules/rule.h"

namespace weir {

inline constexpr std::int64_t kSlotsMax = 10'000;  // the most slots of a key

// The rule for slots of a limit that the caller names. A key's slots are the same whatever the
// limit. The rule lives as long as the process, and has no number.
// REQUIRES: 0 <= limit <= kSlotsMax
const Rule& ruleless_slots(std::int64_t limit);

inline constexpr std::int64_t kRulelessHoldsMax = 1'000;  // the most holds of a key

// The rule for holds under a quota that the caller names. It counts apart from checks without a
// rule, which know no holds. `mode` is the call's mode: counters of leased are in one place, as for
// rules that hold.
// REQUIRES: why_not_held() is empty for both
std::shared_ptr<const Rule> ruleless_holds(const Quota& quota, Mode mode);

// Whether the rule is from one of these two functions.
inline bool is_ruleless(const Rule& rule) { return rule.id.starts_with('\0'); }

// Why the algorithm's counters, or the mode's, cannot hold units; empty if they can.
std::string_view why_not_held(const Quota& quota);
std::string_view why_not_held(Mode mode);

}  // namespace weir
