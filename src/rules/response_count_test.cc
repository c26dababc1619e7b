#include "rules/rule.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ResponseCount, AStatusIsOneOrAHundred) {
  EXPECT_EQ(parse_statuses("401"), (StatusRange{401, 401}));
  EXPECT_EQ(parse_statuses("5xx"), (StatusRange{500, 599}));
  for (const char* const text : {"", "40", "4x1", "099", "600", "xxx", "4xxx", "-01", "40 "}) {
    EXPECT_EQ(parse_statuses(text), std::nullopt) << text;
  }
}

TEST(ResponseCount, CountsItsStatusesOrAll) {
  const ResponseCount failures{.statuses = {{401, 401}, {500, 599}}};
  EXPECT_TRUE(failures.counts(401));
  EXPECT_TRUE(failures.counts(500));
  EXPECT_TRUE(failures.counts(599));
  EXPECT_FALSE(failures.counts(402));
  EXPECT_FALSE(failures.counts(200));
  EXPECT_TRUE(ResponseCount().counts(200));
}

}  // namespace
}  // namespace weir
