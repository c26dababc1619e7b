// weir-lab replay: what would these rules have done to this log?

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "logs/sorted_log.h"
#include "replay/commands.h"
#include "replay/condition.h"
#include "replay/progress.h"
#include "replay/report.h"
#include "replay/world.h"

namespace weir::lab {
namespace {

namespace json = boost::json;

constexpr int kExitUsage = 2;
constexpr int kExitFailed = 3;  // --fail-on holds
// The store serves eight years from its start.
constexpr Duration kSpanMax = std::chrono::hours(24 * 365 * 7);

struct ReplayOptions {
  std::string config;
  std::string against;
  std::vector<std::string> logs;
  std::string log_format;
  bool as_json = false;
  std::string html;
  std::vector<std::string> fail_on;
};

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "weir-lab replay: " << message << '\n';
  throw CLI::RuntimeError(kExitUsage);
}

// A file for a server, or else for a gateway.
Config config_of(const std::string& file) {
  auto config = load_config(file);
  if (config) return *std::move(config);
  auto for_gateway = load_config(file, ServedBy::kGateway);
  if (for_gateway) return *std::move(for_gateway);
  for (const auto& error : config.error()) std::cerr << error.to_string() << '\n';
  throw CLI::RuntimeError(kExitUsage);
}

json::object replay(const ReplayOptions& options, Config config, std::optional<Config> other) {
  const auto now = std::chrono::system_clock::now().time_since_epoch() + std::chrono::hours(24);
  SortedLog log(Instant(std::chrono::duration_cast<Duration>(now)));
  for (const std::string& path : options.logs) {
    if (const auto fault = log.add(path, options.log_format); !fault.empty()) fail(fault);
  }
  const LoggedRequest* request = log.next();
  if (request == nullptr) fail("there is no request in the log");
  LogSpan span{.first = request->time};
  const LogKnows knows = log.knows();
  World world(std::move(config), knows, span.first);
  std::unique_ptr<World> after;
  if (other) after = std::make_unique<World>(*std::move(other), knows, span.first);
  Comparison comparison;
  {
    Progress progress;
    for (; request != nullptr; request = log.next()) {
      if (request->time - span.first > kSpanMax) fail("the log is of more than seven years");
      const bool is_denied = world.judge(*request);
      if (after) comparison.note(*request, world, *after, is_denied, after->judge(*request));
      span.last = request->time;
      span.is_exact = span.is_exact || epoch_us(request->time) % 1'000'000 != 0;
      progress.show(log.progress(), world.requests());
    }
  }
  json::object report{{"log", log_report(log, span)},
                      {"rules", world_report(world, options.config)}};
  if (after) {
    report["against"] = world_report(*after, options.against);
    report["change"] = comparison.report(world, *after);
  }
  return report;
}

void run(const ReplayOptions& options) {
  std::vector<Condition> conditions;
  for (const std::string& text : options.fail_on) {
    auto condition =
        parse_condition(text, options.against.empty() ? Compares::kNo : Compares::kYes);
    if (!condition) fail("--fail-on: " + condition.error());
    conditions.push_back(*std::move(condition));
  }
  auto config = config_of(options.config);
  std::optional<Config> other;
  if (!options.against.empty()) other = config_of(options.against);
  const json::object report = replay(options, std::move(config), std::move(other));
  if (!options.html.empty()) {
    std::ofstream page(options.html);
    page << report_page(report);
    page.close();
    if (!page) fail("cannot write " + options.html);
  }
  if (options.as_json) {
    std::cout << json::serialize(report) << '\n';
  } else {
    print_report(report, std::cout);
  }
  bool has_failed = false;
  for (const Condition& condition : conditions) {
    if (!holds(condition, report)) continue;
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
  command
      ->add_option("LOG", options->logs, "Access logs, also of .gz and .zst; - is standard input")
      ->required();
  command->add_option("--log-format", options->log_format,
                      "How lines look, as nginx's log_format says it");
  command->add_flag("--json", options->as_json, "Print the report as JSON");
  command->add_option("--html", options->html, "Also write the report to this file, as a page");
  command->add_option("--fail-on", options->fail_on,
                      "Exit with 3 if this holds, such as newly_denied_keys>10 or "
                      "denied_requests>0.1%");
  command->callback([options] { run(*options); });
}

}  // namespace weir::lab
