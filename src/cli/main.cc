// weir: a distributed rate limiter. Each subcommand has its own file.

#include <CLI/CLI.hpp>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <string>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "config/config.h"
#include "weir/version.h"

namespace {

void add_version_command(CLI::App& app) {
  app.add_subcommand("version", "Print the version")->callback([] {
    std::cout << "weir " << weir::kVersion << '\n';
  });
}

// Writes the schema, and says by which line editors find it (the YAML language server).
void write_schema(const std::string& file) {
  if (file.empty()) {
    std::cout << weir::config_schema();
    return;
  }
  auto out = std::ofstream(file);
  out << weir::config_schema();
  out.close();
  if (!out) {
    std::cerr << "weir schema: cannot write " << file << '\n';
    throw CLI::RuntimeError(1);
  }
  const bool has_folder = file.find('/') != std::string::npos;
  std::cout << "# yaml-language-server: $schema=" << (has_folder ? "" : "./") << file << '\n';
}

void add_schema_command(CLI::App& app) {
  auto* command = app.add_subcommand("schema", "Print the JSON Schema of the configuration file");
  const auto file = std::make_shared<std::string>();
  command->add_option("--write", *file,
                      "Write it to this file, and print the line that an editor wants to see first "
                      "in your YAML");
  command->callback([file] { write_schema(*file); });
}

// Adds commands under a heading of their own in --help.
void in_group(CLI::App& app, const std::string& heading,
              std::initializer_list<void (*)(CLI::App&)> commands) {
  for (const auto add : commands) add(app);
  for (auto* const command : app.get_subcommands({})) {
    if (command->get_group() == "Subcommands") command->group(heading);
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto app = CLI::App("Weir, a distributed rate limiter.", "weir");
  app.require_subcommand(1);
  app.set_version_flag("--version", "weir " + std::string(weir::kVersion));
  in_group(app, "Run", {weir::add_serve_command, weir::add_gateway_command});
  in_group(app, "Ask a running server",
           {weir::add_check_command, weir::add_explain_command, weir::add_denials_command,
            weir::add_busiest_command});
  in_group(app, "Block by hand", {weir::add_block_commands});
  in_group(app, "Enforce by degrees", {weir::add_rollout_command});
  in_group(app, "Give keys plans and limits", {weir::add_tenants_command});
  in_group(app, "Work on a file of rules",
           {weir::add_validate_command, weir::add_docs_command, add_schema_command,
            weir::add_export_command, weir::add_lab_commands});
  in_group(app, "About the program", {add_version_command, weir::add_completions_command});
  return weir::run_command_line(app, argc, argv);
}
