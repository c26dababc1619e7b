#include "config/yaml/yaml_document.h"

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace weir {
namespace {

YamlDocument parse(std::string_view text) {
  auto parsed = YamlDocument::parse(text);
  EXPECT_TRUE(parsed.has_value()) << (!parsed ? parsed.error().message : "");
  return parsed ? *std::move(parsed) : YamlDocument();
}

std::string error_of(std::string_view text) {
  const auto parsed = YamlDocument::parse(text);
  if (parsed) return "";
  return std::to_string(parsed.error().place.line) + ":" +
         std::to_string(parsed.error().place.column) + " " + parsed.error().message;
}

TEST(YamlDocument, IsATreeWithPlaces) {
  const YamlDocument document = parse("a: 1\nb:\n  - x\n  - 'y'\n");
  const YamlNode& root = *document.root();
  ASSERT_EQ(root.kind, YamlNode::Kind::kMap);
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.entries[0].key->text, "a");
  EXPECT_EQ(root.entries[0].value->text, "1");
  EXPECT_EQ(root.entries[0].value->place, (TextPlace{1, 4}));

  const YamlNode& list = *root.entries[1].value;
  ASSERT_EQ(list.kind, YamlNode::Kind::kList);
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[0]->style, YamlNode::Style::kPlain);
  EXPECT_EQ(list.items[1]->style, YamlNode::Style::kQuoted);
  EXPECT_EQ(list.items[1]->place, (TextPlace{4, 5}));
}

TEST(YamlDocument, StaysValidWhenMoved) {
  YamlDocument first = parse("a: [b]\n");
  const YamlDocument second = std::move(first);
  EXPECT_EQ(second.root()->entries[0].value->items[0]->text, "b");
}

TEST(YamlDocument, KeepsDuplicateKeys) {
  EXPECT_EQ(parse("a: 1\na: 2\n").root()->entries.size(), 2u);
}

TEST(YamlDocument, KnowsEmptyFromText) {
  const YamlDocument document = parse("a:\nb: ~\nc: null\nd: ''\n");
  const auto& entries = document.root()->entries;
  ASSERT_EQ(entries.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(entries[i].value->kind, YamlNode::Kind::kEmpty);
  EXPECT_EQ(entries[3].value->kind, YamlNode::Kind::kText);
  EXPECT_EQ(parse("").root(), nullptr);
  EXPECT_EQ(parse("# only a comment").root(), nullptr);
}

TEST(YamlDocument, SharesAliasedNodes) {
  const YamlDocument document = parse("a: &x [1]\nb: *x\n");
  const auto& entries = document.root()->entries;
  EXPECT_EQ(entries[0].value, entries[1].value);
}

// `levels` lists; each list has ten times the items of the list before it.
std::string lists_of_aliases(int levels) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < levels; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias;
    for (int j = 1; j < 10; ++j) text += ", " + alias;
    text += "]\n";
  }
  return text;
}

// A reader that walks them all would walk ten to the power of nine items.
TEST(YamlDocument, IsNotBlownUpByAliases) {
  EXPECT_EQ(parse(lists_of_aliases(5)).root()->entries.size(), 5u);
  EXPECT_EQ(error_of(lists_of_aliases(9)),
            "6:55 with each alias written out these are more than 1000000 values; write fewer");
}

TEST(YamlDocument, RefusesCycles) {
  EXPECT_EQ(error_of("a: &x [*x]\n"), "1:8 this alias stands inside of what it refers to");
  EXPECT_EQ(error_of("&x a: {b: *y}\n").find("1:11 this alias refers to an anchor"), 0u);
}

