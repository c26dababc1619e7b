// The table's part of a call, which nearly every call runs: compiled by itself, so that it is
// optimized for speed where the rest is for size.

#include "algo/fixed_window.h"
#include "algo/sliding_window.h"
#include "algo/token_bucket.h"
#include "store/memory/compact_table.h"

namespace weir {

template Decision CompactTable<>::spend<algo::FixedWindowState>(const Charge&, Instant,
                                                                SlotChange*) noexcept;
template Decision CompactTable<>::spend<algo::SlidingWindowState>(const Charge&, Instant,
                                                                  SlotChange*) noexcept;
template Decision CompactTable<>::spend<algo::TokenBucketState>(const Charge&, Instant,
                                                                SlotChange*) noexcept;

}  // namespace weir
