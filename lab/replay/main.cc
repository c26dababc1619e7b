// weir-lab: tries rules on access logs, draws rules from them, and counts what windows misjudge.

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command_line.h"
#include "replay/commands.h"
#include "weir/version.h"

int main(int argc, char** argv) {
  auto app = CLI::App("Tries rules on access logs, and draws rules from them.", "weir-lab");
  app.require_subcommand(1);
  app.set_version_flag("--version", "weir-lab " + std::string(weir::kVersion));
  weir::lab::add_replay_command(app);
  weir::lab::add_suggest_command(app);
  weir::lab::add_accuracy_command(app);
  weir::lab::add_simulate_command(app);
  weir::lab::add_swarm_command(app);
  return weir::run_command_line(app, argc, argv);
}
