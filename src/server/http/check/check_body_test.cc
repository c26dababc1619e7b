#include "server/http/check/check_body.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "proto/input_buffer.h"
#include "server/http/check/check_body_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum CheckForm;

// Asks both readers. True if they accept the body.
bool expect_agreement(std::string_view text, CheckForm form, char behind = '}') {
  static CheckReader reader;
  const std::string by_simdjson = said_by_simdjson(reader, text, form, behind);
  for (int times = 0; times < 9; ++times) {  // the reader comes to keep it
    EXPECT_EQ(said_of(reader, std::string(text), form, behind), by_simdjson) << text;
  }
  return by_simdjson.front() != '{';
}

// A reader with the text and its padding, which the results refer to.
struct Reading {
  std::string padded;
  CheckReader reader;
  bool ok = false;

  explicit Reading(std::string_view text, CheckForm form = kSingle)
      : padded(std::string(text) + std::string(InputBuffer::kPadding, '}')) {
    ok = reader.read({.text = padded.data(), .size = text.size(), .readable = padded.size()}, form);
    EXPECT_EQ(expect_agreement(text, form), ok);
  }
  const CheckFields& check() const { return reader.body().checks[0]; }
};

TEST(CheckReader, ReadsTheLeast) {
  const Reading reading(R"({"key":"user_123","limit":100,"window":60})");
  ASSERT_TRUE(reading.ok) << reading.reader.problem().detail;
  EXPECT_EQ(reading.reader.body().checks.size(), 1u);
  EXPECT_FALSE(reading.reader.body().is_list);
  const CheckFields& check = reading.check();
  EXPECT_EQ(check.key, "user_123");
  EXPECT_EQ(check.key_json, "\"user_123\"");
  EXPECT_EQ(check.limit, 100);
  EXPECT_EQ(check.window, 60s);
  EXPECT_EQ(check.cost, 1);
  EXPECT_EQ(check.bucket, "");
  EXPECT_EQ(check.algorithm, Algorithm::kSlidingWindow);
  EXPECT_FALSE(check.has(CheckField::kRule));
}

TEST(CheckReader, ReadsTheMost) {
  const Reading reading(
      " {\t\"burst\" : 7 ,\r\n\"algorithm\":\"token_bucket\",\"cost\":-3,\"bucket\":\"b\\\"\","
      "\"window\":\"1h30m\",\"limit\":0,\"key\" : \"\\u00e9\\ud83d\\ude00\\n\\/\"  }\n");
  ASSERT_TRUE(reading.ok) << reading.reader.problem().detail;
  const CheckFields& check = reading.check();
  EXPECT_EQ(check.key, "\xC3\xA9\xF0\x9F\x98\x80\n/");
  EXPECT_EQ(check.key_json, "\"\\u00e9\\ud83d\\ude00\\n\\/\"");  // as it stood, and no more
  EXPECT_EQ(check.bucket, "b\"");
  EXPECT_EQ(check.window, 90min);
  EXPECT_EQ(check.limit, 0);
  EXPECT_EQ(check.cost, -3);
  EXPECT_EQ(check.burst, 7);
  EXPECT_EQ(check.algorithm, Algorithm::kTokenBucket);
}

TEST(CheckReader, ReadsAnotherKeyBetweenTheSameTexts) {
  const std::string begin = R"({"bucket":"b","key":")";
  const std::string end = R"(","limit":7,"window":"1m"})";
  expect_agreement(begin + "kept" + end, kSingle);
  for (const std::string_view key : {"", "k", "\\u0041", "\\", "a\\\\", "\"", "a\",\"cost\":\"",
                                     "\x7f", "\n", "\xC3\xA9", "\xff", "\",\"limit\":7"}) {
    expect_agreement(begin + std::string(key) + end, kSingle);
  }
  EXPECT_TRUE(expect_agreement(begin + std::string(kKeyMax, 'k') + end, kSingle));
  EXPECT_FALSE(expect_agreement(begin + std::string(kKeyMax + 1, 'k') + end, kSingle));
}