TEST(YamlDocument, IsBoundedInDepth) {
  const std::string fits = std::string(kYamlDepthMax, '[') + std::string(kYamlDepthMax, ']');
  EXPECT_EQ(error_of(fits), "");
  EXPECT_NE(error_of("[" + fits + "]"), "");
  // Each of these would overflow the stack of a parser that recurses without a bound.
  constexpr std::size_t kLevels = 50'000;
  for (const std::string_view unit : {"[", "{", "- ", "? ", ": ", "[{", "{[", "[? "}) {
    std::string text;
    for (std::size_t i = 0; i < kLevels; ++i) text += unit;
    EXPECT_NE(error_of(text).find("nested more than 64 levels deep"), std::string::npos) << unit;
  }
  std::string staircase;
  for (std::size_t i = 0; i < 1'000; ++i) staircase += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(error_of(staircase), "65:65 nested more than 64 levels deep");
}

TEST(YamlDocument, IsBoundedInNodes) {
  std::string text = "[";
  for (std::size_t i = 0; i < kYamlNodesMax; ++i) text += "1,";
  EXPECT_NE(error_of(text + "]").find("more than 250000 values"), std::string::npos);
}

TEST(YamlDocument, IsBoundedInBytes) {
  EXPECT_EQ(error_of(std::string(kYamlBytesMax, '\n')), "");
  EXPECT_NE(error_of(std::string(kYamlBytesMax + 1, '\n')), "");
}

// yaml-cpp 0.7 offers such a comma as one empty document after another, without end.
TEST(YamlDocument, EndsAtAStrayComma) {
  EXPECT_NE(error_of("- :\n,\"limit: 5}\n"), "");
  EXPECT_NE(error_of(","), "");
}

TEST(YamlDocument, FindsTheQuoteThatIsNotClosed) {
  // yaml-cpp 0.7 reads each of these to the end of the file without a complaint.
  EXPECT_EQ(error_of("a: \"b\nc: d\n"), "1:4 this quote is not closed on its line");
  EXPECT_EQ(error_of("a: 'b\n"), "1:4 this quote is not closed on its line");
  EXPECT_EQ(error_of("a: &x 'b\n"), "1:7 this quote is not closed on its line");
  EXPECT_EQ(error_of("a: 'it''s\n"), "1:4 this quote is not closed on its line");
  EXPECT_EQ(error_of("a: \"b\\\"\n"), "1:4 this quote is not closed on its line");
  EXPECT_EQ(error_of("a: 'it''s'\n"), "");
  EXPECT_EQ(error_of("a: \"b\\\"c\"\n"), "");
  EXPECT_EQ(error_of("a: \"b\\\\\"\n"), "");
  EXPECT_EQ(error_of("a: it's\n"), "");
  EXPECT_EQ(error_of("a: |  # it's\n  text\n"), "");
}

TEST(YamlText, IsUtf8) {
  EXPECT_EQ(error_of("a: gr\xC3\xB6\xC3\x9F\x65 \xE2\x82\xAC \xF0\x9F\x9A\xA6\n"), "");
  for (const std::string_view bad :
       {"\x80", "\xC3", "\xC3(", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xE2\x82",
        "\xF0\x82\x82\xAC", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE", "\xFF"}) {
    const std::string error = error_of("x: 1\ny: " + std::string(bad));
    EXPECT_EQ(error.find("2:4 byte 0x"), 0u) << error;
  }
}

TEST(YamlText, HasNoControlCharacters) {
  EXPECT_EQ(error_of(std::string("a: b\0c", 6)),
            "1:5 control character 0x00 in the file; "
            "remove it");
  EXPECT_EQ(error_of("a: b\x04"), "1:5 control character 0x04 in the file; remove it");
  EXPECT_EQ(error_of("a: b\x7F"), "1:5 control character 0x7F in the file; remove it");
  EXPECT_EQ(error_of("a: b\r\nc: d\r\n"), "");
  EXPECT_EQ(error_of("a: b\rc: d"),
            "1:5 a carriage return without a newline; end lines with a newline");
}

TEST(YamlText, IsIndentedWithSpaces) {
  EXPECT_EQ(error_of("a:\n\tb: 1\n"), "2:1 a tab in the indentation; YAML wants spaces");
  EXPECT_EQ(error_of("a:\n  \tb: 1\n"), "2:3 a tab in the indentation; YAML wants spaces");
  EXPECT_EQ(error_of("a:\t'1'\n\t\n \t# comment\n\t\r\n"), "");
}

TEST(Printable, IsOneShortLine) {
  EXPECT_EQ(printable("login"), "login");
  EXPECT_EQ(printable("gr\xC3\xB6\xC3\x9F\x65"), "gr\xC3\xB6\xC3\x9F\x65");
  EXPECT_EQ(printable("a\nb\x1B[31m\x7F"), "a?b?[31m?");
  EXPECT_EQ(printable("a\xC2\x9B\xFFz"), "a??z");
  EXPECT_EQ(printable("a\u202Eb\u2066c\u2069d\u200Fe\u061Cf\u2028g"), "a?b?c?d?e?f?g");
  EXPECT_EQ(printable("a\u200Db\u2010c\u202Fd\u2070"), "a\u200Db\u2010c\u202Fd\u2070");
  EXPECT_EQ(printable(std::string(60, 'x')), std::string(60, 'x'));
  EXPECT_EQ(printable(std::string(61, 'x')), std::string(60, 'x') + "...");
}

}  // namespace
}  // namespace weir
