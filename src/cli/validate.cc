// weir validate: would serve take this file?

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <variant>

#include "cli/commands.h"
#include "cli/rule_text.h"
#include "rules/config.h"

namespace weir {
namespace {

constexpr int kExitInvalid = 1;

void validate(const std::string& file) {
  const auto loaded = load_config(file);
  if (const auto* errors = std::get_if<ConfigErrors>(&loaded)) {
    for (const auto& error : *errors) std::cout << error.to_string() << '\n';
    throw CLI::RuntimeError(kExitInvalid);
  }
  std::cout << file << ": ok, " << count_rules(std::get<Config>(loaded).rules.size()) << '\n';
}

}  // namespace

void add_validate_command(CLI::App& app) {
  auto* command = app.add_subcommand("validate", "Check a configuration file, as serve would");
  const auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "The YAML file")->required();
  command->callback([file] { validate(*file); });
}

}  // namespace weir
