#include "cli/rulebook.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <utility>

#include "cli/replace_file.h"
#include "cli/rule_text.h"
#include "rules/config_file.h"
#include "rules/rule_conflicts.h"

namespace weir {
namespace {

using Kind = RuleChange::Kind;

constexpr std::size_t kMistakesTold = 10;

template <typename Sources>
auto find_rule(Sources& sources, std::string_view id) {
  return std::ranges::find(sources, id, &RuleSource::id);
}

// "1:20: 'limit' is missing; ..."; the rule begins in line 2 of what was parsed.
std::string describe_mistakes(const ConfigErrors& errors) {
  auto text = std::string();
  for (std::size_t i = 0; i < std::min(errors.size(), kMistakesTold); ++i) {
    auto error = errors[i];
    error.file = "rule";
    error.line -= error.line > 1 ? 1 : 0;
    text += (i > 0 ? "\n" : "") + error.to_string();
  }
  return text;
}

// Line i + 2 is that of rule i.
std::string describe_conflicts(const ConfigErrors& errors, const std::vector<RuleSource>& draft) {
  auto text = std::string();
  for (std::size_t i = 0; i < std::min(errors.size(), kMistakesTold); ++i) {
    const auto rule = errors[i].line - 2;
    if (i > 0) text += "\n";
    if (rule < draft.size()) text += "rule '" + draft[rule].id + "': ";
    text += errors[i].message;
  }
  return text;
}

std::string with_enabled(const std::string& rule_json, bool enabled) {
  auto rule = boost::json::parse(rule_json);
  rule.as_object()["enabled"] = enabled;
  return boost::json::serialize(rule);
}

}  // namespace

Rulebook::Loaded Rulebook::load(Content content) {
  const std::scoped_lock lock(mutex_);
  auto loaded = Loaded{.changes = {}, .lost = unwritten()};
  text_ = std::move(content.text);
  in_file_ = config_sources(text_);
  sources_ = content.sources;
  envoy_.clear();
  std::ranges::copy_if(content.rules, std::back_inserter(envoy_), [&](const Rule& rule) {
    return find_rule(in_file_.rules, rule.id) == in_file_.rules.end();
  });
  auto compiled = compile_(std::move(content.rules), std::move(content.sources));
  loaded.changes = put_in_force(in_file_.rules, std::move(compiled));
  return loaded;
}

// Returns what is different from before.
std::vector<std::string> Rulebook::put_in_force(Sources sources, RuleSetPtr rules) {
  auto changes = std::vector<std::string>();
  if (rules_ != nullptr) {
    changes = describe_changes({.rules = *rules_, .sources = in_force_},
                               {.rules = *rules, .sources = sources});
  }
  in_force_ = std::move(sources);
  rules_ = std::move(rules);
  ++version_;
  apply_(rules_);
  return changes;
}

RuleSetPtr Rulebook::rules() const {
  const std::scoped_lock lock(mutex_);
  return rules_;
}

bool Rulebook::file_has_changed() const {
  const auto text = read_config_file(file_);
  const std::scoped_lock lock(mutex_);
  const auto* found = std::get_if<std::string>(&text);
  return found == nullptr || *found != text_;
}

std::vector<std::string> Rulebook::unwritten() const {
  auto ids = std::vector<std::string>();
  for (const auto& rule : in_force_) {
    const auto written = find_rule(in_file_.rules, rule.id);
    if (written == in_file_.rules.end() || *written != rule) ids.push_back(rule.id);
  }
  for (const auto& rule : in_file_.rules) {
    if (find_rule(in_force_, rule.id) == in_force_.end()) ids.push_back(rule.id);
  }
  return ids;
}

RulesView Rulebook::view() const {
  const std::scoped_lock lock(mutex_);
  auto view = RulesView{.version = version_};
  for (const auto& rule : in_force_) {
    const bool is_written = std::ranges::count(in_file_.rules, rule) > 0;
    view.rules.push_back({.id = rule.id,
                          .json = rule.json,
                          .origin = is_written ? RuleOrigin::kFile : RuleOrigin::kRequest});
  }
  for (const auto& rule : envoy_) {
    view.rules.push_back({.id = rule.id, .json = {}, .origin = RuleOrigin::kEnvoy});
  }
  for (const auto& rule : in_file_.rules) {
    if (find_rule(in_force_, rule.id) == in_force_.end()) view.removed.push_back(rule.id);
  }
  return view;
}

RuleReply Rulebook::refusal(int status, std::string detail) const {
  return {.status = status, .detail = std::move(detail), .version = version_};
}

// The rule in the request, by itself.
std::variant<RuleSource, RuleReply> Rulebook::read_rule(const RuleChange& change) const {
  auto probe = in_file_;
  probe.rules = {{.id = change.id, .json = change.text}};
  const auto text = config_text(probe);
  const auto parsed = parse_config(text, "rule");
  if (const auto* errors = std::get_if<ConfigErrors>(&parsed)) {
    return refusal(400, describe_mistakes(*errors));
  }
  auto read = config_sources(text);
  if (read.rules.size() != 1 || read.others != in_file_.others) {
    return refusal(400, "The body must be one rule.");
  }
  if (read.rules.front().id != change.id) {
    return refusal(400, "The rule's id must be the one in the path, '" + change.id + "'.");
  }
  return std::move(read.rules.front());
}

std::variant<RuleSource, RuleReply> Rulebook::wanted_rule(const RuleChange& change) const {
  if (std::ranges::count(envoy_, change.id, &Rule::id) > 0) {
    return refusal(409, "This rule is from a file of Envoy's service; change it there.");
  }
  if (change.kind == Kind::kPut) return read_rule(change);
  const auto known = find_rule(in_force_, change.id);
  if (known == in_force_.end()) return refusal(404, "There is no rule of this id.");
  if (change.kind == Kind::kRemove) return *known;
  return RuleSource{.id = change.id,
                    .json = with_enabled(known->json, change.kind == Kind::kEnable)};
}

// All rules together.
std::variant<std::vector<Rule>, RuleReply> Rulebook::checked(const Sources& draft) const {
  auto parsed = parse_config(config_text({.others = in_file_.others, .rules = draft}), "rules");
  if (const auto* errors = std::get_if<ConfigErrors>(&parsed)) {
    return refusal(409, describe_conflicts(*errors, draft));
  }
  auto rules = std::get<Config>(std::move(parsed)).rules;
  std::ranges::copy(envoy_, std::back_inserter(rules));
  if (auto conflict = descriptor_conflict(rules)) return refusal(409, *std::move(conflict));
  return rules;
}

// Why it could not.
std::optional<std::string> Rulebook::write_back(const RuleEdit& edit) {
  if (file_.empty()) return "there is no configuration file";
  const auto text = read_config_file(file_);
  if (const auto* errors = std::get_if<ConfigErrors>(&text)) return errors->front().to_string();
  if (std::get<std::string>(text) != text_) {
    return file_ + " has changed since it was read; reload it first";
  }
  auto edited = edit_rule(text_, edit);
  if (const auto* refused = std::get_if<EditRefusal>(&edited)) {
    return file_ + " was not written: " + refused->reason + "; edit it there";
  }
  if (auto error = replace_file(file_, std::get<std::string>(edited), kAsBefore)) return error;
  text_ = std::get<std::string>(std::move(edited));
  in_file_ = config_sources(text_);
  return std::nullopt;
}

RuleReply Rulebook::change(const RuleChange& change, Instant) {
  const std::scoped_lock lock(mutex_);
  if (change.if_version.value_or(version_) != version_) {
    return refusal(412, "The rules are at another version: " + std::to_string(version_) + ".");
  }
  auto wanted = wanted_rule(change);
  if (auto* refused = std::get_if<RuleReply>(&wanted)) return std::move(*refused);
  const auto& rule = std::get<RuleSource>(wanted);

  auto draft = in_force_;
  const auto place = find_rule(draft, change.id);
  const bool is_new = place == draft.end();
  if (is_new) {
    draft.push_back(rule);
  } else if (change.kind == Kind::kRemove) {
    draft.erase(place);
  } else {
    *place = rule;
  }
  auto rules = checked(draft);
  if (auto* refused = std::get_if<RuleReply>(&rules)) return std::move(*refused);
  if (change.keep == RuleChange::Keep::kInFile) {
    const bool removes = change.kind == Kind::kRemove;
    const auto edit =
        RuleEdit{.id = change.id, .json = removes ? std::nullopt : std::optional(rule.json)};
    if (auto error = write_back(edit)) return refusal(409, *std::move(error));
  }
  auto compiled = compile_(std::get<std::vector<Rule>>(std::move(rules)), sources_);
  for (const auto& line : put_in_force(std::move(draft), std::move(compiled))) {
    spdlog::info("by request: {}", line);
  }
  return {.status = is_new ? 201 : 200, .detail = {}, .version = version_};
}

}  // namespace weir
