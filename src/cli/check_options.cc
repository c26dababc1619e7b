#include "cli/check_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/duration_text.h"
#include "proto/json_writer.h"
#include "weir/quota.h"

namespace weir {
namespace {

namespace json = boost::json;

std::string mistake_in_algorithm(const std::string& name) {
  return algorithm_from_name(name) ? "" : "'" + name + "' is no algorithm";
}

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

std::string check_body(std::string_view key, const CheckRequest& fields) {
  JsonWriter json;
  const auto add_text = [&](std::string_view name, const std::optional<std::string>& text) {
    if (text) json.key(name).string(*text);
  };
  const auto add_number = [&](std::string_view name, const auto& number) {
    if (number) json.key(name).number(*number);
  };
  json.begin_object().key("key").string(key);
  add_text("rule", fields.rule);
  add_text("bucket", fields.bucket);
  add_number("limit", fields.limit);
  if (fields.window)
    json.key("window").number(std::chrono::duration<double>(*fields.window).count());
  add_text("algorithm", fields.algorithm);
  add_number("cost", fields.cost);
  add_number("burst", fields.burst);
  return json.end_object().text();
}

std::string mistake_in_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  if (duration && duration->count() > 0) return {};
  return "'" + text + "' is no duration" + (duration ? " above 0" : "") +
         "; write 60s, 1m or 1h30m";
}

void add_check_options(CLI::App& command, CheckRequest& fields) {
  command.add_option("--limit", fields.limit, "Units a window");
  command
      .add_option_function<std::string>(
          "--window", [&fields](const std::string& text) { fields.window = parse_duration(text); },
          "Length of the window, as in 1m")
      ->check(mistake_in_duration);
  command.add_option("--rule", fields.rule, "A rule of the server, instead of a limit");
  command.add_option("--bucket", fields.bucket, "Counts apart from other buckets");
  command.add_option("--cost", fields.cost, "Units to spend [1]; 0 only looks");
  command.add_option("--burst", fields.burst, "token_bucket: most units at once [the limit]");
  command.add_option("--algorithm", fields.algorithm, "How to count [sliding_window]")
      ->check(mistake_in_algorithm);
}

std::string in_words(double seconds) {
  const double count = std::ceil(seconds >= 1 ? seconds : seconds * 1'000);
  const auto shown = static_cast<std::int64_t>(std::clamp(count, -1e18, 1e18));
  return std::to_string(shown) + (seconds >= 1 ? " s" : " ms");
}

std::optional<CheckAnswer> read_answer(std::string_view text) try {
  const auto value = json::parse({text.data(), text.size()});
  const auto& answer = value.as_object();
  const bool allowed = answer.at("allowed").as_bool();
  return CheckAnswer{.allowed = allowed,
                     .text = allowed ? allowed_text(answer) : denied_text(answer)};
} catch (const std::exception&) {  // not JSON, or a field is missing or of another type
  return std::nullopt;
}

std::optional<std::string> read_problem(std::string_view text) try {
  const auto detail = json::parse({text.data(), text.size()}).as_object().at("detail");
  return std::string(std::string_view(detail.as_string()));
} catch (const std::exception&) {
  return std::nullopt;
}

}  // namespace weir
