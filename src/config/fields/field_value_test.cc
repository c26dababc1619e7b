#include "config/fields/field_value.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/quota.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;

YamlNode plain(std::string_view text) {
  YamlNode node;
  node.kind = YamlNode::Kind::kText;
  node.text = text;
  return node;
}

YamlNode quoted(std::string_view text) {
  YamlNode node = plain(text);
  node.style = YamlNode::Style::kQuoted;
  return node;
}

YamlNode of_kind(YamlNode::Kind kind) {
  YamlNode node;
  node.kind = kind;
  return node;
}

const Field& rule_field(std::string_view name) { return *kRuleSection.find(name); }

CheckedValue check(std::string_view field, const YamlNode& node) {
  return check_value(rule_field(field), node);
}

TEST(FieldValue, ReadsWholeNumbers) {
  EXPECT_EQ(check("limit", plain("0")).value, FieldValue(std::int64_t{0}));
  EXPECT_EQ(check("limit", plain("1000000000000")).value, FieldValue(std::int64_t{kLimitMax}));
  for (const std::string_view text : {"", "-", "+5", "05", "5.0", "1e3", "0x5", "0o5", "1_000",
                                      "five", "5 ", "--5", "\xD9\xA3"}) {
    EXPECT_THAT(check("limit", plain(text)).mistake, HasSubstr("must be a whole number")) << text;
  }
  for (const std::string_view text :
       {"-1", "1000000000001", "9223372036854775808", "-9223372036854775809"}) {
    EXPECT_THAT(check("limit", plain(text)).mistake,
                HasSubstr("must be from 0 to 1000000000000, but is " + std::string(text)));
  }
  EXPECT_THAT(check("limit", quoted("5")).mistake, EndsWith("the text '5'; remove the quotes"));
  for (const std::string_view text : {"+5", "0x5", "5.0", "1e3"}) {
    EXPECT_THAT(check("limit", plain(text)).mistake, EndsWith("; write plain decimal digits"));
  }
  EXPECT_THAT(check("limit", quoted("2.5")).mistake, EndsWith("the text '2.5'"));
}

TEST(FieldValue, ReadsBooleansOfTheCoreSchema) {
  for (const std::string_view text : {"true", "True", "TRUE"}) {
    EXPECT_EQ(check("enabled", plain(text)).value, FieldValue(true)) << text;
  }
  for (const std::string_view text : {"false", "False", "FALSE"}) {
    EXPECT_EQ(check("enabled", plain(text)).value, FieldValue(false)) << text;
  }
  EXPECT_THAT(check("enabled", plain("yes")).mistake, EndsWith("; write true"));
  EXPECT_THAT(check("enabled", plain("Off")).mistake, EndsWith("; write false"));
  EXPECT_THAT(check("enabled", quoted("true")).mistake, EndsWith("; remove the quotes"));
  EXPECT_THAT(check("enabled", plain("tRUE")).mistake, EndsWith("the text 'tRUE'"));
}

TEST(FieldValue, ReadsChoices) {
  EXPECT_EQ(check("algorithm", plain("token_bucket")).value,
            FieldValue(std::string("token_bucket")));
  EXPECT_EQ(check("algorithm", quoted("sliding_log")).value,
            FieldValue(std::string("sliding_log")));
  EXPECT_THAT(check("algorithm", plain("TokenBucket")).mistake,
              EndsWith("; did you mean 'token_bucket'?"));
}

