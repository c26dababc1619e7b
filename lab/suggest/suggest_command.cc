// weir-lab suggest: limits that would not have denied the log's own clients.

#include <spdlog/fmt/fmt.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replay/commands.h"
#include "replay/log_options.h"
#include "replay/report.h"
#include "rules/request/request_path.h"
#include "suggest/survey.h"

namespace weir::lab {
namespace {

struct SuggestOptions : LogOptions {
  SuggestOptions() : LogOptions{.command = "suggest"} {}

  double percent = 0.1;
};

void run(const SuggestOptions& options) {
  if (std::isnan(options.percent)) options.fail("--percent is no number");
  for (const std::string& path : options.logs) {
    if (!std::filesystem::is_regular_file(path)) {
      options.fail(path + " is no file; logs are read twice, so no pipe will do");
    }
  }
  const Instant latest = a_day_from_now();
  SortedLog first(latest);
  Endpoints endpoints;
  PathReadings paths;
  options.read(first, [&](const LoggedRequest& request) {
    if (paths.read(request.uri.substr(0, request.uri.find_first_of("?#")))) {
      endpoints.count(request.method, paths.all().front());
    }
  });
  SortedLog log(latest);
  Survey survey(endpoints.best());
  const LogSpan span =
      options.read(log, [&](const LoggedRequest& request) { survey.count(request); });
  std::cout << survey.rules_text(
      fmt::format(
          "# Limits by `weir suggest`, of {} requests ({}), {} to {} UTC; {} lines unread, {} too "
          "late to be sorted.\n#\n"
          "# An endpoint has a limit if it was asked for at least {} times, by {} clients or\n"
          "# more. Parts of paths that look like ids are folded: /users/123 is /users/*.\n"
          "# `weir replay` says whom these limits would have denied.\n",
          span.requests, log.format_names(), date_text(span.first), date_text(span.last),
          log.counts().unread, log.counts().late, Endpoints::kRequestsMin, Survey::kClientsMin),
      options.percent / 100);
  for (const std::string& fault : log.counts().faults) {
    std::cerr << fault << "; what came before counts\n";
  }
}

}  // namespace

void add_suggest_command(CLI::App& app) {
  auto* command = app.add_subcommand("suggest", "Write limits that the clients of a log keep");
  const auto options = std::make_shared<SuggestOptions>();
  options->add_to(*command, "Access logs, also of .gz and .zst")->required();
  command
      ->add_option("--percent", options->percent,
                   "Of honest clients, so many at most may reach a limit [0.1]")
      ->check(CLI::Range(0.0, 50.0));
  command->callback([options] { run(*options); });
}

}  // namespace weir::lab
