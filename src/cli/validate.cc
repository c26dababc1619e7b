// weir validate: whether serve would take this file.

#include <spdlog/fmt/fmt.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algo/wide_math.h"
#include "base/duration_text.h"
#include "cli/commands.h"
#include "cli/node/config_files.h"
#include "cli/rule_docs.h"
#include "config/config.h"
#include "config/config_warnings.h"
#include "config/envoy/envoy_config.h"
#include "config/rules/rule_config.h"
#include "config/rules/rule_words.h"
#include "rulebook/rule_text.h"
#include "rules/promise.h"
#include "store/memory/packing.h"
#include "store/redis/fleet/node_fleet.h"
#include "weir/result.h"

namespace weir {
namespace {

struct ValidateOptions {
  std::string file;
  bool promises = false;
  std::int64_t nodes = 3;
  bool envoy = false;
  bool gateway = false;
  bool strict = false;
  std::string against;
  std::string over = "5m";
};

// Prints how much a client loses by a bound that is never over.
void print_cost(const Rule& rule) {
  for_each_limits(rule, [&](std::span<const Quota> limits) {
    for (const Quota& quota : limits) {
      if (!quota.is_never_over()) continue;
      const auto window = format_duration(quota.window());
      std::cout << "rule '" << printable(rule.id) << "': never over " << quota.limit() << " in any "
                << window << ", so of a client that always asks " << steady_units(quota)
                << " pass per " << window
                << ", and of batches of the limit every second one at worst\n";
    }
  });
}

// Prints that clients that never commit a reservation pay nothing.
void print_lapse(const Rule& rule) {
  if (rule.lapse != Rule::Lapse::kRefund) return;
  std::cout << "rule '" << printable(rule.id)
            << "': lapse: refund, so who reserves and never commits spends nothing\n";
}

// Prints the units that pass before their cost is known, for the key that may do most.
void print_bound(const Rule& rule) {
  const bool is_unknown =
      rule.response && rule.response->cost_from != ResponseCount::CostFrom::kNowhere;
  if (!is_unknown || rule.response->reserved < 1) return;
  std::int64_t most = 0;
  for_each_limits(rule, [&](std::span<const Quota> limits) {
    most = std::max(most, std::ranges::min(limits, {}, &Quota::capacity).capacity());
  });
  std::cout << "rule '" << printable(rule.id) << "': at most "
            << count_of(static_cast<std::size_t>(most / rule.response->reserved), "request")
            << " of a key pass at once"
            << (rule.response->reserved_path
                    ? ", if they do not say what they may cost; others as long as that fits\n"
                    : "; they cost at most as many times what the dearest costs\n");
}

std::string share_of(std::int64_t units, std::int64_t limit) {
  const auto percent = limit == 0 ? 0 : algo::mul_div_ceil(units, 100, limit);
  return std::to_string(units) + " (" + std::to_string(percent) + " %)";
}

// Until all places know of requests, they may exceed a shared limit. Prints an example: a key that
// asks for much more, and places that are far apart.
void print_world(const Rule& rule) {
  constexpr std::int64_t kTimes = 16;
  constexpr Duration kTrip = std::chrono::milliseconds(150);
  if (rule.mode != Mode::kWorld || !why_unbounded(rule).empty()) return;
  for_each_limits(rule, [&](std::span<const Quota> limits) {
    for (const Quota& quota : limits) {
      const auto percent = algo::mul_div_ceil(100 * kTimes, (kWorldSyncInterval + kTrip).count(),
                                              quota.window().count());
      std::cout << "rule '" << printable(rule.id) << "': " << describe(quota)
                << " over all places, and what comes until all know: of a key that asks for "
                << kTimes << " times its limit, " << kTimes << " x ("
                << format_duration(kWorldSyncInterval) << " + " << format_duration(kTrip) << ") / "
                << format_duration(quota.window()) << ", or " << percent
                << " % of it, where a trip to their Redis takes " << format_duration(kTrip) << '\n';
    }
  });
}

// Prints a line for each limit, in columns as wide as needed: how far it may be off, if so many
// nodes serve the file.
void print_promises(const Config& config, std::int64_t nodes) {
  using Cells = std::array<std::string, 5>;
  std::vector<Cells> lines = {{"rule", "limit", "mode", "over, at most", "denied below, at most"}};
  const ServerSettings& settings = *config.settings;
  for (const Rule& rule : config.rules) {
    if (rule.effect != Rule::Effect::kLimit) continue;
    const std::string_view unbounded = why_unbounded(rule);
    const Mode mode = mode_in(settings, rule);
    for_each_limits(rule, [&](std::span<const Quota> limits) {
      for (const Quota& quota : limits) {
        const auto add = [&](const std::string& limit, const Promise& promise) {
          const std::string under = share_of(promise.under, quota.limit()) + bounded_keys(rule);
          lines.push_back({printable(rule.id), limit, std::string(mode_name(mode)),
                           unbounded.empty() ? share_of(promise.over, quota.limit()) : "no bound",
                           unbounded.empty() ? under : std::string(unbounded)});
        };
        add(describe(quota), promise_in(settings, rule, quota, nodes));
        const bool may_be_precise = settings.precise_keys > 0 && mode == Mode::kLocal &&
                                    Packing::may_be_precise(quota) && unbounded.empty();
        if (may_be_precise) {
          add("  a node's precise keys, give or take " + rounded_duration(precise_grain(quota)),
              precise_promise_of(quota));
        }
      }
    });
  }
  std::array<std::size_t, 4> widths{};
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], cells[i].size());
  }
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      std::cout << fmt::format("{:<{}}  ", cells[i], widths[i]);
    }
    std::cout << cells.back() << '\n';
  }
  std::ranges::for_each(config.rules, print_world);
}

