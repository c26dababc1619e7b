#include "cli/check_answer.h"

#include <boost/json.hpp>
#include <cmath>
#include <cstdint>

namespace weir {
namespace {

namespace json = boost::json;

std::string allowed_text(const json::object& answer) {
  auto text = "allowed, " + std::to_string(answer.at("remaining").to_number<std::int64_t>()) +
              " of " + std::to_string(answer.at("limit").to_number<std::int64_t>()) + " left";
  const auto reset_after = answer.at("reset_after").to_number<double>();
  if (reset_after > 0) text += ", full again in " + in_words(reset_after);
  return text;
}

std::string denied_text(const json::object& answer) {
  if (answer.at("retry_after").is_null()) {
    return "denied, more than " + std::to_string(answer.at("limit").to_number<std::int64_t>()) +
           " are never allowed at once";
  }
  auto text = "denied, retry after " + in_words(answer.at("retry_after").to_number<double>());
  const auto level = answer.at("backoff_level").to_number<int>();
  if (level > 0) text += ", backoff level " + std::to_string(level);
  return text;
}

}  // namespace

std::string in_words(double seconds) {
  if (seconds >= 1) return std::to_string(static_cast<std::int64_t>(std::ceil(seconds))) + " s";
  return std::to_string(static_cast<std::int64_t>(std::ceil(seconds * 1'000))) + " ms";
}

std::optional<CheckAnswer> read_answer(std::string_view text) try {
  const auto value = json::parse({text.data(), text.size()});
  const auto& answer = value.as_object();
  const bool allowed = answer.at("allowed").as_bool();
  return CheckAnswer{.allowed = allowed,
                     .text = allowed ? allowed_text(answer) : denied_text(answer)};
} catch (const std::exception&) {  // not JSON, or a field missing or of another type
  return std::nullopt;
}

std::optional<std::string> read_problem(std::string_view text) try {
  const auto detail = json::parse({text.data(), text.size()}).as_object().at("detail");
  return std::string(std::string_view(detail.as_string()));
} catch (const std::exception&) {
  return std::nullopt;
}

}  // namespace weir
