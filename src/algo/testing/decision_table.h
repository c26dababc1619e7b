// run_table: decisions in a table that can be read aloud.
//
//   quota token_bucket 10/1s burst 10
//   at 0ms     spend 10      -> allow left 0 reset 1s
//   at 0ms     spend 1       -> deny retry 100ms
//   at +100ms  spend 1       -> allow left 0        # 100 ms after the line above
//   at -50ms   look          -> allow left 0        # the clock stepped back
//
// One key lives from the first line to the last. `quota` sets the quota from there on. A change of
// algorithm, or `fresh`, starts with a new key. `table NAME` begins a new table.
//
// `active NAME` switches an adaptive quota, at the time of the last request.
//
//   times      absolute since the epoch, or + or - from the last line: 90s, 1m30s, 100us
//   requests   spend N · look (cost 0) · ask N (what spend N would answer) · give N ·
//              undo N (a charge of that very time) · denied (by something else:
//              record_denial); any of them xM: M times, each gets the verdict and the
//              last one the rest
//   expected   allow, deny or never, then any of
//              left N · limit N · retry D · reset D · level N
//
// Each `spend` is checked for truth (truth.h): when a denied request is admitted, what is left, and
// when the key is fresh.
//
// Thread rule: one thread. Tested by decision_table_test.cc.

#pragma once

#include <string>
#include <string_view>

namespace weir::algo::testing {

// Reports each line that is not as expected, by name, as a failure of the running test.
void run_tables(std::string_view text, const std::string& file = "the table");

}  // namespace weir::algo::testing
