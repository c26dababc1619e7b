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

TEST(MediaRange, CodingsAreTakenIfTheFieldNamesThem) {
  struct Case {
    std::string_view field;
    bool brotli;
    bool gzip;
  };
  for (const Case& c : {
           Case{"gzip", false, true},
           Case{"gzip, deflate, br", true, true},
           Case{"gzip, deflate, br;q=0", false, true},
           Case{"BR ; Q=0.5 , gzip;q=0.000", true, false},
           Case{"br;level=1;q=0", false, false},
           Case{"*", true, true},
           Case{"*;q=0, gzip", false, true},
           Case{"br;q=0,*", false, true},
           Case{"identity", false, false},
           Case{"brotli, xgzip", false, false},
           Case{",,;q=1,", false, false},
       }) {
    EXPECT_EQ(quality_of(c.field, "br") > 0, c.brotli) << c.field;
    EXPECT_EQ(quality_of(c.field, "gzip") > 0, c.gzip) << c.field;
  }
}

}  // namespace
}  // namespace weir