TEST(CheckReader, KeysAreAnyUnicode) {
  EXPECT_EQ(Reading(R"({"key":"\u0000","limit":1,"window":1})").check().key,
            std::string_view("\0", 1));
  EXPECT_EQ(Reading(R"({"key":" ","limit":1,"window":1})").check().key, " ");
  EXPECT_EQ(Reading(R"({"key":"{\"key\":1}","limit":1,"window":1})").check().key, R"({"key":1})");
  const std::string longest(kKeyMax, 'k');
  EXPECT_EQ(Reading("{\"key\":\"" + longest + "\",\"limit\":1,\"window\":1}").check().key, longest);
}

TEST(CheckReader, NamesMayBeEscaped) {
  const Reading reading(R"({"\u006bey":"a","limi\u0074":1,"window":1})");
  ASSERT_TRUE(reading.ok) << reading.reader.problem().detail;
  EXPECT_EQ(reading.check().key, "a");
}

TEST(CheckReader, ReadsWindowsInSecondsAndUnits) {
  const auto window = [](std::string_view text) {
    const Reading reading("{\"key\":\"a\",\"limit\":1,\"window\":" + std::string(text) + "}");
    EXPECT_TRUE(reading.ok) << text;
    return reading.ok ? reading.check().window : Duration{-1};
  };
  EXPECT_EQ(window("60"), 60s);
  EXPECT_EQ(window("0.25"), 250ms);
  EXPECT_EQ(window("6e1"), 60s);
  EXPECT_EQ(window("60.0"), 60s);
  EXPECT_EQ(window("\"1m\""), 60s);
  EXPECT_EQ(window("\"60\""), 60s);
  EXPECT_EQ(window("\"1\\u006d\""), 60s);
  EXPECT_EQ(window("-0"), 0s);  // not a window, but that is for Quota::make to say
  EXPECT_EQ(window("1000000001"), 1'000'000'001s);
}

TEST(CheckReader, ReadsARule) {
  const Reading reading(R"({"rule":"login","key":"a","cost":2})");
  ASSERT_TRUE(reading.ok) << reading.reader.problem().detail;
  EXPECT_TRUE(reading.check().has(CheckField::kRule));
  EXPECT_EQ(reading.check().rule, "login");
}

TEST(CheckReader, ReadsAList) {
  const Reading reading(
      R"({"checks":[{"key":"a","limit":1,"window":1},{"key":"b","rule":"r"}],"atomic":true})",
      kSingleOrList);
  ASSERT_TRUE(reading.ok) << reading.reader.problem().detail;
  const CheckBody& body = reading.reader.body();
  EXPECT_TRUE(body.is_list);
  EXPECT_TRUE(body.atomic);
  ASSERT_EQ(body.checks.size(), 2u);
  EXPECT_EQ(body.checks[0].key, "a");
  EXPECT_EQ(body.checks[1].key_json, "\"b\"");
  EXPECT_EQ(body.checks[1].rule, "r");
}

std::string list_of(std::size_t count) {
  std::string text = R"({"checks":[)";
  for (std::size_t i = 0; i < count; ++i) {
    text += (i > 0 ? "," : "") + std::string(R"({"key":"k)") + std::to_string(i) +
            R"(","limit":1,"window":1})";
  }
  return text + "]}";
}

TEST(CheckReader, ReadsAsManyAsAreAllowed) {
  const Reading reading(list_of(kChecksMax), kSingleOrList);
  ASSERT_TRUE(reading.ok) << reading.reader.problem().detail;
  ASSERT_EQ(reading.reader.body().checks.size(), kChecksMax);
  EXPECT_EQ(reading.reader.body().checks[255].key, "k255");
  // The list is wrong, none of its checks.
  const Reading too_long(list_of(kChecksMax + 1), kSingleOrList);
  EXPECT_FALSE(too_long.ok);
  EXPECT_EQ(too_long.reader.problem().field, "checks");
}

