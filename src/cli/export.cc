// weir export: rules for the Worker.

#include "cli/exported_rules.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "config/config.h"
#include "rules/packed/packed_rules.h"

namespace weir {
namespace {

namespace json = boost::json;

// The fields of a rule, of its `match` and of its `on_deny` that the Worker knows: packed_rules.h
// has all. A blank stands around each name.
constexpr std::string_view kKnown =
    " id name algorithm limit window burst enabled shadow group match key missing cost tier tiers "
    "overrides allow deny active more_limits on_deny "
    "match.method match.host match.path match.case match.trailing_slash match.query match.header "
    "match.cookie match.country match.client match.all match.any match.not "
    "on_deny.status on_deny.content_type on_deny.body on_deny.header ";

// Calls `visit` with the section and the name of each field that the Worker does not know.
template <typename Visit>
void for_each_unknown(const json::value& value, const std::string& section, Visit visit) {
  if (const auto* list = value.if_array()) {
    for (const json::value& each : *list) for_each_unknown(each, section, visit);
  }
  const auto* fields = value.if_object();
  if (fields == nullptr) return;
  for (const auto& [name, inner] : *fields) {
    const std::string whole = (section.empty() ? "" : section + '.') + std::string(name);
    if (kKnown.find(' ' + whole + ' ') == std::string_view::npos) {
      visit(section, name);
    } else if (whole == "match" || whole == "on_deny") {
      for_each_unknown(inner, whole, visit);
    } else if (whole == "match.all" || whole == "match.any" || whole == "match.not") {
      for_each_unknown(inner, "match", visit);
    }
  }
}

// Whether JavaScript's Intl has the zone. The server takes every file of tzdata, which also has
// `localtime` and zones with leap seconds.
bool is_zone_everywhere(std::string_view zone) {
  constexpr std::array<std::string_view, 16> kAreas = {
      "Africa", "America", "Antarctica", "Arctic", "Asia",   "Atlantic", "Australia", "Brazil",
      "Canada", "Chile",   "Etc",        "Europe", "Indian", "Mexico",   "Pacific",   "US"};
  const std::string_view area = zone.substr(0, zone.find('/'));
  return zone == "UTC" || zone == "GMT" || std::ranges::find(kAreas, area) != kAreas.end();
}

// The parts of one rule that the Worker cannot carry out.
class Refusals {
 public:
  Refusals(const Rule& rule, const RulePlaces& places) : rule_(rule), places_(places) {}

  void find(const json::value& written, WorkerStore store) {
    for_each_unknown(written, "", [this](const std::string& section, std::string_view name) {
      refuse_field(section, name);
    });
    if (!rule_.match) refuse("id", "the Worker asks by request only: the rule needs a 'match'");
    for (const KeyPart& part : rule_.key_parts) refuse_claim("key", part);
    if (rule_.tier) refuse_claim("tier", *rule_.tier);
    if (rule_.cost_from) refuse("cost", "the Worker takes costs that are whole numbers only");
    refuse_claims_in_denial();
    if (rule_.active) refuse_zone(rule_.active->spec().zone);
    refuse_algorithms("algorithm", rule_.own_limits(), store);
    for (const auto& [name, quotas] : rule_.tiers) refuse_algorithms("tiers", quotas, store);
    for (const auto& [name, quotas] : rule_.overrides)
      refuse_algorithms("overrides", quotas, store);
  }

  // Where, and what.
  std::vector<std::pair<TextPlace, std::string>> found;

 private:
  void refuse_field(const std::string& section, std::string_view name) {
    std::string message = "the Worker has no '" + std::string(name) + "'";
    if (!section.empty()) message += " in '" + section + "'";
    message += name == "path_regex" ? "; write 'path' with '*'" : "; remove it";
    refuse(section.empty() ? name : section, std::move(message));
  }

  void refuse_claim(std::string_view field, const KeyPart& part) {
    if (part.property != KeyPart::Property::kClaim) return;
    refuse(field, "the Worker reads no tokens: it does not know 'jwt:" + part.name + "'");
  }

