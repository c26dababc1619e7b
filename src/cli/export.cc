// weir export: rules for the Worker.

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <variant>

#include "cli/commands.h"
#include "cli/exported_rules.h"
#include "config/config.h"
#include "config/config_file.h"

namespace weir {
namespace {

struct ExportOptions {
  std::string file;
  std::string store = "kv";
};

[[noreturn]] void refuse(const ConfigErrors& errors) {
  for (const auto& error : errors) std::cerr << error.to_string() << '\n';
  throw CLI::RuntimeError(1);
}

template <typename Value>
Value value_or_refuse(std::variant<Value, ConfigErrors> result) {
  if (const auto* errors = std::get_if<ConfigErrors>(&result)) refuse(*errors);
  return std::get<Value>(std::move(result));
}

void print_rules(const ExportOptions& options) {
  const auto text = value_or_refuse(read_config_file(options.file));
  const auto config = value_or_refuse(load_config(options.file));
  const auto store = options.store == "kv" ? WorkerStore::kKv : WorkerStore::kDurable;
  std::cout << value_or_refuse(
                   exported_rules(config, config_sources(text).rules, store, options.file))
            << '\n';
}

}  // namespace

void add_export_command(CLI::App& app) {
  auto* command = app.add_subcommand("export", "Print the rules as JSON, for the Worker");
  const auto options = std::make_shared<ExportOptions>();
  command->add_option("FILE", options->file, "The YAML file with the rules")->required();
  command->add_option("--store", options->store, "What the Worker counts in: kv or durable [kv]")
      ->check(CLI::IsMember({"kv", "durable"}));
  command->callback([options] { print_rules(*options); });
}

}  // namespace weir
