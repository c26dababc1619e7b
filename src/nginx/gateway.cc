#include "nginx/gateway.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/nearest_name.h"
#include "config/config_warnings.h"
#include "gate/header_settings.h"
#include "store/redis/fleet/node_fleet.h"

namespace weir::nginx {
namespace {

void refuse(const std::string& file, const TextPlace& place, std::string reason,
            Gateway::Sentences& mistakes) {
  mistakes.push_back(ConfigError{
      .file = file, .line = place.line, .column = place.column, .message = std::move(reason)}
                         .to_string());
}

Gateway::Sentences sentences_of(const ConfigErrors& errors) {
  Gateway::Sentences sentences;
  for (const ConfigError& error : errors) sentences.push_back(error.to_string());
  return sentences;
}

// Settings of `weir serve` that would change answers, and that workers lack.
Gateway::Sentences mistakes_in(const Config& config, const std::string& file) {
  Gateway::Sentences mistakes;
  if (!config.settings.is_set<&EnvoySettings::config>()) return mistakes;
  refuse(file, config.settings.place_of(setting_name<&EnvoySettings::config>()),
         "'config' of 'envoy' is for weir serve: nginx has no descriptors; remove it", mistakes);
  return mistakes;
}

}  // namespace

RuleNumber RuleIds::number_of(const std::string& id) {
  if (const auto known = numbers_.find(id); known != numbers_.end()) return known->second;
  if (ids_.size() == RuleCounts::kRulesMax) return kNoRuleNumber;
  const auto number = static_cast<RuleNumber>(ids_.size());
  ids_.push_back(id);
  numbers_.emplace(id, number);
  return number;
}

RuleNumber RuleIds::known(const std::string& id) const {
  const auto found = numbers_.find(id);
  return found == numbers_.end() ? kNoRuleNumber : found->second;
}

Result<std::unique_ptr<Gateway>, Gateway::Sentences> Gateway::load(const std::string& file,
                                                                   RuleIds& ids) {
  auto loaded = load_config(file, ServedBy::kGateway);
  if (!loaded) return sentences_of(loaded.error());
  auto& config = *loaded;
  if (auto mistakes = mistakes_in(config, file); !mistakes.empty()) return mistakes;

  auto gateway = std::unique_ptr<Gateway>(new Gateway());
  if (auto mistakes = gateway->read_store(config, file); !mistakes.empty()) return mistakes;
  gateway->version_ = ids.next_version();
  gateway->texts_ = config_sources(config.text);
  gateway->headers_ = header_settings(*config.settings);
  gateway->warnings_ = sentences_of(config_warnings(config, file));
  for (Rule& rule : config.rules) rule.number = ids.number_of(rule.id);
  gateway->sets_.push_back(std::make_shared<const RuleSet>(config.rules, config.sources));
  gateway->config_ = std::move(config);
  return gateway;
}

// The Redis need not run yet; the files that its URL names must exist.
Gateway::Sentences Gateway::read_store(const Config& config, const std::string& file) {
  Sentences mistakes;
  auto settings = fleet_settings(config.settings);
  if (!settings) {
    const auto& mistake = settings.error();
    refuse(file, config.settings.place_of(mistake.setting), mistake.message, mistakes);
    return mistakes;
  }
  fleet_ = *std::move(settings);
  if (!fleet_) return mistakes;
  auto trust = TlsTrust::load(fleet_->url.tls);
  if (!trust) {
    refuse(file, config.settings.place_of(setting_name<&StoreSettings::redis>()),
           trust.error().message, mistakes);
    return mistakes;
  }
  trust_ = *std::move(trust);
  return mistakes;
}

Result<std::size_t, Fault> Gateway::choose(std::span<const std::string_view> names) {
  std::vector<std::string> key(names.begin(), names.end());
  if (const auto known = chosen_.find(key); known != chosen_.end()) return known->second;
  auto rules = chosen_among(config_.rules, key);
  if (!rules) return std::move(rules.error());
  sets_.push_back(std::make_shared<const RuleSet>(*std::move(rules), config_.sources));
  chosen_.emplace(std::move(key), sets_.size() - 1);
  return sets_.size() - 1;
}

Result<std::vector<RuleSetPtr>, Fault> Gateway::sets_of(std::vector<Rule> rules) const {
  std::vector<RuleSetPtr> sets(sets_.size());
  for (const auto& [names, number] : chosen_) {
    auto chosen = chosen_among(rules, names);
    if (!chosen) return Fault{"weir_rules: " + chosen.error().message};
    sets[number] = std::make_shared<const RuleSet>(*std::move(chosen), config_.sources);
  }
  sets.front() = std::make_shared<const RuleSet>(std::move(rules), config_.sources);
  return sets;
}

Result<std::vector<Rule>, Fault> Gateway::chosen_among(const std::vector<Rule>& all,
                                                       std::span<const std::string> names) {
  std::vector<std::string_view> unknown(names.begin(), names.end());
  std::vector<Rule> rules;
  for (const Rule& rule : all) {
    const bool is_named = std::ranges::find(names, rule.id) != names.end();
    const bool is_in_group =
        !rule.group.empty() && std::ranges::find(names, rule.group) != names.end();
    if (!is_named && !is_in_group) continue;
    std::erase(unknown, rule.id);
    if (!rule.group.empty()) std::erase(unknown, rule.group);
    Rule& chosen = rules.emplace_back(rule);
    if (!is_named || chosen.match) continue;
    chosen.match.emplace();
    chosen.key_parts = {KeyPart{}};
    if (chosen.group.empty()) chosen.group = chosen.id;  // applies next to the others
  }
  if (!unknown.empty()) {
    std::vector<std::string_view> ids;
    for (const Rule& rule : all) ids.push_back(rule.id);
    const std::string_view near = nearest_name(unknown.front(), ids);
    return Fault{"no rule or group is named '" + std::string(unknown.front()) + "'" +
                 (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?")};
  }
  std::set<std::string_view> groups;
  for (const Rule& rule : rules) groups.insert(rule.group);
  if (groups.size() > kGroupsMax) {
    return Fault{"no more than " + std::to_string(kGroupsMax) +
                 " rules or groups can apply at once"};
  }
  return rules;
}

}  // namespace weir::nginx
