// weir export: rules for the Worker.
//
// What it writes comes from the compiled rules, and not from the YAML: a value of 5 or a list of
// one is there what the server took it for.

#include "cli/exported_rules.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/commands.h"
#include "cli/value_or_refuse.h"
#include "config/config.h"
#include "config/config_file.h"
#include "rules/schedule.h"

namespace weir {
namespace {

namespace json = boost::json;

// Fields of a rule, and of its `match`, that the Worker knows.
constexpr std::array<std::string_view, 21> kRuleFields = {
    "id",        "name",  "algorithm", "limit",  "window",  "burst",       "enabled",
    "shadow",    "group", "match",     "key",    "cost",    "tier",        "tiers",
    "overrides", "allow", "deny",      "active", "on_deny", "more_limits", "missing"};
constexpr std::array<std::string_view, 4> kDenialFields = {"status", "content_type", "body",
                                                           "header"};
constexpr std::array<std::string_view, 13> kMatchFields = {
    "method", "host", "path", "case", "trailing_slash", "query", "header", "cookie", "country",
    "client", "all",  "any",  "not"};

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

json::array limits_json(std::span<const Quota> quotas) {
  json::array limits;
  for (const Quota& quota : quotas) {
    json::object limit{{"algorithm", algorithm_name(quota.algorithm())},
                       {"limit", quota.limit()},
                       {"window_us", quota.window().count()}};
    if (quota.capacity() != quota.limit()) limit["burst"] = quota.capacity();
    limits.push_back(std::move(limit));
  }
  return limits;
}

// In the order of their names, so that the same rules are the same text.
json::array named_limits_json(const Rule::LimitsByName& named) {
  json::array list;
  for (const auto& [name, limits] : std::map(named.begin(), named.end())) {
    list.push_back({{"name", name}, {"limits", limits_json(limits)}});
  }
  return list;
}

json::object key_list_json(const KeyList& list) {
  json::array networks;
  for (const IpPrefix& network : list.networks)
    networks.push_back(json::value(network.to_string()));
  json::array keys;
  for (const std::string& key : std::set(list.keys.begin(), list.keys.end())) {
    keys.push_back(json::value(key));
  }
  return {{"keys", std::move(keys)}, {"networks", std::move(networks)}};
}

// Adds a list to `object`, unless it is empty.
template <typename T, typename ToJson>
void add_list(json::object& object, std::string_view name, const std::vector<T>& list,
              ToJson to_json) {
  if (list.empty()) return;
  json::array array;
  for (const T& each : list) array.push_back(json::value(to_json(each)));
  object[name] = std::move(array);
}

json::object property_json(const PropertyMatch& property) {
  return {{"name", property.name}, {"value", property.value.text}};
}

json::object match_json(const RequestMatch& match) {
  json::object object;
  const auto pattern_json = [](const TextPattern& pattern) { return pattern.text; };
  const auto network_json = [](const IpPrefix& network) { return network.to_string(); };
  add_list(object, "method", match.methods, std::identity());
  add_list(object, "host", match.hosts, pattern_json);
  add_list(object, "path", match.paths, pattern_json);
  if (match.path_case == PathCase::kInsensitive) object["case"] = "insensitive";
  if (match.trailing_slash == TrailingSlash::kSame) object["trailing_slash"] = "same";
  add_list(object, "country", match.countries, std::identity());
  add_list(object, "client", match.clients, network_json);
  add_list(object, "header", match.headers, property_json);
  add_list(object, "query", match.parameters, property_json);
  add_list(object, "cookie", match.cookies, property_json);
  add_list(object, "all", match.all_of, match_json);
  add_list(object, "any", match.any_of, match_json);
  add_list(object, "not", match.none_of, match_json);
  return object;
}

json::object denial_json(const Denial& denial) {
  json::object object;
  if (denial.status != 0) object["status"] = denial.status;
  if (denial.body) {
    object["content_type"] = denial.content_type;
    object["body"] = denial.body->text();
  }
  add_list(object, "header", denial.headers, [](const HeaderTemplate& header) {
    return json::object{{"name", header.name}, {"value", header.value.text()}};
  });
  return object;
}

// Whether the Intl of JavaScript has the zone. The server takes every file of tzdata, which has
// `localtime` and zones with leap seconds beside them.
bool is_zone_everywhere(std::string_view zone) {
  constexpr std::array<std::string_view, 16> kAreas = {
      "Africa", "America", "Antarctica", "Arctic", "Asia",   "Atlantic", "Australia", "Brazil",
      "Canada", "Chile",   "Etc",        "Europe", "Indian", "Mexico",   "Pacific",   "US"};
  return zone == "UTC" || zone == "GMT" || is_one_of(kAreas, zone.substr(0, zone.find('/')));
}

// Days as bits, times as minutes of the day.
json::object hours_json(const Schedule::Spec& hours) {
  return {{"days", hours.days},
          {"from", hours.from.count()},
          {"to", hours.to.count()},
          {"zone", hours.zone}};
}

// One rule's way out of the configuration.
class Exported {
 public:
  Exported(const Rule& rule, const RulePlaces& places, const json::object& written)
      : rule_(rule), places_(places), written_(written) {}

