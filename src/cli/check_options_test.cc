#include "cli/check_options.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weir {
namespace {

TEST(CheckBody, SendsOnlyTheFieldsThatAreSet) {
  EXPECT_EQ(check_body("a", {}), R"({"key":"a"})");
  EXPECT_EQ(check_body("a", {.algorithm = "token_bucket", .cost = -2}),
            R"({"key":"a","algorithm":"token_bucket","cost":-2})");
  EXPECT_EQ(
      check_body(
          "a",
          {.rule = "login", .bucket = "b", .window = std::chrono::milliseconds(250), .burst = 7}),
      R"({"key":"a","rule":"login","bucket":"b","window":0.25,"burst":7})");
}

}  // namespace
}  // namespace weir
