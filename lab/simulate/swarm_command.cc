// weir-lab swarm: draws and runs as many scenarios as wanted, on all cores.

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "base/duration_text.h"
#include "cli/command_line.h"
#include "replay/commands.h"
#include "simulate/swarm.h"
#include "weir/version.h"

namespace weir::lab {
namespace {

constexpr Duration kProgressEvery = std::chrono::milliseconds(200);

struct SwarmCommand {
  sim::SwarmOptions swarm;
  double seconds = 0;
  std::string state;  // a file for its progress; empty: none
};

Duration since_start() {
  static const auto start = std::chrono::steady_clock::now();  // check:allow(clock): progress
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() -
                                              start);  // check:allow(clock): progress
}

// The first seed that this build had not done when it last stopped.
std::uint64_t resumed_from(const SwarmCommand& command) {
  std::ifstream file(command.state);
  std::string build;
  std::uint64_t next = 0;
  if (file >> build >> next && build == sim::build_id() && next > command.swarm.from) return next;
  return command.swarm.from;
}

void show(const sim::SwarmFigures& figures, std::uint64_t seeds) {
  std::cerr << "\r" << figures.done << " of " << seeds << " seeds, " << figures.decisions
            << " decisions, " << figures.failed.size() << " failed" << std::flush;
}

// Prints at once: a long run may be stopped.
void tell(const sim::FailedSeed& failed) {
  const auto& [seed, violation] = failed;
  std::cout << "seed " << seed << '@' << sim::build_id() << ": " << violation.promise << ", at "
            << format_duration(violation.at) << ": " << violation.what << std::endl;
}

void run_command(SwarmCommand command) {
  since_start();
  const std::uint64_t end = command.swarm.from + command.swarm.seeds;
  if (!command.state.empty()) command.swarm.from = std::min(end, resumed_from(command));
  command.swarm.seeds = end - command.swarm.from;
  command.swarm.threads = std::max(1u, std::thread::hardware_concurrency());
  if (command.seconds > 0) {
    command.swarm.time_max = Duration(static_cast<std::int64_t>(command.seconds * 1e6));
  }
  const bool is_watched = ::isatty(STDERR_FILENO) == 1;
  Duration shown{0};
  std::size_t told = 0;  // how many failed seeds were printed
  const auto figures = sim::run_swarm(command.swarm, since_start, [&](const auto& so_far) {
    for (; told < so_far.failed.size(); ++told) tell(so_far.failed[told]);
    if (since_start() - shown < kProgressEvery) return;
    shown = since_start();
    if (is_watched) show(so_far, command.swarm.seeds);
    if (!command.state.empty()) {
      std::ofstream(command.state) << sim::build_id() << ' ' << command.swarm.from + so_far.done;
    }
  });
  if (is_watched) std::cerr << '\n';
  const double hours = static_cast<double>(figures.simulated.count()) / 3.6e9;
  std::cout << figures.done << " seeds from " << command.swarm.from << " on, " << hours
            << " simulated hours, " << figures.decisions << " decisions, " << figures.failed.size()
            << " failed, in "
            << format_duration(std::chrono::floor<std::chrono::milliseconds>(since_start()))
            << '\n';
  if (!figures.failed.empty()) {
    std::cout << "weir-lab simulate --drawn --seed SEED --timeline shows one; weir-lab " << kVersion
              << '\n';
    throw CLI::RuntimeError(1);
  }
}

}  // namespace

void add_swarm_command(CLI::App& app) {
  auto& command = *app.add_subcommand(
      "swarm", "Simulate many short scenarios of chance, and check every promise in each");
  const auto options = std::make_shared<SwarmCommand>();
  command.option_defaults()->always_capture_default();
  command.add_option("--seeds", options->swarm.seeds, "How many")->check(CLI::PositiveNumber);
  command.add_option("--from", options->swarm.from, "The first seed");
  command.option_defaults()->always_capture_default(false);
  command.add_option("--seconds", options->seconds, "Begin no further seed after that time")
      ->check(CLI::PositiveNumber);
  command.add_option("--state", options->state,
                     "A file that says how far it came, to go on from there");
  command.callback([options] { run_command(*options); });
}

}  // namespace weir::lab
