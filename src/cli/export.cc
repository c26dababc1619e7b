// weir export: rules for the Worker.

#include "cli/exported_rules.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "cli/commands.h"
#include "cli/value_or_refuse.h"
#include "config/config.h"

namespace weir {
namespace {

namespace json = boost::json;

// Fields of a rule, and of its `match`, that the Worker knows.
constexpr std::array<std::string_view, 12> kRuleFields = {"id",     "name",  "algorithm", "limit",
                                                          "window", "burst", "enabled",   "shadow",
                                                          "group",  "match", "key",       "cost"};
constexpr std::string_view kMoreLimits = "more_limits";
constexpr std::array<std::string_view, 11> kMatchFields = {"method", "host",   "path",    "query",
                                                           "header", "cookie", "country", "client",
                                                           "all",    "any",    "not"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The first field, however deep, that is not one of kMatchFields; empty if there is none.
std::string_view unknown_match_field(const json::value& match) {
  if (const auto* list = match.if_array()) {
    for (const json::value& each : *list) {
      if (const auto unknown = unknown_match_field(each); !unknown.empty()) return unknown;
    }
  }
  const auto* fields = match.if_object();
  if (fields == nullptr) return {};
  for (const auto& [name, value] : *fields) {
    if (!is_one_of(kMatchFields, name)) return name;
    if (name != "all" && name != "any" && name != "not") continue;
    if (const auto unknown = unknown_match_field(value); !unknown.empty()) return unknown;
  }
  return {};
}

json::object limit_of(const Quota& quota) {
  json::object limit{{"algorithm", algorithm_name(quota.algorithm())},
                     {"limit", quota.limit()},
                     {"window_us", quota.window().count()}};
  if (quota.capacity() != quota.limit()) limit["burst"] = quota.capacity();
  return limit;
}

// One rule's way out of the configuration.
class Exported {
 public:
  Exported(const Rule& rule, const RulePlaces& places, const json::object& written)
      : rule_(rule), places_(places), written_(written) {}

  void refuse_what_is_unknown(WorkerStore store) {
    for (const auto& [name, value] : written_) {
      if (!is_one_of(kRuleFields, name) && name != kMoreLimits) {
        refuse(name, "the Worker has no '" + std::string(name) + "'");
      }
    }
    if (!rule_.match) refuse("id", "the Worker asks by request only: the rule needs a 'match'");
    if (const auto* match = written_.if_contains("match")) refuse_match(*match);
    for (const KeyPart& part : rule_.key_parts) {
      if (part.property != KeyPart::Property::kClaim) continue;
      refuse("key", "the Worker reads no tokens: a key of 'jwt:" + part.name + "' is not known");
    }
    if (rule_.cost_from) refuse("cost", "the Worker takes costs that are whole numbers only");
    for (const Quota& quota : rule_.own_limits()) refuse_algorithm(quota.algorithm(), store);
  }

  json::object to_json() const {
    json::array limits_json;
    for (const Quota& quota : rule_.own_limits()) limits_json.push_back(limit_of(quota));
    json::object rule{{"id", rule_.id},
                      {"group", rule_.group},
                      {"shadow", rule_.shadow},
                      {"cost", rule_.cost},
                      {"limits", std::move(limits_json)}};
    for (const std::string_view name : {"match", "key"}) {
      if (const auto* value = written_.if_contains(name)) rule[name] = *value;
    }
    return rule;
  }

  // Where, and what.
  std::vector<std::pair<TextPlace, std::string>> refusals;

 private:
  void refuse_algorithm(Algorithm algorithm, WorkerStore store) {
    if (algorithm == Algorithm::kAdaptive) {
      return refuse("algorithm",
                    "the Worker has no traffic for adaptive to follow; choose sliding_window, "
                    "token_bucket or exponential_backoff");
    }
    const bool counts_in_windows =
        algorithm == Algorithm::kFixedWindow || algorithm == Algorithm::kSlidingWindow;
    if (store == WorkerStore::kDurable || counts_in_windows) return;
    refuse("algorithm", std::string(algorithm_name(algorithm)) +
                            " is not kept over KV; fixed_window and sliding_window are, and "
                            "all with --store durable");
  }

  void refuse_match(const json::value& match) {
    const std::string_view unknown = unknown_match_field(match);
    if (unknown.empty()) return;
    const std::string_view remedy = unknown == "path_regex" ? "; write 'path' with '*'" : "";
    refuse("match",
           "the Worker has no '" + std::string(unknown) + "' in 'match'" + std::string(remedy));
  }

  void refuse(std::string_view field, std::string message) {
    refusals.emplace_back(places_.of(field), std::move(message));
  }

  const Rule& rule_;
  const RulePlaces& places_;
  const json::object& written_;
};

}  // namespace

std::variant<std::string, ConfigErrors> exported_rules(const Config& config,
                                                       std::span<const RuleSource> sources,
                                                       WorkerStore store, const std::string& file) {
  ConfigErrors errors;
  json::array rules;
  for (std::size_t index = 0; index < config.rules.size(); ++index) {
    const Rule& rule = config.rules[index];
    const RulePlaces& places = config.rule_places[index];
    const auto source = std::ranges::find(sources, rule.id, &RuleSource::id);
    if (source == sources.end()) {
      errors.push_back({file, places.rule.line, places.rule.column, "the rule is too large"});
      continue;
    }
    const json::value written = json::parse(source->json);
    Exported exported(rule, places, written.as_object());
    exported.refuse_what_is_unknown(store);
    for (auto& [place, message] : exported.refusals) {
      errors.push_back({file, place.line, place.column, rule.id + ": " + std::move(message)});
    }
    if (rule.enabled) rules.push_back(exported.to_json());
  }
  std::ranges::stable_sort(
      errors, {}, [](const ConfigError& error) { return std::pair(error.line, error.column); });
  if (!errors.empty()) return errors;
  return json::serialize(json::object{{"store", store == WorkerStore::kKv ? "kv" : "durable"},
                                      {"rules", std::move(rules)}});
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
  std::cout << value_or_refuse(exported_rules(config, sources, store, options.file), std::cerr)
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
