// weir-lab simulate: runs one scenario with one seed, and checks every promise.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/command_line.h"
#include "config/config.h"
#include "replay/commands.h"
#include "simulate/run.h"
#include "simulate/scenario.h"
#include "simulate/shrink.h"
#include "simulate/timeline.h"
#include "simulate/timeline_page.h"

namespace weir::lab {
namespace {

constexpr int kExitUsage = 2;
constexpr std::size_t kRunsMax = 1'000;
constexpr std::size_t kLinesMax = 100'000;

struct SimulateOptions {
  std::string file;
  std::string seed = "1";
  std::string page;  // a file to write; empty: none
  bool has_timeline = false;
  bool is_drawn = false;
  bool shows_scenario = false;
  bool shrinks = false;
};

sim::Scenario scenario_of(const SimulateOptions& options, std::uint64_t seed) {
  if (options.is_drawn) return sim::draw_scenario(seed);
  const auto text = read_config_file(options.file);
  auto scenario = text ? sim::read_scenario(*text, options.file)
                       : Result<sim::Scenario, ConfigErrors>(text.error());
  if (scenario) return *std::move(scenario);
  for (const auto& error : scenario.error()) std::cerr << error.to_string() << '\n';
  throw CLI::RuntimeError(kExitUsage);
}

void simulate(const SimulateOptions& options) {
  const auto seed = sim::Seed::parse(options.seed);
  if (!seed) {
    std::cerr << "weir-lab simulate: --seed is a number, or one with the build that found it, "
                 "such as 7@0123abcd\n";
    throw CLI::RuntimeError(kExitUsage);
  }
  if (!seed->build.empty() && seed->build != sim::build_id()) {
    std::cout << "note: the seed is of build " << seed->build << ", this is build "
              << sim::build_id() << ": it may be another run\n";
  }
  const sim::Scenario scenario = scenario_of(options, seed->number);
  if (options.shows_scenario) std::cout << sim::to_yaml(scenario);
  std::optional<sim::Timeline> timeline;
  if (options.has_timeline || !options.page.empty()) timeline.emplace(kLinesMax);
  const sim::Outcome outcome = sim::run(scenario, seed->number, timeline ? &*timeline : nullptr);
  const std::string said = sim::to_text(outcome, scenario, seed->number);
  if (!options.page.empty()) {
    std::ofstream page(options.page);
    if (!(page << sim::to_page(*timeline, said, scenario.nodes)).flush()) {
      std::cerr << "weir-lab simulate: cannot write " << options.page << '\n';
      throw CLI::RuntimeError(kExitUsage);
    }
  }
  if (options.has_timeline) {
    if (timeline->dropped() > 0) std::cout << timeline->dropped() << " lines before these\n";
    for (const std::string& line : timeline->lines()) std::cout << line << '\n';
  }
  std::cout << said;
  if (!outcome.violation) return;
  if (options.shrinks) {
    const auto smaller = sim::shrink(scenario, seed->number, outcome.violation->promise, kRunsMax);
    std::cout << "after " << smaller.runs << " runs, this breaks the same promise with the seed:\n"
              << sim::to_yaml(smaller.scenario);
  }
  throw CLI::RuntimeError(1);
}

}  // namespace

void add_simulate_command(CLI::App& app) {
  auto& command = *app.add_subcommand(
      "simulate",
      "Run a fleet, its Redis and its clients in virtual time, and check every promise");
  const auto options = std::make_shared<SimulateOptions>();
  command.add_option("SCENARIO", options->file, "A file of what happens");
  command.add_option("--seed", options->seed, "Of all that is left to chance");
  command.add_flag("--timeline", options->has_timeline, "Say what happened, and when");
  command.add_option("--page", options->page, "Write the timeline as an HTML page, to this file");
  command.add_flag("--drawn", options->is_drawn, "The scenario is drawn from the seed, too");
  command.add_flag("--shrink", options->shrinks,
                   "Make a scenario that breaks a promise as small as it breaks it");
  command.add_flag("--show", options->shows_scenario, "Write the scenario first");
  command.callback([options] {
    if (options->file.empty() != options->is_drawn) {
      std::cerr << "weir-lab simulate: give a SCENARIO, or --drawn\n";
      throw CLI::RuntimeError(kExitUsage);
    }
    simulate(*options);
  });
}

}  // namespace weir::lab
