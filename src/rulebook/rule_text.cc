#include "rulebook/rule_text.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/joined.h"
#include "config/yaml/yaml_document.h"
#include "proto/json_writer.h"
#include "rules/time/calendar.h"
#include "weir/quota.h"

namespace weir {
namespace {

// The fields that are told apart from the others.
constexpr std::array<std::string_view, 7> kDescribed = {"id",    "algorithm", "limit", "window",
                                                        "burst", "enabled",   "shadow"};
constexpr std::size_t kShownMax = 32;  // bytes of a value

// A value that can stand in a line of a log.
std::optional<std::string> shown(const boost::json::value& value) {
  if (!value.is_string()) {
    return value.is_number() ? std::optional(to_json(value)) : std::nullopt;
  }
  const auto& text = value.as_string();
  const auto is_plain = [](char c) { return c > ' ' && c <= '~' && c != ',' && c != ';'; };
  if (text.empty() || text.size() > kShownMax || !std::ranges::all_of(text, is_plain)) {
    return std::nullopt;
  }
  return std::string(text);
}

// "key from client to host", "status 503", "no tier", "match". Null: it is not there.
std::string changed_field(std::string_view name, const boost::json::value* before,
                          const boost::json::value* after) {
  const std::string field(name);
  if (after == nullptr) return "no " + field;
  if (after->is_bool()) return field + (after->as_bool() ? " on" : " off");
  const auto is = shown(*after);
  if (!is) return field;
  const auto was = before == nullptr ? std::nullopt : shown(*before);
  return field + (was ? " from " + *was + " to " : " ") + *is;
}

std::string_view text_in(const TextsById& texts, std::string_view id) {
  const auto found = texts.find(id);
  return found == texts.end() ? "{}" : found->second;
}

// Of the first in its order, then those that only the second has.
void add_fields(std::vector<std::string>& changes, std::string_view before,
                std::string_view after) {
  if (before == after) return;
  const auto was = boost::json::parse(before).as_object();
  const auto is = boost::json::parse(after).as_object();
  const auto add = [&](std::string_view name) {
    if (std::ranges::count(kDescribed, name) > 0) return;
    changes.push_back(changed_field(name, was.if_contains(name), is.if_contains(name)));
  };
  for (const auto& [name, value] : was) {
    const auto* now = is.if_contains(name);
    if (now == nullptr || *now != value) add(name);
  }
  for (const auto& [name, value] : is) {
    if (!was.contains(name)) add(name);
  }
}

std::vector<std::string> ids_also_in(const RuleSet& others, const RuleSet& rules) {
  std::vector<std::string> ids;
  for (const Rule& rule : rules.rules()) {
    if (others.find(rule.id) != nullptr) ids.push_back(rule.id);
  }
  return ids;
}

// What is under way at once has no algorithm and no window.
std::string limit_of(const Rule& rule) {
  return rule.effect == Rule::Effect::kConcurrency
             ? "concurrency " + std::to_string(rule.quota.limit())
             : describe(rule.quota);
}

}  // namespace

TextsById texts_by_id(std::span<const RuleSource> sources) {
  TextsById texts;
  for (const RuleSource& source : sources) texts.emplace(source.id, source.json);
  return texts;
}

std::string count_of(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string count_of(std::span<const Rule> rules) {
  const auto counts = [](const Rule& rule) { return rule.effect != Rule::Effect::kExempt; };
  return count_of(static_cast<std::size_t>(std::ranges::count_if(rules, counts)), "rule");
}

std::string describe(const Quota& quota) {
  auto text = std::string(algorithm_name(quota.algorithm())) + " " + std::to_string(quota.limit()) +
              " per " + window_text(quota);
  if (quota.is_never_over()) text += ", never over";
  if (quota.capacity() != quota.limit()) text += ", burst " + std::to_string(quota.capacity());
  return text;
}

std::string describe(const Rule& rule) {
  return limit_of(rule) + (rule.enabled ? "" : ", disabled");
}

std::vector<std::string> describe_changes(const DescribedRules& before,
                                          const DescribedRules& after) {
  const TextsById written_before = texts_by_id(before.sources);
  const TextsById written = texts_by_id(after.sources);
  auto changes = std::vector<std::string>();
  for (const auto& rule : after.rules.rules()) {
    const auto* old = before.rules.find(rule.id);
    if (old == nullptr) {
      changes.push_back("added " + rule.id + ": " + describe(rule));
      continue;
    }
    auto parts = std::vector<std::string>();
    if (old->enabled != rule.enabled) parts.push_back(rule.enabled ? "enabled" : "disabled");
    if (old->shadow != rule.shadow) parts.push_back(rule.shadow ? "shadow on" : "shadow off");
    add_fields(parts, text_in(written_before, rule.id), text_in(written, rule.id));
    const auto was = limit_of(*old);
    const auto now = limit_of(rule);
    const auto others = joined(parts);
    if (was != now) {
      const auto also = others.empty() ? "" : "; also " + others;
      changes.push_back("changed " + rule.id + ": " + was + ", now " + now + also);
    } else if (!others.empty()) {
      changes.push_back("changed " + rule.id + ": " + others);
    }
  }
  for (const auto& rule : before.rules.rules()) {
    if (after.rules.find(rule.id) == nullptr) changes.push_back("removed " + rule.id);
  }
  const auto was = ids_also_in(after.rules, before.rules);
  const auto is = ids_also_in(before.rules, after.rules);
  const auto [old, now] = std::ranges::mismatch(was, is);
  if (now != is.end()) changes.push_back("reordered: " + *now + " is before " + *old);
  return changes;
}

bool is_about(std::string_view change, std::string_view id) {
  change.remove_prefix(change.find(' ') + 1);
  return change.starts_with(id) && (change.size() == id.size() || change[id.size()] == ':');
}

std::string describe(const RuleAuthor& author) {
  return author.by.empty() ? author.who : json_string(author.by) + " at " + author.who;
}

std::string reason_of(const RuleAuthor& author) {
  return author.why.empty() ? "" : ", because " + json_string(author.why);
}

}  // namespace weir
