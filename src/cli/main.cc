// weir: a distributed rate limiter. What a subcommand does is in its own file.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>

#include "cli/commands.h"
#include "config/config.h"
#include "weir/version.h"

namespace {

constexpr int kExitUsage = 2;

// Help is a success and a command's own exit code is its answer; what remains is a
// command line that makes no sense.
int exit_code(const CLI::ParseError& error, const CLI::App& app) {
  if (const auto* done = dynamic_cast<const CLI::RuntimeError*>(&error)) {
    return done->get_exit_code();
  }
  return app.exit(error) == 0 ? 0 : kExitUsage;
}

}  // namespace

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
  weir::add_bench_command(app);
  weir::add_compare_command(app);
  app.add_subcommand("schema", "Print the JSON Schema of the configuration file")->callback([] {
    std::cout << weir::config_schema();
  });
  app.add_subcommand("version", "Print the version")->callback([] {
    std::cout << "weir " << weir::kVersion << '\n';
  });

  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return exit_code(error, app);
  } catch (const std::exception& error) {
    std::cerr << "weir: " << error.what() << '\n';
    return 1;
  }
}
