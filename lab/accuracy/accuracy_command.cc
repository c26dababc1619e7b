// weir-lab accuracy: how often sliding windows misjudge requests, of a log or of drawn traffic.

#include <spdlog/fmt/fmt.h>
#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/traffic.h"
#include "accuracy/trial.h"
#include "base/duration_text.h"
#include "cli/check_options.h"
#include "replay/commands.h"
#include "replay/key_ledger.h"
#include "replay/log_options.h"

namespace weir::lab {
namespace {

namespace json = boost::json;

// A log's requests with their sources: a gigabyte at most.
constexpr std::size_t kLoggedMax = std::size_t{1} << 26;
constexpr std::size_t kClientsMax = std::size_t{1} << 22;
constexpr std::int64_t kLimitTriedMax = 30'000;  // fits into counts of 16 bits, with its excess

struct AccuracyOptions : LogOptions {
  AccuracyOptions() : LogOptions{.command = "accuracy"} {}

  std::vector<std::int64_t> limits{100, 1'000};
  std::string window = "1m";
  Population::Spec drawn;
  bool as_json = false;
};

// One trial for each limit.
class Trials {
 public:
  Trials(std::string traffic, const AccuracyOptions& options) : traffic_(std::move(traffic)) {
    for (const std::int64_t limit : options.limits) {
      trials_.emplace_back(limit, *parse_duration(options.window));
    }
  }

  void take(const std::vector<Instant>& times, Duration length) {
    for (Trial& trial : trials_) trial.take(times, length);
  }
  void print(bool as_json) const {
    for (const Trial& trial : trials_) {
      if (!as_json) print_head(trial);
      for (const WindowTally& tally : trial.tallies()) {
        if (as_json) {
          std::cout << json::serialize(row(trial, tally)) << '\n';
        } else {
          print_line(trial, tally);
        }
      }
    }
  }

 private:
  static double percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  }
  static double over_limit(const Trial& trial, const WindowTally& tally) {
    return std::max(0.0, 100.0 * static_cast<double>(tally.worst - trial.limit()) /
                             static_cast<double>(trial.limit()));
  }
  // The share of the requests that the exact log admits, in percent.
  static double admitted(const Trial& trial, const WindowTally& tally) {
    const std::uint64_t exact = trial.tallies().front().admitted;
    return exact == 0 ? 100 : percent(tally.admitted, exact);
  }
  static double per_request_ns(const WindowTally& tally) {
    return static_cast<double>(tally.took.count()) /
           static_cast<double>(std::max<std::uint64_t>(1, tally.requests));
  }
  static double per_key(const WindowTally& tally) {
    return tally.bytes / static_cast<double>(std::max<std::uint64_t>(1, tally.sources));
  }

  void print_head(const Trial& trial) const {
    const WindowTally exact = trial.tallies().front();
    fmt::print(
        "\n{}: {} requests of {} sources, limit {}, {:.3f} % over it\n"
        "{:<24} {:>12} {:>12} {:>12} {:>9} {:>10} {:>8} {:>6}\n",
        traffic_, exact.requests, exact.sources, trial.limit(), percent(exact.over, exact.requests),
        "window", "misjudged %", "positives %", "negatives %", "worst +%", "admitted %", "B a key",
        "ns");
  }
  static void print_line(const Trial& trial, const WindowTally& tally) {
    fmt::print("{:<24} {:>12.6f} {:>12.6f} {:>12.6f} {:>9.1f} {:>10.2f} {:>8.1f} {:>6.1f}\n",
               tally.window, percent(tally.misjudged(), tally.requests),
               percent(tally.false_positives, tally.requests),
               percent(tally.false_negatives, tally.requests), over_limit(trial, tally),
               admitted(trial, tally), per_key(tally), per_request_ns(tally));
  }
  json::object row(const Trial& trial, const WindowTally& tally) const {
    return {{"traffic", traffic_},
            {"limit", trial.limit()},
            {"window", tally.window},
            {"sources", tally.sources},
            {"requests", tally.requests},
            {"over", tally.over},
            {"false_positives", tally.false_positives},
            {"false_negatives", tally.false_negatives},
            {"worst_over_limit_percent", over_limit(trial, tally)},
            {"admitted_percent", admitted(trial, tally)},
            {"bytes_per_key", per_key(tally)},
            {"ns", per_request_ns(tally)}};
  }

