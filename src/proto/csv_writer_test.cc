#include "proto/csv_writer.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;
using Rows = std::vector<std::vector<std::string>>;

std::string cell(std::string_view text) {
  CsvWriter csv({"a"});
  return csv.begin_object().field("a", text).end_object().text().substr(3);
}

// Reads RFC 4180, written independently of the writer.
Rows read(std::string_view text) {
  Rows rows(1, {""});
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& last = rows.back().back();
    if (is_quoted) {
      if (c != '"') {
        last += c;
      } else if (text.substr(i + 1, 1) == "\"") {
        last += text[++i];
      } else {
        is_quoted = false;
      }
    } else if (c == '"') {
      is_quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (text.substr(i, 2) == "\r\n") {
      ++i;
      rows.push_back({""});
    } else {
      last += c;
    }
  }
  rows.pop_back();
  return rows;
}

TEST(CsvWriter, WritesRowsInTheOrderOfTheColumns) {
  CsvWriter csv({"rule", "times", "wait", "shadow"});
  csv.begin_object().field("times", 3).field("rule", "login").field("other", 1).end_object();
  csv.begin_object().field("shadow", true).field("wait", Duration(1500ms));
  csv.field("rule", std::optional<std::string>()).end_object();
  EXPECT_EQ(csv.text(), "rule,times,wait,shadow\r\nlogin,3,,\r\n,,1.5,true\r\n");
}

TEST(CsvWriter, QuotesWhatWouldEndACell) {
  EXPECT_EQ(cell("a,b"), "\"a,b\"\r\n");
  EXPECT_EQ(cell("a\"b"), "\"a\"\"b\"\r\n");
  EXPECT_EQ(cell("a\nb"), "\"a\nb\"\r\n");
  EXPECT_EQ(cell("plain"), "plain\r\n");
}

TEST(CsvWriter, ASpreadsheetComputesNothing) {
  for (const std::string_view text : {"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"}) {
    EXPECT_EQ(cell(text).find('\''), 1u) << text;
  }
  CsvWriter csv({"a"});
  EXPECT_EQ(csv.field("a", -1).end_object().text(), "a\r\n-1\r\n") << "a number is none";
}

RC_GTEST_PROP(CsvWriter, WhateverACellSaysItIsOneCell, (const std::string& text)) {
  CsvWriter csv({"a", "b"});
  const Rows rows = read(csv.field("a", text).field("b", text).end_object().text());
  RC_ASSERT(rows.size() == 2u);
  RC_ASSERT(rows[1].size() == 2u);
  RC_ASSERT(rows[1][0] == rows[1][1]);
  RC_ASSERT(rows[1][0].size() >= text.size());
  RC_ASSERT(rows[1][0].empty() ||
            std::string_view("=+-@\t\r").find(rows[1][0][0]) == std::string_view::npos);
  RC_ASSERT(rows[1][0].find('\0') == std::string::npos);
}

}  // namespace
}  // namespace weir