  void refuse_claims_in_denial() {
    const auto refuse_part = [this](const KeyPart& part) { refuse_claim("on_deny", part); };
    if (rule_.denial.body) rule_.denial.body->for_each_part(refuse_part);
    for (const HeaderTemplate& header : rule_.denial.headers) {
      header.value.for_each_part(refuse_part);
    }
  }

  void refuse_zone(const std::string& zone) {
    if (is_zone_everywhere(zone)) return;
    refuse("active",
           "the Worker has no zone '" + zone + "'; write one such as Europe/Berlin or UTC");
  }

  void refuse_algorithms(std::string_view field, std::span<const Quota> quotas, WorkerStore store) {
    for (const Quota& quota : quotas) refuse_algorithm(field, quota.algorithm(), store);
  }

  void refuse_algorithm(std::string_view field, Algorithm algorithm, WorkerStore store) {
    if (algorithm == Algorithm::kAdaptive) {
      return refuse(field,
                    "the Worker has no traffic for adaptive to follow; choose sliding_window, "
                    "token_bucket or exponential_backoff");
    }
    if (algorithm == Algorithm::kStrictWindow) {
      return refuse(field, "the Worker has no window for 'bound: never_over'; remove it");
    }
    if (algorithm == Algorithm::kCalendarWindow) {
      return refuse(field, "the Worker knows no calendar; write 'window' as a length such as 24h");
    }
    const bool counts_in_windows =
        algorithm == Algorithm::kFixedWindow || algorithm == Algorithm::kSlidingWindow;
    if (store == WorkerStore::kDurable || counts_in_windows) return;
    refuse(field, std::string(algorithm_name(algorithm)) +
                      " is not kept over KV; fixed_window and sliding_window are, and "
                      "all with --store durable");
  }

  void refuse(std::string_view field, std::string message) {
    auto refusal = std::pair(places_.of(field), std::move(message));
    const bool is_known = std::ranges::find(found, refusal) != found.end();  // of another limit
    if (!is_known) found.push_back(std::move(refusal));
  }

  const Rule& rule_;
  const RulePlaces& places_;
};

}  // namespace

Result<std::string, ConfigErrors> exported_rules(const Config& config,
                                                 std::span<const RuleSource> sources,
                                                 WorkerStore store, const std::string& file) {
  ConfigErrors errors;
  std::vector<Rule> rules;
  for (std::size_t index = 0; index < config.rules.size(); ++index) {
    const Rule& rule = config.rules[index];
    const RulePlaces& places = config.rule_places[index];
    const auto source = std::ranges::find(sources, rule.id, &RuleSource::id);
    if (source == sources.end()) {
      errors.push_back({file, places.rule.line, places.rule.column, "the rule is too large"});
      continue;
    }
    Refusals refusals(rule, places);
    refusals.find(json::parse(source->json), store);
    for (auto& [place, message] : refusals.found) {
      errors.push_back({file, place.line, place.column, rule.id + ": " + std::move(message)});
    }
    if (rule.enabled) rules.push_back(rule);
  }
  std::ranges::stable_sort(
      errors, {}, [](const ConfigError& error) { return std::pair(error.line, error.column); });
  if (!errors.empty()) return errors;
  return (store == WorkerStore::kKv ? 'k' : 'd') + packed_rules(rules);
}

namespace {

struct ExportOptions {
  std::string file;
  std::string store = "kv";
};

void print_rules(const ExportOptions& options) {
  const auto config = value_or_refuse(load_config(options.file), std::cerr);
  const auto store = options.store == "kv" ? WorkerStore::kKv : WorkerStore::kDurable;
  const auto sources = config_sources(config.text).rules;
  std::cout << value_or_refuse(exported_rules(config, sources, store, options.file), std::cerr);
}

}  // namespace

void add_export_command(CLI::App& app) {
  auto* command = app.add_subcommand("export", "Print the rules, packed, for the Worker");
  const auto options = std::make_shared<ExportOptions>();
  command->add_option("FILE", options->file, "The YAML file with the rules")->required();
  command->add_option("--store", options->store, "What the Worker counts in: kv or durable [kv]")
      ->check(CLI::IsMember({"kv", "durable"}));
  command->callback([options] { print_rules(*options); });
}

}  // namespace weir
