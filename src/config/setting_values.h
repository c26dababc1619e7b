// SettingValues: what a file or a command line sets, by full names such as "store.deadline".
//
// The table of fields (config_fields.h) lists the settings: every field outside of `rules`.
// A name that the table lacks is a bug, and stops the program.
//
// Thread rule: a value. Tested by setting_values_test.cc.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config_fields.h"
#include "config/field_value.h"
#include "config/yaml/yaml_text.h"
#include "weir/time.h"

namespace weir {

struct Setting {
  std::string name;  // with its section: "store.deadline"
  const Field& field;
};

// In the order of the table.
std::vector<Setting> settings_of(const Section& section = kConfigSection);

using SettingValue =
    std::variant<std::int64_t, double, bool, std::string, Duration, std::vector<std::string>>;

// Nothing if the value is not set, or no setting's.
std::optional<SettingValue> setting_value(const FieldValue& value);

// Reads a command line's text, or a default's. An error is the sentence about it.
struct SettingError {
  std::string message;
};
std::variant<SettingValue, SettingError> read_setting(const Field& field, const std::string& text);

// A setting, by its full name, and its mistake.
struct SettingMistake {
  std::string setting;
  std::string message;
};

class SettingValues {
 public:
  void set(std::string_view name, SettingValue value, TextPlace place = {});
  bool is_set(std::string_view name) const { return values_.contains(name); }

  // The value that is set, else the table's default, else T().
  // REQUIRES: T is what SettingValue holds for the type of the setting
  template <typename T>
  T get(std::string_view name) const {
    const auto value = find(name);
    return value ? std::get<T>(*value) : T();
  }

  // Where the value stands in the file. REQUIRES: the file sets it
  TextPlace place_of(std::string_view name) const { return values_.find(name)->second.place; }

  // The value as it stands in a file; "off" if there is neither a value nor a default.
  std::string text(std::string_view name) const;

  // What `other` sets wins.
  void override_with(const SettingValues& other);

 private:
  struct Placed {
    SettingValue value;
    TextPlace place;
  };

  std::optional<SettingValue> find(std::string_view name) const;

  std::map<std::string, Placed, std::less<>> values_;
};

}  // namespace weir
