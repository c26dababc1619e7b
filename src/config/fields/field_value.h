// One value of a configuration file, checked against its field.
//
// Types are those of YAML 1.2's core schema, which editors with the JSON Schema also check. limit:
// "5" is a text and not a number; enabled: yes is a text, too.
//
// Thread rule: pure functions. Tested by field_value_test.cc.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/fault.h"
#include "config/fields/fields.h"
#include "config/yaml/yaml_document.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

// By the field's type: an integer, a number, a boolean, a duration, or the text of a choice, name
// or address. A duration may be a choice. A section or tree has a map, a section list a list, and a
// text list a text or a list. Empty sections count as absent: monostate.
using FieldValue = std::variant<std::monostate, std::int64_t, double, bool, std::string, Duration,
                                const YamlNode*>;

struct CheckedValue {
  FieldValue value;
  std::string mistake{};  // what is wrong and what would be right; empty if nothing is wrong
  const YamlNode* culprit = nullptr;  // the wrong item of a list; null: the node itself
};

CheckedValue check_value(const Field& field, const YamlNode& node);

// Nothing if there is no value. REQUIRES: the field is no section, list of sections, or tree
std::optional<SettingValue> setting_value(const FieldValue& value);

// Reads a text of the command line.
Result<SettingValue, Fault> read_setting(const Field& field, const std::string& text);

// Nothing if the field has no default.
std::optional<SettingValue> default_of(const Field& field);

// The texts of a text list after it was checked.
std::vector<const YamlNode*> texts_of(const YamlNode& node);

// "a whole number from 1 to 256": the value that a message asks for.
std::string expected_text(const Field& field);

// "the text 'ten'", "a list", "5": the value that a message has found.
std::string found_text(const YamlNode& node);

// "'threads' must be a whole number from 1 to 256, but is the text 'two'".
std::string mismatch(const Field& field, const YamlNode& node);

}  // namespace weir
