// weir-bench: loads servers, Weir's and others, and compares stores.

#include <CLI/CLI.hpp>
#include <string>

#include "bench/commands.h"
#include "cli/command_line.h"
#include "weir/version.h"

int main(int argc, char** argv) {
  auto app = CLI::App("Loads a server and reports its speed.", "weir-bench");
  app.require_subcommand(1);
  app.set_version_flag("--version", "weir-bench " + std::string(weir::kVersion));
  weir::add_load_commands(app);
  weir::add_compare_command(app);
  return weir::run_command_line(app, argc, argv);
}
