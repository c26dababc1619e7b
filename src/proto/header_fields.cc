#include "proto/header_fields.h"

namespace weir::http1 {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

}  // namespace

void read_header_fields(std::string_view head, std::vector<NameValue>& fields) {
  constexpr std::string_view kLineEnd = "\r\n";
  auto line_end = head.find(kLineEnd);  // of the request line
  while (line_end != std::string_view::npos) {
    head.remove_prefix(line_end + kLineEnd.size());
    line_end = head.find(kLineEnd);
    const std::string_view line = head.substr(0, line_end);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;  // the empty line
    fields.push_back({.name = line.substr(0, colon), .value = trimmed(line.substr(colon + 1))});
  }
}

}  // namespace weir::http1
