#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest_name.h"

namespace weir {
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
  const auto name = at == &app ? app.get_name() : app.get_name() + " " + at->get_name();
  return name + ": there is no command '" + rest.front() + "'; " + name_hint(rest.front(), names) +
         "\n";
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

int run_command_line(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return exit_code(error, app);
  } catch (const std::exception& error) {
    std::cerr << app.get_name() << ": " << error.what() << '\n';
    return 1;
  }
}

}  // namespace weir
