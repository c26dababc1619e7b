// weir version

#include "weir/version.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/commands.h"

namespace weir {

void add_version_command(CLI::App& app) {
  app.add_subcommand("version", "Print the version")->callback([] {
    std::cout << "weir " << kVersion << '\n';
  });
}

}  // namespace weir
