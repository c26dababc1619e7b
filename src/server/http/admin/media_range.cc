#include "server/http/admin/media_range.h"

#include "base/ascii.h"

#include <algorithm>

namespace weir {
namespace {

constexpr int kBest = 1000;

// "0.5" is 500. Any other text counts as 0.
int thousandths(std::string_view text) {
  if (text.empty() || (text[0] != '0' && text[0] != '1')) return 0;
  int value = (text[0] - '0') * kBest;
  if (text.size() > 1 && text[1] != '.') return 0;
  int digit_worth = kBest / 10;
  for (std::size_t i = 2; i < text.size() && digit_worth > 0; ++i, digit_worth /= 10) {
    if (text[i] < '0' || text[i] > '9') return 0;
    value += (text[i] - '0') * digit_worth;
  }
  return std::min(value, kBest);
}

int quality_parameter(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = take_until(parameters, ';');
    const std::string_view name = trim_blanks(take_until(value, '='));
    if (equal_ignoring_case(name, "q")) return thousandths(trim_blanks(value));
  }
  return kBest;
}

// 3 for the type itself, 2 for "text/*", 1 for "*/*", or "*" of a coding, 0 for another.
int fit(std::string_view range, std::string_view type) {
  if (equal_ignoring_case(range, type)) return 3;
  const auto slash = type.find('/') + 1;
  if (range == (slash == 0 ? "*" : "*/*")) return 1;
  if (range.size() == slash + 1 && range.back() == '*' &&
      equal_ignoring_case(range.substr(0, slash), type.substr(0, slash))) {
    return 2;
  }
  return 0;
}

}  // namespace

int quality_of(std::string_view accept, std::string_view type) {
  if (trim_blanks(accept).empty()) return kBest;
  int best_fit = 0;
  int quality = 0;
  while (!accept.empty()) {
    std::string_view parameters = take_until(accept, ',');
    const int range_fit = fit(trim_blanks(take_until(parameters, ';')), type);
    if (range_fit <= best_fit) continue;
    best_fit = range_fit;
    quality = quality_parameter(parameters);
  }
  return quality;
}

}  // namespace weir