TEST(CheckReader, ForgetsTheLastBody) {
  Reading reading(R"({"checks":[{"key":"a","rule":"r"}],"atomic":true})", kSingleOrList);
  ASSERT_TRUE(reading.ok);
  std::string text = R"({"key":"b","limit":1,"window":1})";
  const std::size_t size = text.size();
  text.append(InputBuffer::kPadding, ' ');
  ASSERT_TRUE(reading.reader.read({text.data(), size, text.size()}, kSingleOrList));
  EXPECT_FALSE(reading.reader.body().is_list);
  EXPECT_FALSE(reading.reader.body().atomic);
  EXPECT_FALSE(reading.check().has(CheckField::kRule));
}

std::vector<std::string> usual_bodies() {
  std::vector<std::string> bodies{
      R"({"key":"user_123","limit":100,"window":60,"algorithm":"token_bucket","burst":7})",
      R"({"key": "a", "rule": "r", "tier": "t", "cost": 2, "charge": "drain", "mode": "local"})",
      R"({"window":"1h30m","limit":0,"bucket":"","key":"b"})"};
  for (const auto& file : std::filesystem::directory_iterator("../../../fuzz/corpus/check_body")) {
    std::ifstream in(file.path(), std::ios::binary);
    bodies.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return bodies;
}

TEST(CheckReader, BothReadersAgreeOnMutations) {
  const std::vector<std::string> bodies = usual_bodies();
  ASSERT_GT(bodies.size(), 10u);
  constexpr std::string_view kBytes("\0\t\n !\"',-.0159:[\\]aeklw{}~\x7f\x80\xc3\xff", 30);
  constexpr std::array<std::string_view, 10> kPieces = {
      "\"key\":",       ",",       " ",    "\"1m\"", "\"limit\":", "1000000000000",
      "\"rule\":\"r\"", "\\u0061", "null", "}"};
  Prng prng(1);
  int accepted = 0;
  for (int i = 0; i < 30'000; ++i) {
    const auto any = [&](std::size_t size) { return prng.below(static_cast<std::uint32_t>(size)); };
    std::string body = bodies[any(bodies.size())];
    for (std::uint32_t edits = any(4); edits > 0 && !body.empty(); --edits) {
      const std::size_t at = any(body.size());
      switch (any(4)) {
        case 0: body[at] = kBytes[any(kBytes.size())]; break;
        case 1: body.erase(at, 1 + any(3)); break;
        case 2: body.insert(at, kPieces[any(kPieces.size())]); break;
        default: body.insert(at, std::string(body, any(body.size()), 1 + any(12)));
      }
    }
    accepted += expect_agreement(body, any(2) == 0 ? kSingle : kSingleOrList, "}]\",:{0 "[any(8)]);
    if (HasFailure()) return;
  }
  EXPECT_GT(accepted, 3'000);
}

TEST(CheckReader, RefusesWhatIsNotJson) {
  for (const std::string_view text : {
           "",
           " ",
           "{",
           "}",
           "[]",
           "\"key\"",
           "null",
           "1",
           "key=a&limit=1&window=1",
           R"({"key":"a","limit":1,"window":1)",
           R"({"key":"a","limit":1,"window":1}})",
           R"({"key":"a","limit":1,"window":1} {})",
           R"({"key":"a","limit":1,"window":1},)",
           R"({"key":"a","limit":1,"window":1}x)",
           R"({"key":"a","limit":1,"window":1,})",
           R"({"key":"a",,"limit":1,"window":1})",
           R"({"key":"a" "limit":1,"window":1})",
           R"({"key","a","limit":1,"window":1})",
           R"({key:"a","limit":1,"window":1})",
           R"({'key':'a','limit':1,'window':1})",
           "{\"key\":\"a\nb\",\"limit\":1,\"window\":1}",
           "{\"key\":\"\xFF\",\"limit\":1,\"window\":1}",
           "{\"key\":\"\xC3\",\"limit\":1,\"window\":1}",
           "{\"key\":\"\xED\xA0\x80\",\"limit\":1,\"window\":1}",
           "\xEF\xBB\xBF{\"key\":\"a\",\"limit\":1,\"window\":1}",
           "{\"key\":\"a\",\"limit\":1,\"window\":1}\xFF",
       }) {
    const Reading reading(text);
    EXPECT_FALSE(reading.ok) << text;
    EXPECT_EQ(reading.reader.problem().status, 400);
    EXPECT_EQ(reading.reader.problem().kind, ProblemKind::kMalformedJson) << text;
    EXPECT_NE(reading.reader.problem().detail, "");
  }
}

TEST(CheckReader, NulBehindTheEndIsSomething) {
  const std::string_view text("{\"key\":\"a\",\"limit\":1,\"window\":1}\0", 33);
  EXPECT_FALSE(Reading(text).ok);
}

// Such as the next request.
TEST(CheckReader, WhatFollowsDoesNotMatter) {
  for (const std::string_view text : {
           R"({"key":"a","limit":1,"window":1})",
           R"({"key":"a","limit":1,"window":1)",
           R"({"key":"a","li&it":}}})",
           R"({"key":"a","limit":[1})",
           R"({"checks":[{"key":"a"}})",
           R"({"checks":[{"key":"a","rule":"r"})",
           R"({"checks":[{"key":"a","rule":"r"}])",
           R"({"key":"a)",
           "{",
           "",
       }) {
    const Reading reference(text, kSingleOrList);
    for (const char next : std::string_view("}],{[\":0x \0", 11)) {
      std::string padded = std::string(text) + std::string(InputBuffer::kPadding, next);
      CheckReader reader;
      const bool ok = reader.read({padded.data(), text.size(), padded.size()}, kSingleOrList);
      EXPECT_EQ(ok, reference.ok) << text << next;
      EXPECT_EQ(reader.problem().detail, reference.reader.problem().detail) << text << next;
      EXPECT_EQ(padded[text.size()], next);
    }
  }
}

struct Refusal {
  std::string_view text;
  std::string_view field;
  std::string_view expected;  // a part of it
};

void expect_refusal(const Refusal& c, CheckForm form) {
  const Reading reading(c.text, form);
  ASSERT_FALSE(reading.ok) << c.text;
  const Problem& problem = reading.reader.problem();
  EXPECT_EQ(problem.kind, ProblemKind::kInvalidField) << c.text;
  EXPECT_EQ(problem.status, 400);
  EXPECT_EQ(problem.field, c.field) << c.text;
  EXPECT_NE(problem.expected.find(c.expected), std::string::npos) << problem.expected;
  EXPECT_NE(problem.detail.find(c.field), std::string::npos) << problem.detail;
}

TEST(CheckReader, NamesTheKeyOrLimitAtFault) {
  constexpr std::string_view kInteger = "an integer from ";
  for (const Refusal& c : {
           Refusal{R"({})", "key", "a string of 1 to 4096 bytes, but the field is missing"},
           Refusal{R"({"key":"a"})", "limit", "missing"},
           Refusal{R"({"key":"a","limit":1})", "window", "missing"},
           Refusal{R"({"limit":1,"window":1})", "key", "missing"},

           Refusal{R"({"key":""})", "key", "1 to 4096 bytes"},
           Refusal{R"({"key":1})", "key", "a string"},
           Refusal{R"({"key":null})", "key", "a string"},
           Refusal{R"({"key":["a"]})", "key", "a string"},
           Refusal{R"({"key":{"a":1}})", "key", "a string"},
           Refusal{R"({"key":"\x"})", "key", "a string"},
           Refusal{R"({"key":"\ud800"})", "key", "a string"},
           Refusal{R"({"key":"\u12"})", "key", "a string"},

           Refusal{R"({"key":"a","limit":"1"})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":1.5})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":5.0})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":1e2})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":-1})", "limit", "from 0 to 1000000000000"},
           Refusal{R"({"key":"a","limit":1000000000001})", "limit", "to 1000000000000"},
           Refusal{R"({"key":"a","limit":9223372036854775808})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":99999999999999999999})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":true})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":null})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":[1]})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":01})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":+1})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":1x})", "limit", kInteger},
           Refusal{R"({"key":"a","limit":NaN})", "limit", kInteger},

       }) {
    expect_refusal(c, kSingle);
  }
}

