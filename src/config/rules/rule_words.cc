#include "config/rules/rule_words.h"

#include <boost/json/parse.hpp>
#include <map>
#include <span>

#include "base/duration_text.h"
#include "base/joined.h"
#include "config/rules/rule_config.h"
#include "config/yaml/yaml_document.h"
#include "rules/time/calendar.h"

namespace weir {
namespace {

namespace json = boost::json;

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

json::object object_in(const json::object& fields, std::string_view name) {
  const auto* value = fields.if_contains(name);
  return value != nullptr && value->is_object() ? value->as_object() : json::object();
}

// Puts the text between backticks; nothing in it can end the code.
std::string code(std::string_view text) {
  auto quoted = std::string("`");
  for (const char c : text) quoted += c == '`' ? '\'' : c;
  return quoted + "`";
}

std::string codes(const std::vector<std::string>& names, std::string_view if_none,
                  std::string_view separator = ", ") {
  return names.empty() ? std::string(if_none) : joined(names, separator, code);
}

std::string limits_text(std::span<const Quota> limits) {
  auto parts = std::vector<std::string>();
  for (const auto& quota : limits) {
    auto& part = parts.emplace_back(std::to_string(quota.limit()) + " per " + window_text(quota));
    if (quota.capacity() != quota.limit()) {
      part += ", " + std::to_string(quota.capacity()) + " at once";
    }
    if (quota.is_never_over()) part += ", never over on one node";
  }
  return joined(parts, " and ");
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
    const auto found = texts(hours.if_contains(name));
    return found.empty() ? std::string(otherwise) : joined(found, ", ");
  };
  return field("days", "mon-sun") + " " + field("from", "00:00") + " to " + field("to", "24:00") +
         " " + field("zone", "UTC");
}

std::string requests_text(const Rule& rule, const WrittenRule& written) {
  if (rule.has_slots()) return "work that takes its slots";
  if (!rule.match) return rule.descriptor ? "descriptors of Envoy" : "checks that name the rule";
  auto text = codes(written.methods, "any method") + " " + codes(written.paths, "any path");
  if (rule.match->path_case == PathCase::kInsensitive) text += " in any case";
  if (rule.match->trailing_slash == TrailingSlash::kSame) text += ", with or without a last slash";
  if (!written.conditions.empty()) text += ", where " + code(to_json(written.conditions));
  if (!written.hours.empty()) text += ", " + hours_text(written.hours);
  return text;
}

std::string key_text(const Rule& rule, const WrittenRule& written) {
  if (!rule.match) return rule.descriptor ? "their values" : "the key that they name";
  const bool takes_first = rule.key_form == Rule::KeyForm::kFirst;
  return codes(written.key, "all together", takes_first ? ", else " : ", ");
}

std::string all_limits_text(const Rule& rule) {
  if (rule.effect == Rule::Effect::kConcurrency) {
    return std::to_string(rule.quota.limit()) + " under way at once";
  }
  if (rule.effect != Rule::Effect::kLimit) return "none";
  auto text = limits_text(rule.own_limits());
  if (rule.response && !rule.response->statuses.empty()) {
    text += ", of responses with status " + joined(statuses_of(*rule.response), ", ");
  }
  for (const auto& [tier, limits] : std::map(rule.tiers.begin(), rule.tiers.end())) {
    text += "; " + code(tier) + ": " + limits_text(limits);
  }
  return text;
}

std::string denial_text(const Rule& rule) {
  const Denial& denial = rule.denial;
  auto parts = std::vector<std::string>();
  if (rule.enforced_percent < 100) {
    parts.push_back("only " + std::to_string(rule.enforced_percent) + " % of the keys");
  }
  if (rule.is_proportional) parts.push_back("only the share above the limit");
  if (denial.delay_max > Duration{0}) {
    parts.push_back("after a wait of up to " + format_duration(denial.delay_max));
  }
  auto lengths = std::vector<std::string>();
  for (const auto length : denial.blocks) lengths.push_back(format_duration(length));
  if (!lengths.empty() && denial.block_after > 1) {
    parts.push_back("after " + std::to_string(denial.block_after) + " denials in " +
                    format_duration(denial.block_window) + ": blocked for ");
  } else if (!lengths.empty()) {
    parts.emplace_back("blocked for ");
  }
  if (!lengths.empty()) parts.back() += joined(lengths, ", then for ");
  return joined(parts, ", ");
}

}  // namespace

WrittenRule written_rule(std::string_view text) {
  if (text.empty()) return {};
  const auto fields = json::parse(text).as_object();
  auto rule = WrittenRule{.key = texts(fields.if_contains("key")),
                          .conditions = object_in(fields, "match"),
                          .hours = object_in(fields, "active")};
  rule.methods = texts(rule.conditions.if_contains("method"));
  rule.paths = texts(rule.conditions.if_contains("path"));
  // These fields say how paths are compared; they are no further conditions.
  for (const auto name : {"method", "path", "case", "trailing_slash"}) rule.conditions.erase(name);
  return rule;
}

std::string off_text(const Rule& rule, const std::function<Off(const Quota&)>& off_of) {
  auto above = std::vector<std::string>();
  auto below = std::vector<std::string>();
  const auto add = [&](std::span<const Quota> limits) {
    for (const auto& limit : limits) {
      const auto off = off_of(limit);
      above.push_back(std::to_string(off.promise.over) + off.aside);
      below.push_back(std::to_string(off.promise.under));
    }
  };
  add(rule.own_limits());
  for (const auto& [tier, limits] : std::map(rule.tiers.begin(), rule.tiers.end())) add(limits);
  return ", off by " + joined(above, ", ") + " above or " + joined(below, ", ") + " below at worst";
}

std::string bounded_keys(const Rule& rule) {
  if (rule.enforced_percent == 100) return {};
  return ", for " + std::to_string(rule.enforced_percent) +
         " % of the keys; the others are not denied";
}

std::string_view why_unbounded(const Rule& rule) {
  if (!rule.enabled) return "it is disabled";
  if (rule.shadow) return "it is in shadow";
  const bool lends = rule.overdraft != Rule::Overdraft::kNone;
  return lends ? "costs count whether or not they fit" : "";
}

RuleWords words_of(const Rule& rule, const WrittenRule& written) {
  return {.requests = requests_text(rule, written),
          .key = key_text(rule, written),
          .limits = all_limits_text(rule),
          .denial = denial_text(rule)};
}

}  // namespace weir
