// Slots of what may be under way at once, and units held (weir/holding_store.h), where no rule of
// the file says how many.
//
// Thread rule: any thread. Tested by src/server/http/check/http_holds_test.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "rules/rule.h"

namespace weir {

inline constexpr std::int64_t kSlotsMax = 10'000;  // of a key

// Stands for a limit that the caller names. Whatever the limit, the slots of a key are the same.
// It lives as long as the process, and has no number.
// REQUIRES: 0 <= limit <= kSlotsMax
const Rule& ruleless_slots(std::int64_t limit);

inline constexpr std::int64_t kRulelessHoldsMax = 1'000;  // of a key

// Stands for a quota that the caller names. What it counts is apart from what checks count without
// a rule, as those know of no holds. `mode` is where counters of the call are: those of leased are
// in one place, as of rules that hold.
// REQUIRES: why_not_held() is empty of both
std::shared_ptr<const Rule> ruleless_holds(const Quota& quota, Mode mode);

// Whether the rule is of one of these two.
inline bool is_ruleless(const Rule& rule) { return rule.id.starts_with('\0'); }

// Why counters of the algorithm, or of the mode, hold no units; empty if they do.
std::string_view why_not_held(const Quota& quota);
std::string_view why_not_held(Mode mode);

}  // namespace weir
