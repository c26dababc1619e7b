#include "proto/usage/json_numbers.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "weir/quota.h"

namespace weir {
namespace {

// "path=value " for each number.
struct Heard final : JsonNumbers::Sink {
  void number(std::string_view path, std::int64_t value) override {
    text += std::string(path) + "=" + std::to_string(value) + " ";
  }
  std::string text;
};

std::string numbers_in(std::string_view text, std::size_t piece) {
  Heard heard;
  JsonNumbers numbers(heard);
  for (std::size_t at = 0; at < text.size(); at += piece) numbers.feed(text.substr(at, piece));
  return heard.text + (numbers.has_failed() ? "failed" : "");
}

TEST(JsonNumbers, NumbersHaveThePathsOfTheirNames) {
  struct Case {
    std::string_view text, numbers;
  };
  constexpr Case kCases[] = {
      {R"({"a":1})", "a=1 "},
      {R"({ "a" : { "b" : 22 } , "c" : 3 })", "a.b=22 c=3 "},
      {R"({"a":{"b":{}},"c":3})", "c=3 "},
      {R"({"a":{"x":1},"b":{"x":2}})", "a.x=1 b.x=2 "},
      {R"([{"a":1},{"a":{"b":2}}])", "a=1 a.b=2 "},
      {R"({"a":1}{"a":2})", "a=1 a=2 "},
      {"{\"a\":1}\n{\"b\":2}", "a=1 b=2 "},
      {R"({"l":[1,{"a":2},[3]],"z":4})", "z=4 "},
      {R"([[{"a":1}],{"b":2}])", "b=2 "},
      {R"({"s":"{\"a\":1}","a":2})", "a=2 "},
      {R"({"s":"\\","a":2})", "a=2 "},
      {R"({"a":"1","b":true,"c":null,"d":0})", "d=0 "},
      {R"({"a\"b":1,"\u0061":2,"":3})", R"(a"b=1 a=2 =3 )"},
      {R"({"\u00e9":1,"\n":2,"\u00g1":3,"\/\u007A":4})", R"(\=1 \=2 \=3 /z=4 )"},
      {R"({"a":-1,"b":30.0,"c":1e3,"d":-0,"e":7.001,"f":2.0e1,"g":7.0})", "b=30 e=8 g=7 "},
      {R"({"":{"a":1},"b":{"":{"":2}}})", ".a=1 b..=2 "},
      {"7 [1,2] 3", ""},
      {"", ""},
      {R"({"a":1)", ""},  // perhaps 12
      {R"({"a":1]"b":2})", "a=1 failed"},
      {R"(}{"a":1})", "failed"},
      {R"({"a":[}],"b":2})", "failed"},
  };
  for (const Case& each : kCases) {
    for (std::size_t piece = 1; piece <= each.text.size(); ++piece) {
      EXPECT_EQ(numbers_in(each.text, piece), each.numbers) << each.text << " by " << piece;
    }
  }
}

TEST(JsonNumbers, NumbersBeyondTheLargestCostAreIt) {
  const std::string most = std::to_string(kCostMax);
  EXPECT_EQ(numbers_in("{\"a\":" + most + "}", 3), "a=" + most + " ");
  EXPECT_EQ(numbers_in("{\"a\":" + most + "0}", 3), "a=" + most + " ");
  EXPECT_EQ(numbers_in("{\"a\":" + most + ".5}", 3), "a=" + most + " ");
  EXPECT_EQ(numbers_in("{\"a\":" + std::string(5000, '9') + "}", 3), "a=" + most + " ");
}

std::string nested(std::size_t depth, std::string_view open, std::string_view middle, char close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  text += middle;
  return text + std::string(depth, close);
}

TEST(JsonNumbers, WhatIsTooDeepOrTooLongIsPassedOver) {
  const std::string end = R"(,"z":9})";
  const auto after = [&](const std::string& value) {
    return numbers_in("{\"v\":" + value + end, 5);
  };
  EXPECT_EQ(after(nested(JsonNumbers::kNamesMax - 1, "{\"o\":", "5", '}')),
            "v.o.o.o.o.o.o.o=5 z=9 ");
  EXPECT_EQ(after(nested(JsonNumbers::kNamesMax, "{\"o\":", "5", '}')), "z=9 ");
  EXPECT_EQ(after(nested(JsonNumbers::kDepthMax - 1, "[", "5", ']')), "z=9 ");
  EXPECT_EQ(after(nested(JsonNumbers::kDepthMax, "[", "5", ']')), "failed");

  const std::string name(JsonNumbers::kPathMax, 'n');
  EXPECT_EQ(numbers_in("{\"" + name + "\":5" + end, 7), name + "=5 z=9 ");
  EXPECT_EQ(numbers_in("{\"" + name + "n\":5" + end, 7), "z=9 ");
  EXPECT_EQ(numbers_in("{\"" + name + "n\":{\"a\":5}" + end, 7), "z=9 ");
  EXPECT_EQ(numbers_in("{\"" + name + "\":{\"a\":5}" + end, 7), "z=9 ");
}

TEST(JsonNumbers, AfterItsEndATextSaysNothingToTheNext) {
  for (const std::string_view before :
       {R"({"a)", R"({"a\)", R"({"a":{"b":1)", "}", "[[", R"({"a")"}) {
    Heard heard;
    JsonNumbers numbers(heard);
    numbers.feed(before);
    numbers.end();
    numbers.feed(R"({"c":{"d":5}})");
    EXPECT_EQ(heard.text, "c.d=5 ") << before;
  }
}

// "path=text " for each text whose path ends in "model".
struct HeardTexts final : JsonNumbers::Sink {
  void number(std::string_view, std::int64_t) override {}
  bool no_number(std::string_view path, char first) override {
    return first == '"' && path.ends_with("model");
  }
  void text(std::string_view path, std::string_view value) override {
    heard += std::string(path) + "=" + std::string(value) + " ";
  }
  std::string heard;
};

TEST(JsonNumbers, TellsTheTextsThatAreAskedFor) {
  struct Case {
    std::string_view text, heard;
  };
  const std::string longest(JsonNumbers::kTextMax, 'x');
  const std::string longer = R"({"model":")" + longest + R"(yz","n":{"model":"b"}})";
  const std::string kept = "model=" + longest + " n.model=b ";
  const Case cases[] = {
      {R"({"model":"gpt-5","other":"no","message":{"model":"a b"}})",
       "model=gpt-5 message.model=a b "},
      {R"({"model":"\u0067pt\/\"\u00e9","model":""})", R"(model=gpt/"\ model= )"},
      {R"({"model":["a"],"l":[{"model":"b"}],"model":{"x":"c"},"model":null})", ""},
      {R"({"model":5,"x":"model","model":"a"}{"model":"b"})", "model=a model=b "},
      {R"({"model":"not closed)", ""},
      {longer, kept},
  };
  for (const auto& [text, heard] : cases) {
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      HeardTexts texts;
      JsonNumbers numbers(texts);
      for (std::size_t at = 0; at < text.size(); at += piece) numbers.feed(text.substr(at, piece));
      EXPECT_EQ(texts.heard, heard) << text << " by " << piece;
    }
  }
}

TEST(JsonNumbers, ForgetsATextThatIsCut) {
  HeardTexts texts;
  JsonNumbers numbers(texts);
  numbers.feed(R"({"model":"a)");
  numbers.end();
  numbers.feed(R"({"x":"y","model":"b"})");
  EXPECT_EQ(texts.heard, "model=b ");
}

}  // namespace
}  // namespace weir
