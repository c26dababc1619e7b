// SettingValues: the settings of a file or a command line, with their places in the file; and the
// same settings with all defaults, as a struct.
//
//   values->store.deadline                       the value, or the default
//   values.is_set<&StoreSettings::mode>()        whether somebody has set it
//
// The table of fields (setting_fields.cc) lists the settings: every field outside of `rules`. Code
// that works on all settings uses full names such as "store.deadline". A name that the table lacks
// is a bug, and stops the program.
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
  const Field* section;  // the section that has it; null: none
};

// In the order of the table.
const std::vector<Setting>& all_settings();

// REQUIRES: a row names the member
const std::string& setting_name(const Member& member);

// The full name of the setting that fills this member.
template <auto kPointer>
const std::string& setting_name() {
  return setting_name(member_of<kPointer>());
}

// A setting, by its full name, and what is wrong with it.
struct SettingMistake {
  std::string setting;
  std::string message;
};

class SettingValues {
 public:
  SettingValues();

  const ServerSettings& operator*() const { return settings_; }
  const ServerSettings* operator->() const { return &settings_; }

  // REQUIRES: `value` has the setting's type
  void set(std::string_view name, SettingValue value, TextPlace place = {});

  bool is_set(std::string_view name) const { return values_.contains(name); }
  template <auto kPointer>
  bool is_set() const {
    return is_set(setting_name<kPointer>());
  }

  // The value's place in the file. REQUIRES: the file sets it
  TextPlace place_of(std::string_view name) const { return values_.find(name)->second.place; }

  // The value as it would stand in a file; "off" if there is neither a value nor a default.
  std::string text(std::string_view name) const;

  // Takes the values that `other` sets; they win.
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
