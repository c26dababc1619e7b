#include "replay/condition.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace weir::lab {
namespace {

namespace json = boost::json;

// What may be counted, in the report: of the new rules, where there are some.
struct Figure {
  std::string_view name;
  std::string_view place;  // within "change"; empty: of the rules
  std::string_view field;
  std::string_view whole;
};
constexpr std::array kFigures = {
    Figure{"denied_requests", "", "denied", "requests"},
    Figure{"denied_keys", "", "denied_keys", "keys"},
    Figure{"newly_denied_requests", "newly_denied", "requests", "requests"},
    Figure{"newly_denied_keys", "newly_denied", "keys", "keys"},
    Figure{"newly_allowed_requests", "newly_allowed", "requests", "requests"},
    Figure{"newly_allowed_keys", "newly_allowed", "keys", "keys"},
};

double figure_in(const json::object& report, const Figure& figure, const json::object& rules) {
  if (figure.place.empty()) return rules.at(figure.field).to_number<double>();
  const json::value& value = report.at("change").at(figure.place).at(figure.field);
  return (value.is_object() ? value.at("count") : value).to_number<double>();
}

}  // namespace

Result<Condition, std::string> parse_condition(const std::string& text, Compares compares) {
  const auto sign = text.find('>');
  Condition condition{.text = text, .name = text.substr(0, sign)};
  const auto* const figure = std::ranges::find(kFigures, condition.name, &Figure::name);
  if (sign == std::string::npos || figure == kFigures.end()) {
    return "'" + text +
           "' is no condition; write denied_requests, denied_keys, "
           "newly_denied_requests, newly_denied_keys, newly_allowed_requests or "
           "newly_allowed_keys, '>' and a number or a percentage";
  }
  if (!figure->place.empty() && compares == Compares::kNo) {
    return "'" + text + "' needs --against";
  }
  std::string_view number = std::string_view(text).substr(sign + 1);
  condition.is_share = number.ends_with('%');
  if (condition.is_share) number.remove_suffix(1);
  const auto* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, condition.most);
  if (error != std::errc() || stop != end || !(condition.most >= 0)) {
    return "'" + text + "' ends in no number";
  }
  return condition;
}

bool holds(const Condition& condition, const json::object& report) {
  const auto& figure = *std::ranges::find(kFigures, condition.name, &Figure::name);
  const bool compares = report.contains("against");
  const json::object& rules = report.at(compares ? "against" : "rules").as_object();
  const double value = figure_in(report, figure, rules);
  if (!condition.is_share) return value > condition.most;
  const double whole = rules.at(figure.whole).to_number<double>();
  return whole > 0 && 100 * value / whole > condition.most;
}

}  // namespace weir::lab