TEST(FieldValue, ReadsNames) {
  const std::string longest(64, 'x');
  for (const std::string& text : {std::string("login"), std::string("A-z_0.9:b"), longest}) {
    EXPECT_EQ(check("id", plain(text)).value, FieldValue(text));
  }
  EXPECT_EQ(check("id", quoted("404")).value, FieldValue(std::string("404")));
  for (const std::string_view text :
       {"404", "1.5", "-1", "1e3", "0x1F", ".inf", ".NaN", "true", "False"}) {
    EXPECT_THAT(check("id", plain(text)).mistake, EndsWith("; put it in quotes to make it a text"))
        << text;
  }
  for (const std::string_view text : {"", "a b", "a/b", "a\nb", "caf\xC3\xA9", "a,b"}) {
    EXPECT_THAT(check("id", quoted(text)).mistake, HasSubstr("must be a text of 1 to 64")) << text;
  }
  EXPECT_THAT(check("id", plain(longest + "x")).mistake, EndsWith("; these are 65"));
}

TEST(FieldValue, TakesWordsForWordsEvenIfTheyLookLikeNumbers) {
  for (const std::string_view text : {"infinity", "nan", "e5", "0xyz", "1.2.3", "-", "."}) {
    EXPECT_EQ(check("id", plain(text)).value, FieldValue(std::string(text))) << text;
  }
}

TEST(FieldValue, ReadsDurations) {
  EXPECT_EQ(check("window", plain("1h30m")).value, FieldValue(Duration(90min)));
  EXPECT_EQ(check("window", quoted("1h30m")).value, FieldValue(Duration(90min)));
  EXPECT_EQ(check("window", plain("0.001")).value, FieldValue(Duration(1ms)));
  EXPECT_EQ(check("window", plain("366d")).value, FieldValue(Duration(366 * 24h)));
  EXPECT_THAT(check("window", plain("0.000999")).mistake,
              EndsWith("must be from 1ms to 366d, but is 0.000999"));
  EXPECT_THAT(check("window", plain("367d")).mistake,
              EndsWith("must be from 1ms to 366d, but is 367d"));
  EXPECT_THAT(check("window", plain("1.5h")).mistake, HasSubstr("; the units are w, d, h"));
  EXPECT_THAT(check("window", plain("0.0000001")).mistake, EndsWith("; six decimals at most"));
  EXPECT_THAT(check("window", plain("soon")).mistake, EndsWith("the text 'soon'"));
}

TEST(FieldValue, SaysWhatItFound) {
  EXPECT_EQ(found_text(of_kind(YamlNode::Kind::kEmpty)), "empty");
  EXPECT_EQ(found_text(of_kind(YamlNode::Kind::kList)), "a list");
  EXPECT_EQ(found_text(of_kind(YamlNode::Kind::kMap)), "a map");
  EXPECT_EQ(found_text(plain("5")), "5");
  EXPECT_EQ(found_text(plain("true")), "true");
  EXPECT_EQ(found_text(plain("ten")), "the text 'ten'");
  EXPECT_EQ(found_text(quoted("5")), "the text '5'");
}

TEST(FieldValue, WantsTheRightKindOfNode) {
  for (const Field& field : kRuleSection.fields) {
    const bool takes_collections = field.type == FieldType::kSection ||
                                   field.type == FieldType::kSectionList ||
                                   field.type == FieldType::kTextList;
    if (takes_collections) continue;
    for (const auto kind : {YamlNode::Kind::kEmpty, YamlNode::Kind::kList, YamlNode::Kind::kMap}) {
      EXPECT_EQ(check_value(field, of_kind(kind)).mistake,
                "'" + std::string(field.name) + "' must be " + expected_text(field) + ", but is " +
                    found_text(of_kind(kind)));
    }
  }
}

TEST(FieldValue, TakesAnEmptySectionForAnAbsentOne) {
  const Field& rules = *kConfigSection.find("rules");
  const YamlNode list = of_kind(YamlNode::Kind::kList);
  EXPECT_EQ(check_value(rules, list).value, FieldValue(&list));
  EXPECT_EQ(check_value(rules, of_kind(YamlNode::Kind::kEmpty)).mistake, "");
  EXPECT_NE(check_value(rules, of_kind(YamlNode::Kind::kMap)).mistake, "");
  EXPECT_NE(check_value(rules, plain("x")).mistake, "");
}

}  // namespace
}  // namespace weir
