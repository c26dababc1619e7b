#include "server/http/console/content_coding.h"

#include "base/ascii.h"

namespace weir {
namespace {

// "0", "0.0", "0.00" and "0.000"; anything else that a client writes is more than nothing.
bool is_zero(std::string_view weight) {
  return weight.starts_with('0') && weight.find_first_not_of("0.") == std::string_view::npos;
}

bool refuses(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = take_until(parameters, ';');
    const std::string_view name = trim_blanks(take_until(value, '='));
    if (equal_ignoring_case(name, "q")) return is_zero(trim_blanks(value));
  }
  return false;
}

}  // namespace

bool accepts_coding(std::string_view accept_encoding, std::string_view coding) {
  bool accepts_others = false;
  while (!accept_encoding.empty()) {
    std::string_view parameters = take_until(accept_encoding, ',');
    const std::string_view name = trim_blanks(take_until(parameters, ';'));
    if (equal_ignoring_case(name, coding)) return !refuses(parameters);
    if (name == "*") accepts_others = !refuses(parameters);
  }
  return accepts_others;
}

}  // namespace weir
