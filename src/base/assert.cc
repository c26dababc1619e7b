#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace weir {

void report_bug(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "weir: bug: %s is false at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace weir
