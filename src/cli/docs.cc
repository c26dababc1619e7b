// weir docs: an API's limits, for its users.

#include "cli/rule_docs.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "cli/commands.h"
#include "config/config.h"
#include "config/rules/rule_config.h"
#include "config/rules/rule_words.h"

namespace weir {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 8> kOperations = {"get",     "put",  "post",  "delete",
                                                         "options", "head", "patch", "trace"};

// The documentation of one rule.
struct Entry {
  const Rule* rule;
  WrittenRule written;
};

std::vector<Entry> entries_of(std::span<const Rule> rules, std::span<const RuleSource> sources) {
  auto entries = std::vector<Entry>();
  for (const auto& rule : rules) {
    const bool is_enforced = rule.match && rule.enabled && !rule.shadow;
    const auto source = std::ranges::find(sources, rule.id, &RuleSource::id);
    if (is_enforced && source != sources.end()) {
      entries.push_back({.rule = &rule, .written = written_rule(source->json)});
    }
  }
  return entries;
}

// The limits in the order of their names.
std::map<std::string, std::span<const Quota>> sorted(const Rule::LimitsByName& named) {
  return {named.begin(), named.end()};
}

// The rule by its name, with Markdown and HTML escaped, and its id.
std::string rule_text(const Rule& rule) {
  if (rule.name.empty()) return rule.id;
  auto text = std::string();
  for (const char c : rule.name) {
    if (std::string_view("\\`*_[]<>|&").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text + " (" + rule.id + ")";
}

// A whole number if possible.
json::value seconds(Duration duration) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(duration);
  if (whole == duration) return whole.count();
  return std::chrono::duration<double>(duration).count();
}

// A rule's keys have a promise if the rule may deny them, and some number bounds them.
bool is_bounded(const Rule& rule) {
  return rule.effect == Rule::Effect::kLimit && why_unbounded(rule).empty();
}

json::array limits_json(const Rule& rule, std::span<const Quota> limits, const PromiseOf& promise) {
  auto array = json::array();
  for (const auto& quota : limits) {
    const auto name = algorithm_name(quota.algorithm());
    auto limit = json::object{{"limit", quota.limit()},
                              {"window_seconds", seconds(quota.window())},
                              {"burst", quota.capacity()},
                              {"algorithm", json::string_view(name.data(), name.size())}};
    if (quota.is_never_over()) limit["bound"] = "never_over";
    if (quota.is_by_calendar()) limit["calendar"] = window_text(quota);
    if (promise && is_bounded(rule)) {
      const auto [over, under] = promise(rule, quota);
      limit["over_max"] = over;
      limit["under_max"] = under;
    }
    array.push_back(std::move(limit));
  }
  return array;
}

json::object entry_json(const Entry& entry, const PromiseOf& promise) {
  const auto& rule = *entry.rule;
  auto object = json::object{{"rule", rule.id}, {"key", json::value_from(entry.written.key)}};
  if (rule.key_form == Rule::KeyForm::kFirst) object["key_takes"] = "first";
  if (!rule.name.empty()) object["name"] = rule.name;
  if (!entry.written.conditions.empty()) object["match"] = entry.written.conditions;
  if (!entry.written.hours.empty()) object["active"] = entry.written.hours;
  const bool limits = rule.effect == Rule::Effect::kLimit;
  object["limits"] = limits ? limits_json(rule, rule.own_limits(), promise) : json::array();
  if (!limits || rule.tiers.empty()) return object;
  auto tiers = json::object();
  for (const auto& [tier, tier_limits] : sorted(rule.tiers)) {
    tiers[tier] = limits_json(rule, tier_limits, promise);
  }
  object["tiers"] = std::move(tiers);
  return object;
}

void append(json::object& place, const Entry& entry, const PromiseOf& promise) {
  auto& list = place["x-ratelimit"];
  if (!list.is_array()) list = json::array();
  list.as_array().push_back(entry_json(entry, promise));
}

json::object& object_in(json::object& parent, std::string_view name) {
  auto& value = parent[json::string_view(name.data(), name.size())];
  if (!value.is_object()) value = json::object();
  return value.as_object();
}

}  // namespace

std::string docs_as_markdown(std::span<const Rule> rules, std::span<const RuleSource> sources,
                             const PromiseOf& promise) {
  auto text = std::string(
      "# Rate limits\n\n"
      "| rule | requests | counted by | limits | a denial |\n|---|---|---|---|---|\n");
  for (const auto& [rule, written] : entries_of(rules, sources)) {
    auto words = words_of(*rule, written);
    if (promise && is_bounded(*rule)) {
      words.limits +=
          off_text(*rule, [&](const Quota& limit) { return Off{promise(*rule, limit)}; });
    }
    text += "| " + rule_text(*rule);
    for (const auto& cell : {words.requests, words.key, words.limits, words.denial}) {
      text += " | " + boost::replace_all_copy(cell, "|", "\\|");
    }
    text += " |\n";
  }
  return text;
}

std::string docs_as_openapi(std::span<const Rule> rules, std::span<const RuleSource> sources,
                            const PromiseOf& promise) {
  auto document = json::object{{"openapi", "3.1.0"},
                               {"info", {{"title", "Rate limits"}, {"version", "1"}}},
                               {"paths", json::object()}};
  for (const auto& entry : entries_of(rules, sources)) {
    if (entry.written.paths.empty()) append(document, entry, promise);
    for (const auto& path : entry.written.paths) {
      auto& item = object_in(document["paths"].as_object(), path);
      if (entry.written.methods.empty()) append(item, entry, promise);
      for (const auto& method : entry.written.methods) {
        const auto name = to_ascii_lower(method);
        const bool is_known = std::ranges::count(kOperations, name) > 0;
        append(is_known ? object_in(item, name) : item, entry, promise);
      }
    }
  }
  return json::serialize(document) + "\n";
}

Promise promise_in(const ServerSettings& settings, const Rule& rule, const Quota& quota,
                   std::int64_t nodes) {
  const auto mode = mode_in(settings, rule);
  const auto stores = has_copies(mode) ? settings.threads.value_or(1) : 1;
  return promise_of(quota, mode, nodes * static_cast<std::int64_t>(stores));
}

namespace {

struct DocsOptions {
  std::string file;
  std::string format = "markdown";
  bool promises = false;
  std::int64_t nodes = 3;
};

void print_docs(const DocsOptions& options) {
  const auto config = value_or_refuse(load_config(options.file, ServedBy::kEither), std::cerr);
  const auto sources = config_sources(config.text).rules;
  PromiseOf promise;
  if (options.promises) {
    promise = [&](const Rule& rule, const Quota& quota) {
      return promise_in(*config.settings, rule, quota, options.nodes);
    };
  }
  const auto print = options.format == "openapi" ? docs_as_openapi : docs_as_markdown;
  std::cout << print(config.rules, sources, promise);
}

}  // namespace

void add_docs_command(CLI::App& app) {
  auto* command = app.add_subcommand("docs", "Print an API's limits for those who use it");
  const auto options = std::make_shared<DocsOptions>();
  command->add_option("FILE", options->file, "The YAML file with the rules")->required();
  command->add_option("--format", options->format, "markdown or openapi [markdown]")
      ->check(CLI::IsMember({"markdown", "openapi"}));
  add_promise_options(*command, options->promises, options->nodes);
  command->callback([options] { print_docs(*options); });
}

}  // namespace weir
