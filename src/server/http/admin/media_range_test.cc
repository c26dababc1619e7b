#include "server/http/admin/media_range.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

int text(std::string_view accept) { return quality_of(accept, "text/plain"); }

TEST(MediaRange, TheMostSpecificCounts) {
  EXPECT_EQ(text(""), 1000);
  EXPECT_EQ(text("  "), 1000);
  EXPECT_EQ(text("*/*"), 1000);
  EXPECT_EQ(text("text/*"), 1000);
  EXPECT_EQ(text("text/plain"), 1000);
  EXPECT_EQ(text("TEXT/Plain;version=0.0.4"), 1000);
  EXPECT_EQ(text("application/json"), 0);
  EXPECT_EQ(text("text/plainer"), 0);
  EXPECT_EQ(text("*/*;q=0.1, text/*;q=0.2, text/plain;q=0.3"), 300);
  EXPECT_EQ(text("text/plain;q=0.3, */*"), 300);
  EXPECT_EQ(text("text/plain;q=0"), 0);
}

TEST(MediaRange, QualitiesAreThousandths) {
  EXPECT_EQ(text("text/plain;q=0.5"), 500);
  EXPECT_EQ(text("text/plain ; Q = 0.125"), 125);
  EXPECT_EQ(text("text/plain;a=b;q=1"), 1000);
  EXPECT_EQ(text("text/plain;q=1.000"), 1000);
  EXPECT_EQ(text("text/plain;q=1.9"), 1000);
  EXPECT_EQ(text("text/plain;q="), 0);
  EXPECT_EQ(text("text/plain;q=x"), 0);
  EXPECT_EQ(text("text/plain;q=0x1"), 0);
  EXPECT_EQ(text("text/plain;q=0.x"), 0);
}

TEST(MediaRange, NonsenseIsSkipped) {
  for (const std::string_view accept : {",", ",,;", ";q=1", "/", "*", "text", "text/", "=;,=;"}) {
    EXPECT_EQ(text(accept), 0) << accept;
  }
}

}  // namespace
}  // namespace weir
