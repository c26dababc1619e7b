// weir-lab suggest: limits that a log's own clients would not have felt.

#include <spdlog/fmt/fmt.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "logs/sorted_log.h"
#include "replay/commands.h"
#include "replay/progress.h"
#include "replay/report.h"
#include "rules/request/request_path.h"
#include "suggest/survey.h"

namespace weir::lab {
namespace {

constexpr int kExitUsage = 2;

struct SuggestOptions {
  std::vector<std::string> logs;
  std::string log_format;
  double percent = 0.1;
};

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "weir-lab suggest: " << message << '\n';
  throw CLI::RuntimeError(kExitUsage);
}

// Calls `visit` with each request. Returns what the log is.
template <typename Visit>
std::string read_all(const SuggestOptions& options, Instant latest, Visit visit) {
  SortedLog log(latest);
  for (const std::string& path : options.logs) {
    if (const auto fault = log.add(path, options.log_format); !fault.empty()) fail(fault);
  }
  Progress progress;
  std::uint64_t requests = 0;
  Instant first{};
  Instant last{};
  while (const LoggedRequest* const request = log.next()) {
    if (++requests == 1) first = request->time;
    last = request->time;
    visit(*request);
    progress.show(log.progress(), requests);
  }
  if (requests == 0) fail("there is no request in the log");
  return fmt::format("{} requests ({}), {} to {} UTC; {} lines unread, {} too late to be sorted",
                     requests, log.format_names(), date_text(first), date_text(last),
                     log.counts().unread, log.counts().late);
}

void run(const SuggestOptions& options) {
  for (const std::string& path : options.logs) {
    if (!std::filesystem::is_regular_file(path)) {
      fail(path + " is no file; logs are read twice, so no pipe will do");
    }
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch() + std::chrono::hours(24);
  const Instant latest(std::chrono::duration_cast<Duration>(now));
  Endpoints endpoints;
  PathReadings paths;
  read_all(options, latest, [&](const LoggedRequest& request) {
    if (paths.read(request.uri.substr(0, request.uri.find_first_of("?#")))) {
      endpoints.count(request.method, paths.all().front());
    }
  });
  Survey survey(endpoints.best());
  const auto what =
      read_all(options, latest, [&](const LoggedRequest& request) { survey.count(request); });
  std::cout << survey.rules_text(
      fmt::format(
          "# Limits by `weir suggest`, of {}.\n#\n"
          "# An endpoint has a limit if it was asked for at least {} times, by {} clients or\n"
          "# more. Parts of paths that look like ids are folded: /users/123 is /users/*.\n"
          "# `weir replay` says whom these limits would have denied.\n",
          what, Endpoints::kRequestsMin, Survey::kClientsMin),
      options.percent / 100);
}

}  // namespace

void add_suggest_command(CLI::App& app) {
  auto* command = app.add_subcommand("suggest", "Write limits that the clients of a log keep");
  const auto options = std::make_shared<SuggestOptions>();
  command->add_option("LOG", options->logs, "Access logs, also of .gz and .zst")->required();
  command->add_option("--log-format", options->log_format,
                      "How lines look, as nginx's log_format says it");
  command
      ->add_option("--percent", options->percent,
                   "Of honest clients, so many at most may reach a limit [0.1]")
      ->check(CLI::Range(0.0, 50.0));
  command->callback([options] { run(*options); });
}

}  // namespace weir::lab
