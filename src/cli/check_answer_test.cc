#include "cli/check_options.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string in_words(std::string_view json) {
  const auto answer = read_answer(json);
  return answer ? answer->text : "none";
}

TEST(CheckAnswer, SaysHowMuchIsLeftAndWhenItIsFullAgain) {
  EXPECT_EQ(in_words(R"({"key":"a","allowed":true,"remaining":4,"algorithm":"sliding_log",)"
                     R"("retry_after":0,"backoff_level":0,"limit":5,"reset_after":60})"),
            "allowed, 4 of 5 left, full again in 60 s");
  EXPECT_EQ(in_words(R"({"allowed":true,"remaining":5,"limit":5,"reset_after":0})"),
            "allowed, 5 of 5 left");
}

TEST(CheckAnswer, SaysWhenToRetryAndNeverTooEarly) {
  const auto denied = [](const std::string& retry_after, const std::string& level) {
    return in_words(R"({"allowed":false,"remaining":0,"limit":5,"reset_after":60,)"
                    R"("retry_after":)" +
                    retry_after + R"(,"backoff_level":)" + level + "}");
  };
  EXPECT_EQ(denied("12", "0"), "denied, retry after 12 s");
  EXPECT_EQ(denied("11.000001", "0"), "denied, retry after 12 s");
  EXPECT_EQ(denied("0.2500001", "0"), "denied, retry after 251 ms");
  EXPECT_EQ(denied("8", "3"), "denied, retry after 8 s, backoff level 3");
  EXPECT_EQ(denied("null", "0"), "denied, more than 5 are never allowed at once");
}

TEST(CheckAnswer, IsNoneIfItIsNotWhatACheckAnswers) {
  for (const auto* json : {"", "{}", "[]", "allowed", R"({"allowed":1})", R"({"allowed":true})",
                           R"({"allowed":true,"remaining":"4","limit":5,"reset_after":60})"}) {
    EXPECT_FALSE(read_answer(json)) << json;
  }
}

TEST(CheckAnswer, QuotesTheServersExplanation) {
  EXPECT_EQ(read_problem(R"({"title":"x","detail":"limit: expected an integer"})"),
            "limit: expected an integer");
  EXPECT_FALSE(read_problem("<html>"));
  EXPECT_FALSE(read_problem(R"({"detail":3})"));
}

}  // namespace
}  // namespace weir
