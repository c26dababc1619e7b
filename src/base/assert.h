// WEIR_ASSERT: states what only a bug can make false.
//
// On in every build, release too: a limiter that goes on after its own state is
// nonsense would deny or admit the wrong people. A deny is a value, a failing store
// or bad bytes are errors; neither belongs here.
//
// Thread rule: any thread. Tested by assert_test.cc.

#pragma once

namespace weir {

// Prints the failed expression and its place, and aborts.
[[noreturn]] void report_bug(const char* expression, const char* file, int line) noexcept;

}  // namespace weir

#define WEIR_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::weir::report_bug(#expression, __FILE__, __LINE__))
