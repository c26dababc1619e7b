#include "proto/usage/asked_tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

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
      // the body says nothing
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
      // the body says several numbers
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

// The rest of a long body may have a larger number.
TEST(AskedTokens, OfALongBodyAreNoLessThanOfOneThatSaysNothing) {
  const auto of_long = [](std::string_view text) {
    return asked_tokens({.bytes = text, .is_whole = false}, {}, kOtherwise);
  };
  EXPECT_EQ(of_long(R"({"max_tokens":50,"prompt":"x)"), kOtherwise);
  EXPECT_EQ(of_long(R"({"max_tokens":700,"prompt":"x)"), 700);
}

TEST(AskedCost, IsOfTheDearestModelThatIsNamed) {
  const auto row = [](std::string model, std::int64_t output) {
    return PriceTable::Row{std::move(model), {.each = {1'000'000, 0, 0, output * 1'000'000}}};
  };
  const PriceTable prices({row("cheap", 2), row("gemini-*", 3), row("dear", 9)});
  struct Case {
    std::string_view text;
    std::int64_t cost;
    bool is_known = true;
    std::string_view path{};
  };
  constexpr Case kCases[] = {
      {R"({"model":"cheap","max_tokens":50})", 100},
      {R"({"max_tokens":50,"model":"dear"})", 450},
      {R"({"model":"cheap","max_tokens":50,"model":"dear"})", 450},
      {R"({"model":"dear","Model":"cheap","max_tokens":50})", 450},
      {R"({"model":"cheap","mod\u0065l":"dear","max_tokens":50})", 450},
      {R"({"messages":[{"model":"dear"}],"model":"cheap","max_tokens":50})", 100},
      {R"({"model":"cheap"})", kOtherwise},
      {R"({"model":"cheap","max_tokens":50,"max_tokens":null})", kOtherwise},
      {R"({"generationConfig":{"maxOutputTokens":10}})", 30, true,
       "/v1beta/models/gemini-2.5-pro:generateContent"},
      {R"({"model":"dear","max_tokens":10})", 90, true, "/v1/models/gemini-1/x/models/cheap"},
      // unknown
      {R"({"max_tokens":50})", 450, false},
      {R"({"model":"other","max_tokens":50})", 450, false},
      {R"({"model":"cheap","model":"other","max_tokens":50})", 450, false},
      {R"({"model":7,"max_tokens":50})", 450, false},
      {R"({"model":"cheap","max_tokens":50]})", 450, false},
      {R"({"max_tokens":50})", 450, false, "/v1/models/"},
  };
  for (const auto& [text, cost, is_known, path] : kCases) {
    const AskedCost asked = asked_cost({.bytes = text, .path = path}, {}, kOtherwise, prices);
    EXPECT_EQ(asked.units, cost) << text;
    EXPECT_EQ(asked.prices.has_value(), is_known) << text;
  }
  const BodyStart part{.bytes = R"({"model":"cheap","max_tokens":50,)", .is_whole = false};
  EXPECT_EQ(asked_cost(part, {}, kOtherwise, prices).units, 450);
  EXPECT_EQ(asked_cost({}, {}, kOtherwise, prices).units, kOtherwise);
}

}  // namespace
}  // namespace weir
