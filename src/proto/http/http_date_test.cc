#include "proto/http/http_date.h"

#include <string_view>

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string date(std::int64_t epoch_s) {
  const HttpDate text = http_date(Instant{std::chrono::seconds(epoch_s)});
  return {text.data(), text.size()};
}

TEST(HttpDate, IsAsInTheRfc) {
  EXPECT_EQ(date(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(date(951'782'400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(date(1'798'761'599), "Thu, 31 Dec 2026 23:59:59 GMT");
  EXPECT_EQ(date(253'402'300'799), "Fri, 31 Dec 9999 23:59:59 GMT");
}

TEST(HttpDate, DropsFractions) {
  const HttpDate text = http_date(instant_from_epoch_us(1'999'999));
  EXPECT_EQ(std::string_view(text.data(), text.size()), "Thu, 01 Jan 1970 00:00:01 GMT");
}

}  // namespace
}  // namespace weir
