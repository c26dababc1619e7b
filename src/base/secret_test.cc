#include "base/secret.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Secret, OnlyItselfIsEqual) {
  EXPECT_TRUE(equals_secret("sesame", "sesame"));
  for (const char* given : {"", "s", "sesam", "sesamE", "sesame!", "sesamesesame", "Sesame"}) {
    EXPECT_FALSE(equals_secret(given, "sesame")) << given;
  }
}

TEST(Secret, NothingEqualsAnEmptyOne) {
  EXPECT_FALSE(equals_secret("", ""));
  EXPECT_FALSE(equals_secret("a", ""));
}

}  // namespace
}  // namespace weir
