// WEIR_ASSERT: states what only a bug can make false.
//
// On in every build, release too: a limiter that goes on after its own state is
// nonsense would deny or admit the wrong people. A deny is a value, a failing store
// or bad bytes are errors; neither belongs here.
//
// A program that links the library may take the report itself (set_bug_handler);
// the default prints it and aborts. Thread rule: set the handler before starting threads.
// Tested by assert_test.cc.

#pragma once

namespace weir {

// Called with the failed expression and its place. If it returns, the program aborts.
using BugHandler = void (*)(const char* expression, const char* file, int line);
void set_bug_handler(BugHandler handler) noexcept;

[[noreturn]] void report_bug(const char* expression, const char* file, int line) noexcept;

}  // namespace weir

#define WEIR_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::weir::report_bug(#expression, __FILE__, __LINE__))
