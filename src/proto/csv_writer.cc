#include "proto/csv_writer.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

namespace weir {

CsvWriter::CsvWriter(std::vector<std::string_view> columns)
    : columns_(std::move(columns)), cells_(columns_.begin(), columns_.end()) {
  end_object();
}

CsvWriter& CsvWriter::end_object() {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (i > 0) text_ += ',';
    text_ += std::exchange(cells_[i], {});
  }
  text_ += "\r\n";
  return *this;
}

CsvWriter& CsvWriter::set(std::string_view column, std::string cell) {
  const auto found = std::ranges::find(columns_, column);
  if (found != columns_.end()) {
    cells_[static_cast<std::size_t>(found - columns_.begin())] = std::move(cell);
  }
  return *this;
}

std::string CsvWriter::cell_of(std::string_view text) {
  constexpr std::string_view kComputed = "=+-@\t\r";
  constexpr std::string_view kQuoted = "\",;\t\r\n '";
  const bool is_utf8 = simdjson::validate_utf8(text.data(), text.size());
  const auto is_shown = [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 ? is_utf8 : byte >= ' ' || c == '\t' || c == '\r' || c == '\n';
  };
  std::string cell;
  if (!text.empty() && kComputed.find(text.front()) != std::string_view::npos) cell += '\'';
  for (const char c : text) {
    cell += is_shown(c) ? c : '?';
    if (c == '"') cell += '"';
  }
  if (cell.find_first_of(kQuoted) == std::string::npos) return cell;
  return '"' + std::move(cell) + '"';
}

}  // namespace weir
