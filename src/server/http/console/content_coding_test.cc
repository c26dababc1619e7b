#include "server/http/console/content_coding.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ContentCoding, IsTakenIfTheFieldNamesIt) {
  struct Case {
    std::string_view field;
    bool brotli;
    bool gzip;
  };
  for (const Case& c : {
           Case{"", false, false},
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
    EXPECT_EQ(accepts_coding(c.field, "br"), c.brotli) << c.field;
    EXPECT_EQ(accepts_coding(c.field, "gzip"), c.gzip) << c.field;
  }
}

}  // namespace
}  // namespace weir
