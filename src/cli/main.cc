// weir: a distributed rate limiter. What a subcommand does is in its own file.

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "config/config.h"
#include "weir/version.h"

int main(int argc, char** argv) {
  auto app = CLI::App("Weir, a distributed rate limiter.", "weir");
  app.require_subcommand(1);
  app.set_version_flag("--version", "weir " + std::string(weir::kVersion));
  weir::add_serve_command(app);
  weir::add_check_command(app);
  weir::add_busiest_command(app);
  weir::add_block_commands(app);
  weir::add_denials_command(app);
  weir::add_validate_command(app);
  weir::add_docs_command(app);
  weir::add_export_command(app);
  weir::add_gateway_command(app);
  app.add_subcommand("schema", "Print the JSON Schema of the configuration file")->callback([] {
    std::cout << weir::config_schema();
  });
  app.add_subcommand("version", "Print the version")->callback([] {
    std::cout << "weir " << weir::kVersion << '\n';
  });
  return weir::run_command_line(app, argc, argv);
}
