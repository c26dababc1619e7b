// weir docs: an API's limits, for those who use it.

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <variant>

#include "cli/commands.h"
#include "cli/rule_docs.h"
#include "config/config.h"

namespace weir {
namespace {

struct DocsOptions {
  std::string file;
  std::string format = "markdown";
};

[[noreturn]] void refuse(const ConfigErrors& errors) {
  for (const auto& error : errors) std::cerr << error.to_string() << '\n';
  throw CLI::RuntimeError(1);
}

void print_docs(const DocsOptions& options) {
  const auto loaded = load_config(options.file);
  if (const auto* errors = std::get_if<ConfigErrors>(&loaded)) refuse(*errors);
  const auto& config = std::get<Config>(loaded);
  const auto sources = config_sources(config.text).rules;
  std::cout << (options.format == "openapi" ? docs_as_openapi(config.rules, sources)
                                            : docs_as_markdown(config.rules, sources));
}

}  // namespace

void add_docs_command(CLI::App& app) {
  auto* command = app.add_subcommand("docs", "Print an API's limits for those who use it");
  const auto options = std::make_shared<DocsOptions>();
  command->add_option("FILE", options->file, "The YAML file with the rules")->required();
  command->add_option("--format", options->format, "markdown or openapi [markdown]")
      ->check(CLI::IsMember({"markdown", "openapi"}));
  command->callback([options] { print_docs(*options); });
}

}  // namespace weir