TEST(CheckReader, NamesTheOtherFieldAtFault) {
  constexpr std::string_view kInteger = "an integer from ";
  constexpr std::string_view kDuration = "a number of seconds, or a text like \"1m\"";
  for (const Refusal& c : {
           Refusal{R"({"key":"a","limit":1,"window":-1})", "window", kDuration},
           Refusal{R"({"key":"a","limit":1,"window":-0.5})", "window", kDuration},
           Refusal{R"({"key":"a","limit":1,"window":"soon"})", "window", kDuration},
           Refusal{R"({"key":"a","limit":1,"window":"1 m"})", "window", kDuration},
           Refusal{R"({"key":"a","limit":1,"window":""})", "window", kDuration},
           Refusal{R"({"key":"a","limit":1,"window":1e400})", "window", kDuration},
           Refusal{R"({"key":"a","limit":1,"window":1e30})", "window", kDuration},
           Refusal{R"({"key":"a","limit":1,"window":NaN})", "window", kDuration},
           Refusal{R"({"key":"a","limit":1,"window":Infinity})", "window", kDuration},
           Refusal{R"({"key":"a","limit":1,"window":18446744073709551616})", "window", kDuration},
           Refusal{R"({"key":"a","limit":1,"window":false})", "window", kDuration},
           Refusal{R"({"key":"a","limit":1,"window":{}})", "window", kDuration},

           Refusal{R"({"cost":0.5})", "cost", "an integer from -1000000000000"},
           Refusal{R"({"cost":1000000000001})", "cost", kInteger},
           Refusal{R"({"cost":-1000000000001})", "cost", kInteger},
           Refusal{R"({"burst":0})", "burst", "from 1 to"},
           Refusal{R"({"burst":"5"})", "burst", kInteger},
           Refusal{R"({"bucket":5})", "bucket", "a string"},
           Refusal{R"({"algorithm":"leaky"})", "algorithm", "one of fixed_window, sliding_log, "},
           Refusal{R"({"algorithm":5})", "algorithm", "exponential_backoff, adaptive"},
           Refusal{R"({"rule":""})", "rule", "the id of a rule"},
           Refusal{R"({"rule":5})", "rule", "the id of a rule"},

           Refusal{R"({"key":"a","rule":"r","limit":1})", "limit", "it comes from the rule"},
           Refusal{R"({"window":1,"key":"a","rule":"r"})", "window", "it comes from the rule"},
           Refusal{R"({"key":"a","rule":"r","burst":1})", "burst", "it comes from the rule"},
           Refusal{R"({"key":"a","rule":"r","algorithm":"sliding_log"})", "algorithm", "the rule"},

           Refusal{R"({"key":"a","key":"a"})", "key", "only once"},
           Refusal{R"({"limit":1,"key":"a","limit":1})", "limit", "only once"},
           Refusal{R"({"key":"a","\u006bey":"a"})", "key", "only once"},

           Refusal{R"({"kee":"a"})", "kee", "key"},
           Refusal{R"({"Limit":1})", "Limit", "limit"},
           Refusal{R"({"":1})", "", "one of key, limit, window"},
           Refusal{R"({"rate":1})", "rate", "one of key, limit, window, bucket, cost"},
           Refusal{R"({"checks":[]})", "checks", "one of key, "},  // not by /check
       }) {
    expect_refusal(c, kSingle);
  }
}

