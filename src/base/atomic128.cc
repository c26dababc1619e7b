#include "base/atomic128.h"

namespace weir {

#ifdef WEIR_ATOMIC128_SSE
const bool Atomic128::kLoadsAreAtomic = __builtin_cpu_supports("avx");
#else
const bool Atomic128::kLoadsAreAtomic = true;
#endif

}  // namespace weir