  void refuse_what_is_unknown(WorkerStore store) {
    for (const auto& [name, value] : written_) {
      if (!is_one_of(kRuleFields, name)) {
        refuse(name, "the Worker has no '" + std::string(name) + "'");
      }
    }
    if (!rule_.match) refuse("id", "the Worker asks by request only: the rule needs a 'match'");
    if (const auto* match = written_.if_contains("match")) refuse_match(*match);
    for (const KeyPart& part : rule_.key_parts) refuse_claim("key", part);
    if (rule_.tier) refuse_claim("tier", *rule_.tier);
    if (rule_.cost_from) refuse("cost", "the Worker takes costs that are whole numbers only");
    refuse_denial();
    if (rule_.active) refuse_zone(rule_.active->spec().zone);
    refuse_algorithms("algorithm", rule_.own_limits(), store);
    for (const auto& [name, quotas] : rule_.tiers) refuse_algorithms("tiers", quotas, store);
    for (const auto& [name, quotas] : rule_.overrides)
      refuse_algorithms("overrides", quotas, store);
  }

  json::object to_json() const {
    json::object rule{{"id", rule_.id},
                      {"group", rule_.group},
                      {"shadow", rule_.shadow},
                      {"cost", rule_.cost},
                      {"limits", limits_json(rule_.own_limits())}};
    rule["match"] = match_json(*rule_.match);
    for (const std::string_view name : {"key", "missing", "tier"}) {
      const auto* value = written_.if_contains(name);
      if (value != nullptr && !value->is_null()) rule[name] = *value;
    }
    if (rule_.key_form == Rule::KeyForm::kFirst) rule["key_takes"] = "first";
    if (!rule_.tiers.empty()) rule["tiers"] = named_limits_json(rule_.tiers);
    if (!rule_.overrides.empty()) rule["overrides"] = named_limits_json(rule_.overrides);
    if (!rule_.allow.empty()) rule["allow"] = key_list_json(rule_.allow);
    if (!rule_.deny.empty()) rule["deny"] = key_list_json(rule_.deny);
    if (rule_.active) rule["active"] = hours_json(rule_.active->spec());
    if (auto denial = denial_json(rule_.denial); !denial.empty()) {
      rule["on_deny"] = std::move(denial);
    }
    return rule;
  }

  // Where, and what.
  std::vector<std::pair<TextPlace, std::string>> refusals;

 private:
  // Null if there is none, or nothing in it.
  const json::object* section(std::string_view name) const {
    const auto* value = written_.if_contains(name);
    return value == nullptr ? nullptr : value->if_object();
  }

  void refuse_claim(std::string_view field, const KeyPart& part) {
    if (part.property != KeyPart::Property::kClaim) return;
    refuse(field, "the Worker reads no tokens: it does not know 'jwt:" + part.name + "'");
  }

  void refuse_denial() {
    const json::object* written = section("on_deny");
    if (written == nullptr) return;
    for (const auto& [name, value] : *written) {
      if (is_one_of(kDenialFields, name)) continue;
      refuse("on_deny", "the Worker has no '" + std::string(name) + "' in 'on_deny'");
    }
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
    const bool counts_in_windows =
        algorithm == Algorithm::kFixedWindow || algorithm == Algorithm::kSlidingWindow;
    if (store == WorkerStore::kDurable || counts_in_windows) return;
    refuse(field, std::string(algorithm_name(algorithm)) +
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
    if (rule.enabled && exported.refusals.empty()) rules.push_back(exported.to_json());
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
