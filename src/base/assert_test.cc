#include "base/assert.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Assert, PassesWhatIsTrue) { WEIR_ASSERT(1 + 1 == 2); }

TEST(AssertDeathTest, NamesWhatIsFalse) {
  EXPECT_DEATH(WEIR_ASSERT(1 + 1 == 3), "weir: bug: 1 \\+ 1 == 3 is false at .*assert_test.cc");
}

}  // namespace
}  // namespace weir
