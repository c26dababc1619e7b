// weir-lab replay: how these rules would have decided the requests of a log.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "config/config.h"
#include "replay/commands.h"
#include "replay/log_options.h"
#include "replay/report.h"
#include "replay/world.h"

namespace weir::lab {
namespace {

namespace json = boost::json;

constexpr int kExitFailed = 3;  // --fail-on holds
// The store serves eight years from its start.
constexpr Duration kSpanMax = std::chrono::hours(24 * 365 * 7);

struct ReplayOptions : LogOptions {
  ReplayOptions() : LogOptions{.command = "replay"} {}

  std::string config;
  std::string against;
  bool as_json = false;
  std::string html;
  std::vector<std::string> fail_on;
};

// A server's file, or else a gateway's.
Config config_of(const std::string& file) {
  auto config = load_config(file);
  if (config) return *std::move(config);
  auto for_gateway = load_config(file, ServedBy::kGateway);
  if (for_gateway) return *std::move(for_gateway);
  for (const auto& error : config.error()) std::cerr << error.to_string() << '\n';
  throw CLI::RuntimeError(kExitUsage);
}

// ---- --fail-on, such as newly_denied_keys>10 or denied_requests>0.1% ----

// A figure that a condition may name: its place in the report, and the total for its share.
struct Figure {
  std::string_view name;
  std::string_view place;  // in the rules (the new ones, if there are any), or in the change
  std::string_view whole;
};
constexpr std::string_view kChange = "/change/";
constexpr std::array kFigures = {
    Figure{"denied_requests", "/denied", "/requests"},
    Figure{"denied_keys", "/denied_keys", "/keys"},
    Figure{"newly_denied_requests", "/change/newly_denied/requests", "/requests"},
    Figure{"newly_denied_keys", "/change/newly_denied/keys/count", "/keys"},
    Figure{"newly_allowed_requests", "/change/newly_allowed/requests", "/requests"},
    Figure{"newly_allowed_keys", "/change/newly_allowed/keys/count", "/keys"},
};

struct Condition {
  std::string text;
  const Figure* figure = nullptr;
  double most = 0;
  bool is_share = false;
};

Condition condition_of(std::string text, const ReplayOptions& options) {
  const auto fail = [&](const std::string& fault) {
    options.fail("--fail-on: '" + text + "' " + fault);
  };
  const std::string_view all = text;
  const auto sign = all.find('>');
  const auto* const figure =
      std::ranges::find(kFigures, trim_blanks(all.substr(0, sign)), &Figure::name);
  if (sign == std::string::npos || figure == kFigures.end()) {
    fail(
        "is no condition; write denied_requests, denied_keys, newly_denied_requests, "
        "newly_denied_keys, newly_allowed_requests or newly_allowed_keys, '>' and a number or a "
        "percentage");
  }
  if (figure->place.starts_with(kChange) && options.against.empty()) fail("needs --against");
  std::string_view number = trim_blanks(all.substr(sign + 1));
  Condition condition{.text = text, .figure = figure, .is_share = number.ends_with('%')};
  if (condition.is_share) number = trim_blanks(number.substr(0, number.size() - 1));
  const auto* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, condition.most);
  const bool is_number = error == std::errc() && stop == end && std::isfinite(condition.most);
  if (!is_number || condition.most < 0) fail("ends in no number");
  return condition;
}

bool holds(const Condition& condition, const json::value& report) {
  const Figure& figure = *condition.figure;
  const std::string rules = report.as_object().contains("against") ? "/against" : "/rules";
  const auto at = [&](std::string_view place) {
    const std::string whole = place.starts_with(kChange) ? "" : rules;
    return report.at_pointer(whole + std::string(place)).to_number<double>();
  };
  const double value = at(figure.place);
  if (!condition.is_share) return value > condition.most;
  return at(figure.whole) > 0 && 100 * value / at(figure.whole) > condition.most;
}

json::object replay(const ReplayOptions& options, Config config, std::optional<Config> other) {
  SortedLog log(a_day_from_now());
  std::optional<World> world;
  std::optional<World> after;
  Instant first{};
  Comparison comparison;
  const LogSpan span = options.read(log, [&](const LoggedRequest& request) {
    if (!world) {
      first = request.time;
      world.emplace(std::move(config), log.knows(), first);
      if (other) after.emplace(*std::move(other), log.knows(), first);
    }
    if (request.time - first > kSpanMax) options.fail("the log is of more than seven years");
    const bool is_denied = world->judge(request);
    if (after) comparison.note(request, *world, *after, is_denied, after->judge(request));
  });
  json::object report{{"log", log_report(log, span, world->named())},
                      {"rules", world_report(*world, options.config)}};
  if (after) {
    report["against"] = world_report(*after, options.against);
    report["change"] = comparison.report(*world, *after);
  }
  return report;
}

void run(const ReplayOptions& options) {
  std::vector<Condition> conditions;
  for (const std::string& text : options.fail_on) {
    conditions.push_back(condition_of(text, options));
  }
  auto config = config_of(options.config);
  std::optional<Config> other;
  if (!options.against.empty()) other = config_of(options.against);
  const json::value value = replay(options, std::move(config), std::move(other));
  const json::object& report = value.as_object();
  if (!options.html.empty()) {
    std::ofstream page(options.html);
    page << report_page(report);
    page.close();
    if (!page) options.fail("cannot write " + options.html);
  }
  if (options.as_json) {
    std::cout << json::serialize(report) << '\n';
  } else {
    print_report(report, std::cout);
  }
  bool has_failed = false;
  for (const Condition& condition : conditions) {
    if (!holds(condition, value)) continue;
    std::cerr << "weir-lab replay: " << condition.text << " holds\n";
    has_failed = true;
  }
  if (has_failed) throw CLI::RuntimeError(kExitFailed);
}

}  // namespace

void add_replay_command(CLI::App& app) {
  auto* command = app.add_subcommand("replay", "What would rules have done to an access log?");
  const auto options = std::make_shared<ReplayOptions>();
  command->add_option("--config", options->config, "The YAML file with the rules")->required();
  command->add_option("--against", options->against, "Another: what would change with its rules?");
  options->add_to(*command, "Access logs, also of .gz and .zst; - is standard input")->required();
  command->add_flag("--json", options->as_json, "Print the report as JSON");
  command->add_option("--html", options->html, "Also write the report to this file, as a page");
  command->add_option("--fail-on", options->fail_on,
                      "Exit with 3 if this holds, such as newly_denied_keys>10 or "
                      "denied_requests>0.1%");
  command->callback([options] { run(*options); });
}

}  // namespace weir::lab
