#include "base/assert.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace weir {
namespace {

TEST(Assert, PassesWhatIsTrue) { WEIR_ASSERT(1 + 1 == 2); }

TEST(AssertDeathTest, NamesWhatIsFalse) {
  EXPECT_DEATH(WEIR_ASSERT(1 + 1 == 3), "weir: bug: 1 \\+ 1 == 3 is false at .*assert_test.cc");
}

TEST(AssertDeathTest, AsksTheHandlerFirst) {
  EXPECT_DEATH(
      {
        set_bug_handler([](const char* expression, const char*, int) {
          std::fprintf(stderr, "handled: %s", expression);
        });
        WEIR_ASSERT(false);
      },
      "handled: false");
}

}  // namespace
}  // namespace weir