Result<Config, ConfigErrors> load(const ValidateOptions& options) {
  if (options.gateway) return load_whole_config(options.file, ServedBy::kGateway);
  auto loaded = load_config_files({.config_file = options.file});
  const bool is_for_gateway = !loaded && !load_whole_config(options.file) &&
                              load_whole_config(options.file, ServedBy::kGateway);
  if (!is_for_gateway) return loaded;
  ConfigErrors errors = std::move(loaded.error());
  errors.push_back({.file = options.file,
                    .message = "weir gateway, or nginx with Weir in it, would take this file; "
                               "for them write 'weir validate --gateway'"});
  return errors;
}

std::string count_rules_in(const ValidateOptions& options) {
  if (options.envoy) {
    return count_of(value_or_refuse(
        load_envoy_config(options.file, SettingValues()->envoy.algorithm), std::cout));
  }
  auto config = value_or_refuse(load(options), std::cout);
  const auto rules = count_of(config.rules);
  config.rules.resize(config.rule_places.size());  // drops those of Envoy's files
  const auto warnings = config_warnings(config, options.file);
  if (options.strict && !warnings.empty()) refuse(warnings, std::cout);
  for (const auto& warning : warnings) std::cout << warning.to_string() << '\n';
  for (auto note : spelling_notes(config, options.file)) {
    note.message.insert(0, "note: ");
    std::cout << note.to_string() << '\n';
  }
  std::ranges::for_each(config.rules, print_cost);
  std::ranges::for_each(config.rules, print_bound);
  std::ranges::for_each(config.rules, print_lapse);
  if (options.promises) print_promises(config, options.nodes);
  return rules;
}

}  // namespace

void refuse(const ConfigErrors& errors, std::ostream& out) {
  for (const auto& error : errors) out << error.to_string() << '\n';
  out << "see " WEIR_DOCS "reference/settings.md#mistakes\n";
  throw CLI::RuntimeError(1);
}

CLI::Option* add_promise_options(CLI::App& command, bool& promises, std::int64_t& nodes) {
  auto* flag =
      command.add_flag("--promises", promises, "Say how far each limit may be off at worst");
  command.add_option("--nodes", nodes, "How many nodes serve it, for --promises")
      ->needs(flag)
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  return flag;
}

void add_validate_command(CLI::App& app) {
  auto* command = app.add_subcommand("validate", "Check a configuration file, as serve would");
  const auto options = std::make_shared<ValidateOptions>();
  command->add_option("FILE", options->file, "The YAML file")->required();
  command->add_flag("--envoy", options->envoy,
                    "FILE is one, or a folder, of Envoy's reference rate limit service");
  command->add_flag("--gateway", options->gateway,
                    "FILE is for weir gateway, or for nginx with Weir in it");
  add_promise_options(*command, options->promises, options->nodes)->excludes("--envoy");
  command->add_flag("--strict", options->strict, "Take warnings for mistakes");
  auto* against = command
                      ->add_option("--against", options->against,
                                   "A running server: what rules that differ would have "
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
