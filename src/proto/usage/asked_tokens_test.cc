#include "proto/usage/asked_tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "weir/quota.h"

namespace weir {
namespace {

constexpr std::int64_t kOtherwise = 200;

std::int64_t asked(std::string_view text, std::string_view path = {}) {
  return asked_tokens({.bytes = text}, path, kOtherwise);
}

TEST(AskedTokens, AreWhatTheBodySays) {
  struct Case {
    std::string_view text;
    std::int64_t tokens;
  };
  constexpr Case kCases[] = {
      // vendors
      {R"({"model":"m","max_tokens":50,"messages":[{"content":"Say"}]})", 50},
      {R"({"max_completion_tokens":51})", 51},
      {R"({"max_output_tokens": 52 })", 52},
      {R"({"contents":[],"generationConfig":{"maxOutputTokens":53}})", 53},
      {R"({"generation_config":{"max_output_tokens":54}})", 54},
      {R"({"max_tokens":3000})", 3000},
      {R"({"max_tokens":50.0})", 50},
      // it says nothing
      {"", kOtherwise},
      {R"({"messages":[]})", kOtherwise},
      {R"({"max_tokens":0})", kOtherwise},
      {R"({"max_tokens":-5})", kOtherwise},
      {R"({"max_tokens":null})", kOtherwise},
      {R"({"max_tokens":"50"})", kOtherwise},
      {R"({"max_tokens":[50]})", kOtherwise},
      {R"({"options":{"max_tokens":50}})", kOtherwise},
      {R"({"messages":[{"max_tokens":5000}]})", kOtherwise},
      {R"({"messages":"{\"max_tokens\":5000}"})", kOtherwise},
      {"max_tokens=50", kOtherwise},
      {"\x1f\x8b\x08", kOtherwise},
      // it says several things
      {R"({"max_tokens":1,"max_tokens":700})", 700},
      {R"({"max_tokens":700,"max_tokens":1})", 700},
      {R"({"max_tokens":1,"max_completion_tokens":700})", 700},
      {R"({"max_tokens":1,"max\u005ftokens":700})", 700},
      {R"({"max_tokens":1,"\u006D\u0061x_tokens":700})", 700},
      {R"({"max_tokens":1,"Max_Tokens":700})", 700},
      {"{\"max_tokens\":1,\"max_token\u017f\":700}", 700},
      {"{\"max_tokens\":1,\"max_to\u212aens\":700}", 700},
      {R"({"max_tokens":1,"max_token\u017f":700})", 700},
      {R"({"max_tokens":1,"max_to\u212Aens":700})", 700},
      {"{\"max_tokens\":1,\"max_toke\u00f1s\":700}", 1},
      {R"({"max_tokens":1,"max_token\u017fs":700})", 1},
      {R"({"max_tokens":1,"\u017f":700})", 1},
      {R"({"max_tokens":1,"max_tokens":"700"})", kOtherwise},
      {R"({"max_tokens":1,"max_tokens":7e2})", kOtherwise},
      {R"({"max_tokens":1,"max_tokens":null})", kOtherwise},
      {R"({"max_tokens":1,"max_tokens":{}})", kOtherwise},
      {R"({"max_tokens":500,"max_tokens":null})", 500},
      {R"({"max_tokens":1}]{"max_tokens":700})", kOtherwise},
      {R"({"max_tokens":1}{"max_tokens":700})", 700},
  };
  for (const Case& each : kCases) EXPECT_EQ(asked(each.text), each.tokens) << each.text;
}

TEST(AskedTokens, OfHugeNumbersAreTheMostThatCanBeSpent) {
  EXPECT_EQ(asked("{\"max_tokens\":" + std::string(400, '9') + "}"), kCostMax);
}

TEST(AskedTokens, MayStandElsewhere) {
  constexpr std::string_view kText = R"({"max_tokens":50,"options":{"num_predict":60}})";
  EXPECT_EQ(asked(kText, "options.num_predict"), 60);
  EXPECT_EQ(asked(kText, "options.Num_Predict"), 60);
  EXPECT_EQ(asked(kText, "options"), kOtherwise);
}

TEST(AskedTokens, StandWithinTheBytesThatAreLookedAt) {
  const auto with_prompt = [](std::size_t bytes, std::string_view end) {
    const auto text = R"({"prompt":")" + std::string(bytes, 'x') + std::string(end);
    const bool is_whole = text.size() <= BodyStart::kBytesMax;
    return asked_tokens({.bytes = text, .is_whole = is_whole}, {}, kOtherwise);
  };
  constexpr std::string_view kEnd = R"(","max_tokens":50})";
  constexpr std::size_t kRest = 11 + kEnd.size();
  EXPECT_EQ(with_prompt(BodyStart::kBytesMax - kRest, kEnd), 50);
  EXPECT_EQ(with_prompt(BodyStart::kBytesMax, kEnd), kOtherwise);
}

// The rest of a long body may name a larger number.
TEST(AskedTokens, OfALongBodyAreNoLessThanOfOneThatSaysNothing) {
  const auto of_long = [](std::string_view text) {
    return asked_tokens({.bytes = text, .is_whole = false}, {}, kOtherwise);
  };
  EXPECT_EQ(of_long(R"({"max_tokens":50,"prompt":"x)"), kOtherwise);
  EXPECT_EQ(of_long(R"({"max_tokens":700,"prompt":"x)"), 700);
}

}  // namespace
}  // namespace weir
