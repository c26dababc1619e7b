// weir validate: would serve take this file?

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <span>
#include <string>

#include "cli/commands.h"
#include "cli/node/config_files.h"
#include "config/config.h"
#include "config/config_warnings.h"
#include "config/envoy/envoy_config.h"
#include "config/rules/rule_config.h"
#include "rulebook/rule_text.h"

namespace weir {
namespace {

struct ValidateOptions {
  std::string file;
  bool envoy = false;
  bool gateway = false;
  bool strict = false;
  std::string against;
  std::string over = "5m";
};

// What passes before anybody knows what it costs, of the key that may do most.
void print_bound(const Rule& rule) {
  if (!rule.response || rule.response->cost_header.empty() || rule.response->reserved < 1) return;
  std::int64_t most = 0;
  for_each_limits(rule, [&](std::span<const Quota> limits) {
    most = std::max(most, std::ranges::min(limits, {}, &Quota::capacity).capacity());
  });
  std::cout << "rule '" << printable(rule.id) << "': at most "
            << count_of(static_cast<std::size_t>(most / rule.response->reserved), "request")
            << " of a key pass at once; they cost at most as many times what the dearest costs\n";
}

std::string count_rules_in(const ValidateOptions& options) {
  if (options.envoy) {
    return count_of(value_or_refuse(
        load_envoy_config(options.file, SettingValues()->envoy.algorithm), std::cout));
  }
  auto config =
      value_or_refuse(options.gateway ? load_whole_config(options.file, ServedBy::kGateway)
                                      : load_config_files({.config_file = options.file}),
                      std::cout);
  const auto rules = count_of(config.rules);
  config.rules.resize(config.rule_places.size());  // without those of Envoy's files
  const auto warnings = config_warnings(config, options.file);
  if (options.strict && !warnings.empty()) refuse(warnings, std::cout);
  for (const auto& warning : warnings) std::cout << warning.to_string() << '\n';
  for (auto note : spelling_notes(config, options.file)) {
    note.message.insert(0, "note: ");
    std::cout << note.to_string() << '\n';
  }
  std::ranges::for_each(config.rules, print_bound);
  return rules;
}

}  // namespace

void refuse(const ConfigErrors& errors, std::ostream& out) {
  for (const auto& error : errors) out << error.to_string() << '\n';
  out << "see " WEIR_DOCS "reference/settings.md#mistakes\n";
  throw CLI::RuntimeError(1);
}

void add_validate_command(CLI::App& app) {
  auto* command = app.add_subcommand("validate", "Check a configuration file, as serve would");
  const auto options = std::make_shared<ValidateOptions>();
  command->add_option("FILE", options->file, "The YAML file")->required();
  command->add_flag("--envoy", options->envoy,
                    "FILE is one, or a folder, of Envoy's reference rate limit service");
  command->add_flag("--gateway", options->gateway,
                    "FILE is for weir gateway, or for nginx with Weir in it");
  command->add_flag("--strict", options->strict, "Take warnings for mistakes");
  auto* against = command
                      ->add_option("--against", options->against,
                                   "A running server: what the rules that are others would have "
                                   "decided of the requests that it remembers")
                      ->excludes("--envoy")
                      ->excludes("--gateway");
  command->add_option("--over", options->over, "How much of the past to decide again")
      ->needs(against)
      ->capture_default_str();
  command->callback([options] {
    const auto rules = count_rules_in(*options);
    std::cout << options->file << ": ok, " << rules << '\n';
    if (!options->against.empty()) print_dry_runs(options->file, options->against, options->over);
  });
}

}  // namespace weir