  const std::string traffic_;
  std::deque<Trial> trials_;
};

void draw_all(const AccuracyOptions& options) {
  const Population population(options.drawn);
  std::deque<Trials> all;
  {
    Progress progress;
    std::vector<Instant> times;
    double requests = 0;
    for (const Traffic traffic : kTraffics) {
      Trials& trials = all.emplace_back(traffic_name(traffic), options);
      for (std::uint32_t source = 0; source < options.drawn.sources; ++source) {
        population.draw(traffic, source, times);
        trials.take(times, options.drawn.length);
        requests += static_cast<double>(times.size());
        progress.show(static_cast<std::uint64_t>(requests),
                      [&] { return requests / options.drawn.requests / kTraffics.size(); });
      }
    }
  }
  for (const Trials& trials : all) trials.print(options.as_json);
}

// A log's requests, with their clients.
struct Logged {
  std::vector<Instant> times;
  std::vector<std::uint32_t> sources;  // of each
  std::vector<std::size_t> begins;     // of each source among `times`, and the end
};

Logged read_logs(const AccuracyOptions& options) {
  SortedLog log(a_day_from_now());
  Logged logged;
  KeyNumbers clients(kClientsMax);
  options.read(log, [&](const LoggedRequest& request) {
    if (logged.times.size() == kLoggedMax) {
      options.fail("there are over 67 million requests in the log");
    }
    const auto client = clients.find(KeyNumbers::hash(0, request.client));
    if (!client) options.fail("there are over 4 million clients in the log");
    logged.times.push_back(request.time);
    logged.sources.push_back(*client);
  });
  logged.begins.resize(clients.size() + 1);
  for (const std::uint32_t source : logged.sources) ++logged.begins[source + 1];
  for (std::size_t i = 1; i < logged.begins.size(); ++i) logged.begins[i] += logged.begins[i - 1];
  return logged;
}

void try_logs(const AccuracyOptions& options) {
  const Logged logged = read_logs(options);
  std::vector<Instant> sorted(logged.times.size());
  std::vector<std::size_t> next = logged.begins;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sorted[next[logged.sources[i]]++] = logged.times[i];
  }
  Trials trials(fmt::format("{}", fmt::join(options.logs, ", ")), options);
  const Duration length = logged.times.back() - logged.times.front() + Duration{1};
  std::vector<Instant> times;
  for (std::size_t source = 0; source + 1 < logged.begins.size(); ++source) {
    times.assign(sorted.begin() + static_cast<std::ptrdiff_t>(logged.begins[source]),
                 sorted.begin() + static_cast<std::ptrdiff_t>(logged.begins[source + 1]));
    trials.take(times, length);
  }
  trials.print(options.as_json);
}

void run(const AccuracyOptions& options) {
  const auto window = parse_duration(options.window);
  if (*window < kWindowMin || *window > kWindowMax) options.fail("a window is from 1ms to 366d");
  if (options.logs.empty()) {
    draw_all(options);
  } else {
    try_logs(options);
  }
}

}  // namespace

void add_accuracy_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "accuracy", "How often do sliding windows misjudge a request, against an exact log?");
  const auto options = std::make_shared<AccuracyOptions>();
  const auto millions = std::make_shared<double>(options->drawn.requests / 1e6);
  options->add_to(*command, "Access logs; without, traffic is drawn from a seed");
  command->option_defaults()->always_capture_default();
  command->add_option("--limits", options->limits, "Of requests of one client in a window")
      ->check(CLI::Range(std::int64_t{8}, kLimitTriedMax));
  command->add_option("--window", options->window, "How long")->check(mistake_in_duration);
  command->add_option("--sources", options->drawn.sources, "Drawn clients")
      ->check(CLI::Range(1, 10'000'000));
  command->add_option("--millions", *millions, "Drawn requests, in millions, within an hour")
      ->check(CLI::Range(0.001, 1e5));
  command->add_option("--seed", options->drawn.seed, "What is drawn");
  command->option_defaults()->always_capture_default(false);
  command->add_flag("--json", options->as_json, "Print a line of JSON for each window");
  command->callback([options, millions] {
    options->drawn.requests = *millions * 1e6;
    run(*options);
  });
}

}  // namespace weir::lab
