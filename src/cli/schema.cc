// weir schema: what editors complete and check configuration files with.

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/commands.h"
#include "config/config.h"

namespace weir {

void add_schema_command(CLI::App& app) {
  app.add_subcommand("schema", "Print the JSON Schema of the configuration file")->callback([] {
    std::cout << config_schema();
  });
}

}  // namespace weir
