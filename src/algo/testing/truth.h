// Checks what a decision promises about the future by going there.
//
// Thread rule: one thread. Tested by decision_table_test.cc, which uses it.

#pragma once

#include <cstdint>
#include <string>

#include "algo/testing/any_key.h"

namespace weir::algo::testing {

// Says what is untrue about `decision`, which answered a request of `cost` at `now` and left `key`
// as it is. Empty if all is true:
//   retry_after   the same request is admitted then, and not a microsecond earlier
//                 (exponential_backoff: it may be later, but not before 2^level seconds)
//   remaining     that many units are admitted now, and not one more
//   reset_after   the key then decides as a fresh one; a microsecond earlier it does not
// REQUIRES: cost > 0, or no mistaken clock wrote the key
std::string untruth(const AnyKey& key, const Quota& quota, std::int64_t cost,
                    const Decision& decision, Instant now);

}  // namespace weir::algo::testing
