// weir: a distributed rate limiter. What a subcommand does is in its own file.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest_name.h"
#include "cli/commands.h"
#include "config/config.h"
#include "weir/version.h"

namespace {

constexpr int kExitUsage = 2;

// The command that somebody meant who named one that there is not, where CLI11 says only that one
// is required; else empty.
std::string command_meant(const CLI::App& app) {
  const auto* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  const auto rest = at->remaining();
  std::vector<std::string_view> names;
  for (const auto* command : at->get_subcommands({})) names.push_back(command->get_name());
  if (names.empty() || rest.empty() || rest.front().starts_with('-')) return {};
  return (at == &app ? "weir" : "weir " + at->get_name()) + ": there is no command '" +
         rest.front() + "'; " + weir::name_hint(rest.front(), names) + "\n";
}

// Help is a success and a command's own exit code is its answer; what remains is a
// command line that makes no sense.
int exit_code(const CLI::ParseError& error, const CLI::App& app) {
  if (const auto* done = dynamic_cast<const CLI::RuntimeError*>(&error)) {
    return done->get_exit_code();
  }
  if (const auto meant = command_meant(app); !meant.empty()) {
    std::cerr << meant;
    return kExitUsage;
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
