// weir docs: an API's limits, for those who use it.

#include "cli/rule_docs.h"

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
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
#include "base/duration_text.h"
#include "cli/commands.h"
#include "config/config.h"
#include "config/rules/rule_config.h"

namespace weir {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 8> kOperations = {"get",     "put",  "post",  "delete",
                                                         "options", "head", "patch", "trace"};

// The documentation of one rule.
struct Entry {
  const Rule* rule;
  std::vector<std::string> methods;
  std::vector<std::string> paths;
  std::vector<std::string> key;
  json::object conditions;  // of `match`, but for those two
  json::object hours;       // `active`
};

// A field that is a text or a list of them.
std::vector<std::string> texts(const json::value* value) {
  auto all = std::vector<std::string>();
  const auto add = [&](const json::value& text) {
    if (text.is_string()) all.emplace_back(text.as_string().data(), text.as_string().size());
  };
  if (value == nullptr) return all;
  if (!value->is_array()) {
    add(*value);
    return all;
  }
  for (const auto& item : value->as_array()) add(item);
  return all;
}

Entry entry_of(const Rule& rule, const RuleSource& source) {
  const auto written = json::parse(source.json);
  const auto& fields = written.as_object();
  auto entry = Entry{.rule = &rule, .key = texts(fields.if_contains("key"))};
  if (const auto* match = fields.if_contains("match"); match != nullptr && match->is_object()) {
    entry.conditions = match->as_object();
    entry.methods = texts(entry.conditions.if_contains("method"));
    entry.paths = texts(entry.conditions.if_contains("path"));
    entry.conditions.erase("method");
    entry.conditions.erase("path");
  }
  if (const auto* hours = fields.if_contains("active"); hours != nullptr && hours->is_object()) {
    entry.hours = hours->as_object();
  }
  return entry;
}

std::vector<Entry> entries_of(std::span<const Rule> rules, std::span<const RuleSource> sources) {
  auto entries = std::vector<Entry>();
  for (const auto& rule : rules) {
    const bool is_enforced = rule.match && rule.enabled && !rule.shadow;
    const auto source = std::ranges::find(sources, rule.id, &RuleSource::id);
    if (is_enforced && source != sources.end()) entries.push_back(entry_of(rule, *source));
  }
  return entries;
}

// In the order of their names.
std::map<std::string, std::span<const Quota>> sorted(const Rule::LimitsByName& named) {
  return {named.begin(), named.end()};
}

// Nothing in it ends the code or the cell of a table.
std::string code(std::string_view text) {
  auto cell = std::string("`");
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '`' ? '\'' : c;
  }
  return cell + "`";
}

std::string codes(const std::vector<std::string>& names, std::string_view if_none,
                  std::string_view separator = ", ") {
  auto all = std::string();
  for (const auto& name : names) all.append(all.empty() ? "" : separator).append(code(name));
  return all.empty() ? std::string(if_none) : all;
}

