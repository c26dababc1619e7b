// The rules of a configuration file as texts, for code that shows rules, changes one, and writes it
// back.
//
//   rules:                               {"id":"login","limit":5,"window":"1m"}
//     - id: login      <->               in one line, with the file's own fields
//       limit: 5
//       window: 1m
//
// JSON is YAML, so what is shown can be sent back and goes through the same loader.
//
// Thread rule: pure functions. Tested by rule_sources_test.cc.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "weir/result.h"

namespace weir {

struct RuleSource {
  std::string id;
  std::string json;  // an object, in one line

  friend bool operator==(const RuleSource&, const RuleSource&) = default;
};

struct ConfigSources {
  std::string others = "{}";  // all but the rules, as a JSON object
  std::vector<RuleSource> rules;
};

// REQUIRES: parse_config(text) has no errors. A rule too large for JSON is missing.
ConfigSources config_sources(std::string_view text);

// A configuration with these rules. Line i + 2 has rule i.
std::string config_text(const ConfigSources& sources);

// `text` after the edit: this rule replaces the rule with its id, else comes after the last rule.
// Without `json`, the rule with this id goes. Nothing else changes; above all, comments stay.
struct RuleEdit {
  std::string id;
  std::optional<std::string> json{};
};
Result<std::string, Fault> edit_rule(std::string_view text, const RuleEdit& edit);

}  // namespace weir
