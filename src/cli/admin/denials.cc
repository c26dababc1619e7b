// weir denials: a running server's latest denials, and their reasons.

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cli/admin/admin_client.h"
#include "cli/check_options.h"
#include "cli/commands.h"
#include "server/http/admin/shared_json.h"

namespace weir {
namespace {

namespace json = boost::json;

constexpr auto kFollowEvery = std::chrono::seconds(1);

struct DenialOptions {
  AdminClient client;
  std::string rule;
  std::string key;
  std::string path;
  std::string country;
  std::string door;
  std::string by;
  std::string since = "10m";
  std::string until;
  int limit = 100;
  bool follow = false;
};

std::string path_of(const DenialOptions& options, std::int64_t after) {
  auto path = "/admin/denials?limit=" + std::to_string(options.limit) + "&since=" + options.since;
  const std::pair<const char*, std::string> filters[] = {
      {"rule", options.key.empty() ? options.rule : ""},
      {"path", options.path},
      {"door", options.door},
      {"until", options.until},
      {"country", options.country},
      {"by", options.by}};
  for (const auto& [name, value] : filters) {
    if (!value.empty()) path.append("&").append(name).append("=").append(escaped(value));
  }
  if (options.follow) path += "&after=" + std::to_string(after);
  return path;
}

std::string line_of(const json::object& denial) {
  const auto field = [&](const char* name) { return text_of(denial.at(name)); };
  auto line =
      field("at") + "  " + left(denial.at("rule").is_null() ? "no rule" : field("rule"), 16);
  line += "  " + left(key_in(denial), 18) + "  " + field("cause");
  line += ", " + field("remaining") + " of " + field("limit") + " left, cost " + field("cost");
  const auto& wait = denial.at("retry_after");
  if (!wait.is_null()) line += ", again in " + in_words(wait.to_number<double>());
  if (!denial.at("status").is_null()) line += ", status " + field("status");
  if (denial.at("shadow").as_bool()) line += ", shadow: let pass";
  if (denial.at("times").to_number<std::int64_t>() > 1) line += ", " + field("times") + " times";
  return line + "\n";
}

std::string group_line_of(const json::object& group, const std::string& by) {
  const auto field = [&](const std::string& name) {
    const auto* const value = group.if_contains(name);
    if (value != nullptr && !value->is_null()) return text_of(*value);
    return std::string(name == "rule" ? "no rule" : "unknown");
  };
  const auto time = [&](const char* name) {
    return utc_text(group.at(name).to_number<std::int64_t>());
  };
  const bool is_of_key = by == "key";
  const bool is_cause = by == "cause";
  return left(field("times") + " times", 14) + "  " +
         (is_cause ? time("first") + " to " + time("last") + "  " : "") +
         (is_of_key || is_cause ? left(field("rule"), 16) + "  " : "") +
         (is_of_key ? key_in(group) : field(by)) +
         (group.at("shadow").as_bool() ? ", shadow: let pass" : "") + "\n";
}

// The earliest first, or the group with the most denials; of causes the latest.
std::string lines_of(const json::value& said, const std::string& by, std::int64_t& next) {
  std::string lines;
  if (by.empty()) {
    const auto& denials = said.at("denials").as_array();
    for (auto denial = denials.rbegin(); denial != denials.rend(); ++denial) {
      lines += line_of(denial->as_object());
    }
  } else {
    for (const auto& group : said.at("groups").as_array()) {
      lines += group_line_of(group.as_object(), by);
    }
  }
  const auto* const left_out = said.as_object().if_contains("forgotten");  // older nodes do not say
  const auto forgotten = left_out == nullptr ? 0 : left_out->to_number<std::int64_t>();
  if (forgotten > 0) {
    lines += std::to_string(forgotten) +
             " denials of all rules and keys have no line: " + "there were too many in a second\n";
  }
  if (const auto* const since = said.as_object().if_contains("known_since")) {
    lines += "the record begins at " + utc_text(since->to_number<std::int64_t>()) + "\n";
  }
  next = said.at("next").to_number<std::int64_t>();
  return lines;
}

// Goes on until somebody ends it, or the server does.
void show_denials(const DenialOptions& options) {
  std::int64_t next = 0;
  for (;;) {
    auto question = HttpQuestion{.url = path_of(options, next)};
    if (!options.key.empty()) {
      question.method = "POST";  // keeps the key out of proxies' logs
      question.body = json::serialize(json::object{{"rule", options.rule}, {"key", options.key}});
    }
    options.client.show(question,
                        [&](const json::value& said) { return lines_of(said, options.by, next); });
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
  auto* const rule = command->add_option("--rule", options->rule, "Denials of this rule alone");
  command->add_option("--key", options->key, "Denials of this key alone; takes --rule")
      ->needs(rule);
  command->add_option("--path", options->path, "Of this path alone; /api/* means what begins so");
  command->add_option("--country", options->country, "Of this country alone, such as NL");
  command->add_option("--door", options->door, "Of this door alone")
      ->check(CLI::IsMember({"http", "auth", "grpc", "resp", "nginx"}));
  command->add_option("--until", options->until, "How long ago the last of them was");
  auto* const by =
      command->add_option("--by", options->by, "Count them by this")
          ->check(CLI::IsMember({"rule", "key", "network", "path", "country", "cause"}));
  command->add_option("--since", options->since, "How far back")
      ->check(mistake_in_duration)
      ->capture_default_str();
  command->add_option("--limit", options->limit, "Most denials to show at a time, the latest")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  auto* const follow = command->add_flag("--follow", options->follow, "Go on with those to come");
  options->client.add_options(*command);
  command->get_option("--json")->excludes(follow);
  by->excludes(follow);
  command->callback([options] { show_denials(*options); });
}

}  // namespace weir