// The rule by its name, in which nothing is Markdown or HTML, and its id.
std::string rule_text(const Rule& rule) {
  if (rule.name.empty()) return rule.id;
  auto text = std::string();
  for (const char c : rule.name) {
    if (std::string_view("\\`*_[]<>|&").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text + " (" + rule.id + ")";
}

std::string limits_text(std::span<const Quota> limits) {
  auto parts = std::vector<std::string>();
  for (const auto& quota : limits) {
    auto& part = parts.emplace_back(
        fmt::format("{} per {}", quota.limit(), format_duration(quota.window())));
    if (quota.capacity() != quota.limit()) part += fmt::format(", {} at once", quota.capacity());
  }
  return fmt::format("{}", fmt::join(parts, " and "));
}

// "401", or "500 to 599".
std::vector<std::string> statuses_of(const ResponseCount& count) {
  auto statuses = std::vector<std::string>();
  for (const auto& [first, last] : count.statuses) {
    const bool is_known = first != kUnknownStatus;
    auto& text = statuses.emplace_back(is_known ? std::to_string(first) : "unknown");
    if (last != first) text += " to " + std::to_string(last);
  }
  return statuses;
}

// "mon-fri 08:00 to 18:00 Europe/Berlin".
std::string hours_text(const json::object& hours) {
  const auto field = [&](std::string_view name, std::string_view otherwise) {
    const auto found = texts(hours.if_contains(json::string_view(name.data(), name.size())));
    return found.empty() ? std::string(otherwise) : fmt::format("{}", fmt::join(found, ", "));
  };
  return fmt::format("{} {} to {} {}", field("days", "mon-sun"), field("from", "00:00"),
                     field("to", "24:00"), field("zone", "UTC"));
}

std::string requests_text(const Entry& entry) {
  auto text = codes(entry.methods, "any method") + " " + codes(entry.paths, "any path");
  if (!entry.conditions.empty()) text += ", where " + code(json::serialize(entry.conditions));
  if (!entry.hours.empty()) text += ", " + hours_text(entry.hours);
  return text;
}

std::string all_limits_text(const Rule& rule) {
  if (rule.effect == Rule::Effect::kConcurrency) {
    return fmt::format("{} under way at once", rule.quota.limit());
  }
  if (rule.effect != Rule::Effect::kLimit) return "none";
  auto text = limits_text(rule.own_limits());
  if (rule.response && !rule.response->statuses.empty()) {
    text +=
        fmt::format(", of responses with status {}", fmt::join(statuses_of(*rule.response), ", "));
  }
  for (const auto& [tier, limits] : sorted(rule.tiers)) {
    text += "; " + code(tier) + ": " + limits_text(limits);
  }
  return text;
}

std::string denial_text(const Denial& denial) {
  if (denial.blocks.empty()) {
    const bool delays = denial.delay_max > Duration{0};
    return delays ? "after a wait of up to " + format_duration(denial.delay_max) : "";
  }
  auto lengths = std::vector<std::string>();
  for (const auto length : denial.blocks) lengths.push_back(format_duration(length));
  const auto text = fmt::format("blocked for {}", fmt::join(lengths, ", then "));
  if (denial.block_after <= 1) return text;
  return fmt::format("{} after {} denials in {}", text, denial.block_after,
                     format_duration(denial.block_window));
}

// Whole where it can be.
json::value seconds(Duration duration) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(duration);
  if (whole == duration) return whole.count();
  return std::chrono::duration<double>(duration).count();
}

json::array limits_json(std::span<const Quota> limits) {
  auto array = json::array();
  for (const auto& quota : limits) {
    const auto name = algorithm_name(quota.algorithm());
    array.push_back(json::object{{"limit", quota.limit()},
                                 {"window_seconds", seconds(quota.window())},
                                 {"burst", quota.capacity()},
                                 {"algorithm", json::string_view(name.data(), name.size())}});
  }
  return array;
}

json::object entry_json(const Entry& entry) {
  const auto& rule = *entry.rule;
  auto object = json::object{{"rule", rule.id}, {"key", json::value_from(entry.key)}};
  if (rule.key_form == Rule::KeyForm::kFirst) object["key_takes"] = "first";
  if (!rule.name.empty()) object["name"] = rule.name;
  if (!entry.conditions.empty()) object["match"] = entry.conditions;
  if (!entry.hours.empty()) object["active"] = entry.hours;
  const bool limits = rule.effect == Rule::Effect::kLimit;
  object["limits"] = limits ? limits_json(rule.own_limits()) : json::array();
  if (!limits || rule.tiers.empty()) return object;
  auto tiers = json::object();
  for (const auto& [tier, tier_limits] : sorted(rule.tiers)) tiers[tier] = limits_json(tier_limits);
  object["tiers"] = std::move(tiers);
  return object;
}

void append(json::object& place, const Entry& entry) {
  auto& list = place["x-ratelimit"];
  if (!list.is_array()) list = json::array();
  list.as_array().push_back(entry_json(entry));
}

json::object& object_in(json::object& parent, std::string_view name) {
  auto& value = parent[json::string_view(name.data(), name.size())];
  if (!value.is_object()) value = json::object();
  return value.as_object();
}

}  // namespace

std::string docs_as_markdown(std::span<const Rule> rules, std::span<const RuleSource> sources) {
  auto text = std::string(
      "# Rate limits\n\n"
      "| rule | requests | counted by | limits | a denial |\n|---|---|---|---|---|\n");
  for (const auto& entry : entries_of(rules, sources)) {
    text +=
        fmt::format("| {} | {} | {} | {} | {} |\n", rule_text(*entry.rule), requests_text(entry),
                    codes(entry.key, "all together",
                          entry.rule->key_form == Rule::KeyForm::kFirst ? ", else " : ", "),
                    all_limits_text(*entry.rule), denial_text(entry.rule->denial));
  }
  return text;
}

std::string docs_as_openapi(std::span<const Rule> rules, std::span<const RuleSource> sources) {
  auto document = json::object{{"openapi", "3.1.0"},
                               {"info", {{"title", "Rate limits"}, {"version", "1"}}},
                               {"paths", json::object()}};
  for (const auto& entry : entries_of(rules, sources)) {
    if (entry.paths.empty()) append(document, entry);
    for (const auto& path : entry.paths) {
      auto& item = object_in(document["paths"].as_object(), path);
      if (entry.methods.empty()) append(item, entry);
      for (const auto& method : entry.methods) {
        const auto name = to_ascii_lower(method);
        const bool is_known = std::ranges::count(kOperations, name) > 0;
        append(is_known ? object_in(item, name) : item, entry);
      }
    }
  }
  return json::serialize(document) + "\n";
}

namespace {

struct DocsOptions {
  std::string file;
  std::string format = "markdown";
};

void print_docs(const DocsOptions& options) {
  const auto config = value_or_refuse(load_config(options.file, ServedBy::kEither), std::cerr);
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
