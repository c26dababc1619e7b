// Slots of what may be under way at once (weir/holding_store.h), where no rule of the file says how
// many.
//
// Thread rule: any thread. Tested by src/server/http/check/http_holds_test.cc.

#pragma once

#include <cstdint>

#include "rules/rule.h"

namespace weir {

inline constexpr std::int64_t kSlotsMax = 10'000;  // of a key

// Stands for a limit that the caller names. Whatever the limit, the slots of a key are the same.
// It lives as long as the process, and has no number.
// REQUIRES: 0 <= limit <= kSlotsMax
const Rule& ruleless_slots(std::int64_t limit);

}  // namespace weir
