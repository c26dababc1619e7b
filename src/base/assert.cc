#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace weir {
namespace {

BugHandler bug_handler = nullptr;

}  // namespace

void set_bug_handler(BugHandler handler) noexcept { bug_handler = handler; }

void report_bug(const char* expression, const char* file, int line) noexcept {
  if (bug_handler != nullptr) bug_handler(expression, file, line);
  std::fprintf(stderr, "weir: bug: %s is false at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace weir
