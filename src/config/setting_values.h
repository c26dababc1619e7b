// SettingValues: what a file or a command line sets, with its place in the file, and the same with
// all defaults as a struct.
//
//   values->store.deadline                       the value, or the default
//   values.is_set<&StoreSettings::mode>()        whether somebody has set it
//
// The table of fields (setting_fields.cc) lists the settings: every field outside of `rules`. By
// full names such as "store.deadline" go those who work on all of them; a name that the table
// lacks is a bug, and stops the program.
//
// Thread rule: a value. Tested by setting_values_test.cc.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields/fields.h"
#include "config/settings.h"
#include "config/yaml/yaml_text.h"

namespace weir {

struct Setting {
  std::string name;  // with its section: "store.deadline"
  const Field& field;
  const Field* section;  // that it is in; null: none
};

// In the order of the table.
const std::vector<Setting>& all_settings();

// REQUIRES: a row has it
const std::string& setting_name(const Member& member);

// The full name of the setting that fills this member.
template <auto kPointer>
const std::string& setting_name() {
  return setting_name(member_of<kPointer>());
}

// A setting, by its full name, and its mistake.
struct SettingMistake {
  std::string setting;
  std::string message;
};

class SettingValues {
 public:
  SettingValues();

  const ServerSettings& operator*() const { return settings_; }
  const ServerSettings* operator->() const { return &settings_; }

  // REQUIRES: `value` is of the type of the setting
  void set(std::string_view name, SettingValue value, TextPlace place = {});

  bool is_set(std::string_view name) const { return values_.contains(name); }
  template <auto kPointer>
  bool is_set() const {
    return is_set(setting_name<kPointer>());
  }

  // Where the value stands in the file. REQUIRES: the file sets it
  TextPlace place_of(std::string_view name) const { return values_.find(name)->second.place; }

  // The value as it stands in a file; "off" if there is neither a value nor a default.
  std::string text(std::string_view name) const;

  // The values that `other` sets win.
  void override_with(const SettingValues& other);

 private:
  struct Placed {
    SettingValue value;
    TextPlace place;
  };

  std::map<std::string, Placed, std::less<>> values_;
  ServerSettings settings_;
};

}  // namespace weir
