// weir denials: what a running server has denied lately, and why.

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "cli/admin/admin_client.h"
#include "cli/check_options.h"
#include "cli/commands.h"

namespace weir {
namespace {

namespace json = boost::json;

constexpr auto kFollowEvery = std::chrono::seconds(1);

struct DenialOptions {
  AdminClient client;
  std::string rule;
  std::string key;
  std::string since = "10m";
  int limit = 100;
  bool follow = false;
};

std::string path_of(const DenialOptions& options, std::int64_t after) {
  auto path = "/admin/denials?limit=" + std::to_string(options.limit) + "&since=" + options.since;
  if (!options.rule.empty()) path += "&rule=" + escaped(options.rule);
  if (!options.key.empty()) path += "&key=" + escaped(options.key);
  if (options.follow) path += "&after=" + std::to_string(after);
  return path;
}

std::string line_of(const json::object& denial) {
  const auto field = [&](const char* name) { return text_of(denial.at(name)); };
  auto line =
      field("at") + "  " + left(denial.at("rule").is_null() ? "no rule" : field("rule"), 16);
  line += "  " + left(field(denial.contains("key") ? "key" : "hash"), 18) + "  " + field("cause");
  line += ", " + field("remaining") + " of " + field("limit") + " left, cost " + field("cost");
  const auto& wait = denial.at("retry_after");
  if (!wait.is_null()) line += ", again in " + in_words(wait.to_number<double>());
  if (!denial.at("status").is_null()) line += ", status " + field("status");
  if (denial.at("shadow").as_bool()) line += ", shadow: let pass";
  if (denial.at("times").to_number<std::int64_t>() > 1) line += ", " + field("times") + " times";
  return line + "\n";
}

// The earliest first.
std::string lines_of(const json::value& said, std::int64_t& next) {
  const auto& denials = said.at("denials").as_array();
  std::string lines;
  for (auto denial = denials.rbegin(); denial != denials.rend(); ++denial) {
    lines += line_of(denial->as_object());
  }
  const auto* const left_out = said.as_object().if_contains("forgotten");  // older nodes do not say
  const auto forgotten = left_out == nullptr ? 0 : left_out->to_number<std::int64_t>();
  if (forgotten > 0) {
    lines += std::to_string(forgotten) +
             " denials of all rules and keys have no line: " + "there were too many in a second\n";
  }
  next = said.at("next").to_number<std::int64_t>();
  return lines;
}

// Until somebody ends it, or the server does.
void show_denials(const DenialOptions& options) {
  std::int64_t next = 0;
  for (;;) {
    options.client.show({.url = path_of(options, next)},
                        [&](const json::value& said) { return lines_of(said, next); });
    if (!options.follow) return;
    std::cout.flush();
    std::this_thread::sleep_for(kFollowEvery);
  }
}

}  // namespace

void add_denials_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "denials", "Show what a running server has denied lately, and why; exit code 2: no answer");
  const auto options = std::make_shared<DenialOptions>();
  command->add_option("--rule", options->rule, "Denials of this rule alone");
  command->add_option("--key", options->key, "Denials of this key alone; takes --rule");
  command->add_option("--since", options->since, "How far back")
      ->check(mistake_in_duration)
      ->capture_default_str();
  command->add_option("--limit", options->limit, "Most denials to show at a time, the latest")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  auto* const follow = command->add_flag("--follow", options->follow, "Go on with those to come");
  options->client.add_options(*command);
  command->get_option("--json")->excludes(follow);
  command->callback([options] { show_denials(*options); });
}

}  // namespace weir