TEST(CheckReader, NamesTheCheckAtFault) {
  for (const Refusal& c : {
           Refusal{R"({"checks":[]})", "checks", "an array of 1 to 256 checks"},
           Refusal{R"({"checks":{}})", "checks", "an array"},
           Refusal{R"({"checks":null})", "checks", "an array"},
           Refusal{R"({"checks":[1]})", "checks[0]", "an object"},
           Refusal{R"({"checks":[{"key":"a","rule":"r"},[]]})", "checks[1]", "an object"},
           Refusal{R"({"checks":[{}]})", "checks[0].key", "missing"},
           Refusal{R"({"checks":[{"key":"a","rule":"r"},{"key":"a","limit":-1}]})",
                   "checks[1].limit", "an integer"},
           Refusal{R"({"checks":[{"key":"a","rule":"r","limt":1}]})", "checks[0].limt", "limit"},
           Refusal{R"({"checks":[{"key":"a","checks":[]}]})", "checks[0].checks", "one of key"},
           Refusal{R"({"checks":[{"key":"a","rule":"r"}],"atomic":1})", "atomic", "true or false"},
           Refusal{R"({"checks":[{"key":"a","rule":"r"}],"checks":[]})", "checks", "only once"},
           Refusal{R"({"atomic":true,"atomic":true})", "atomic", "only once"},
           Refusal{R"({"checks":[{"key":"a","rule":"r"}],"key":"a"})", "key", "nothing"},
           Refusal{R"({"key":"a","checks":[]})", "checks", "nothing"},
           Refusal{R"({"atomic":true})", "key", "missing"},
           Refusal{R"({"chekcs":[]})", "chekcs", "checks"},
       }) {
    expect_refusal(c, kSingleOrList);
  }
  std::string seventeen = list_of(17);
  seventeen.insert(1, "\"atomic\":true,");
  expect_refusal({seventeen, "checks", "at most 16"}, kSingleOrList);
}

