// WEIR_ASSERT: a condition that only a bug can make false.
//
// It is on in every build, release too: a limiter whose own state is nonsense would deny or admit
// the wrong people. A denial is a value, and a failing store or bad bytes are errors: WEIR_ASSERT
// is for none of these.
//
// Thread rule: any thread. Tested by assert_test.cc.

#pragma once

namespace weir {

// Prints the failed expression and its place, and aborts.
[[noreturn]] void report_bug(const char* expression, const char* file, int line) noexcept;

}  // namespace weir

#define WEIR_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::weir::report_bug(#expression, __FILE__, __LINE__))
