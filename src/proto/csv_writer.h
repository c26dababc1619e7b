// CsvWriter: rows of a table in the form of RFC 4180, for people who open them in a spreadsheet.
//
//   CsvWriter csv({"rule", "times"});
//   csv.begin_object().field("times", 3).field("rule", "a,b").end_object();
//   csv.text()  ->  rule,times\r\n"a,b",3\r\n
//
// A row is written like an object of JsonWriter, so that one function writes both. Fields may come
// in any order; a column without a field is empty, and a field without a column is left out. A text
// that a spreadsheet would compute gets an apostrophe in front. '?' replaces control characters
// and, as in JsonWriter, bytes that are not UTF-8.
//
// Thread rule: a value. Tested by csv_writer_test.cc.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json_writer.h"

namespace weir {

class CsvWriter {
 public:
  explicit CsvWriter(std::vector<std::string_view> columns);

  CsvWriter& begin_object() { return *this; }
  CsvWriter& end_object();

  template <typename T>
  CsvWriter& field(std::string_view column, const T& value) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      return set(column, cell_of(value));
    } else {
      JsonWriter json;  // except for braces, numbers are written alike
      json.field({}, value);
      return set(column, json.text().substr(3));
    }
  }
  template <typename T>
  CsvWriter& field(std::string_view column, const std::optional<T>& value) {
    return value ? field(column, *value) : *this;
  }

  const std::string& text() const { return text_; }

 private:
  static std::string cell_of(std::string_view text);
  CsvWriter& set(std::string_view column, std::string cell);

  const std::vector<std::string_view> columns_;
  std::vector<std::string> cells_;
  std::string text_;
};

}  // namespace weir