TEST(CheckReader, DepthAndSizeAreHarmless) {
  EXPECT_FALSE(Reading(std::string(500'000, '[')).ok);
  EXPECT_FALSE(Reading("{\"key\":" + std::string(500'000, '[')).ok);
  EXPECT_FALSE(Reading("{\"a\":" + std::string(500'000, '{')).ok);
  EXPECT_FALSE(Reading("{\"checks\":" + std::string(500'000, '['), kSingleOrList).ok);
  const Reading long_key("{\"key\":\"" + std::string(1'000'000, 'k') + "\"}");
  EXPECT_EQ(long_key.reader.problem().field, "key");
  const Reading long_name("{\"" + std::string(1'000'000, 'k') + "\":1}");
  EXPECT_EQ(long_name.reader.problem().field, "(a long name)");
  const Reading spaces(std::string(500'000, ' ') + R"({"key":"a","limit":1,"window":1})" +
                       std::string(500'000, '\n'));
  EXPECT_TRUE(spaces.ok);
}

// Changes one byte to every other value: the body is refused, or read as some check.
TEST(CheckReader, SurvivesEveryChangedByte) {
  const std::string text = R"({"key":"a\u00e9b","limit":10,"window":"1m","cost":1,)"
                           R"("bucket":"b","algorithm":"sliding_log"})";
  int accepted = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      const Reading reading(changed);
      if (!reading.ok) {
        EXPECT_EQ(reading.reader.problem().status, 400);
        continue;
      }
      ++accepted;
      EXPECT_TRUE(reading.check().key_json.starts_with('"'));
      EXPECT_TRUE(reading.check().key_json.ends_with('"'));
    }
  }
  EXPECT_GT(accepted, 500);  // the letters of the key and bucket
}

}  // namespace
}  // namespace weir
