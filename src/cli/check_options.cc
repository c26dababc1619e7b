#include "cli/check_options.h"

#include <CLI/CLI.hpp>
#include <chrono>

#include "base/duration_text.h"
#include "proto/json_writer.h"
#include "weir/quota.h"

namespace weir {
namespace {

std::string mistake_in_algorithm(const std::string& name) {
  return algorithm_from_name(name) ? "" : "'" + name + "' is no algorithm";
}

}  // namespace

std::string check_body(std::string_view key, const CheckFields& fields) {
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
  const bool is_length = duration && duration->count() > 0;
  return is_length ? "" : "'" + text + "' is no duration; write 60s, 1m or 1h30m";
}

void add_check_options(CLI::App& command, CheckFields& fields) {
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

}  // namespace weir
