// The part of the usual algorithm's call that is the table's, compiled by itself, so that it is
// optimized for speed where the rest is for size. All algorithms' would be more than the module
// may have.

#include "algo/sliding_window.h"
#include "store/memory/compact_table.h"

namespace weir {

template Decision CompactTable<>::spend<algo::SlidingWindowState>(const Charge&, Instant,
                                                                  SlotChange*) noexcept;

}  // namespace weir
