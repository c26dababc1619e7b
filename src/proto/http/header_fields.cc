#include "proto/http/header_fields.h"

#include "base/ascii.h"

namespace weir::http1 {

void read_header_fields(std::string_view head, std::vector<NameValue>& fields) {
  constexpr std::string_view kLineEnd = "\r\n";
  auto line_end = head.find(kLineEnd);  // of the request line
  while (line_end != std::string_view::npos) {
    head.remove_prefix(line_end + kLineEnd.size());
    line_end = head.find(kLineEnd);
    const std::string_view line = head.substr(0, line_end);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;  // the empty line
    fields.push_back({.name = line.substr(0, colon), .value = trim_blanks(line.substr(colon + 1))});
  }
}

}  // namespace weir::http1
