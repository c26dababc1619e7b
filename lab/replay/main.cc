// weir-lab: says what rules would have done to an access log.

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command_line.h"
#include "replay/commands.h"
#include "weir/version.h"

int main(int argc, char** argv) {
  auto app = CLI::App("Says what rules would have done to an access log.", "weir-lab");
  app.require_subcommand(1);
  app.set_version_flag("--version", "weir-lab " + std::string(weir::kVersion));
  weir::lab::add_replay_command(app);
  return weir::run_command_line(app, argc, argv);
}
