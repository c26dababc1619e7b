#include "config/setting_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/assert.h"
#include "base/duration_text.h"
#include "base/joined.h"
#include "config/fields/field_value.h"

namespace weir {
namespace {

template <typename Is>
const Setting& setting_that(Is is) {
  const auto found = std::ranges::find_if(all_settings(), is);
  WEIR_ASSERT(found != all_settings().end());
  return *found;
}

const Setting& setting_named(std::string_view name) {
  return setting_that([&](const Setting& setting) { return setting.name == name; });
}

void fill(ServerSettings& settings, const Setting& setting, const SettingValue& value) {
  void* owner = &settings;
  if (setting.section != nullptr) owner = setting.section->member.inner(owner);
  setting.field.member.fill(owner, setting.field, value);
}

ServerSettings defaults() {
  ServerSettings settings;
  for (const Setting& setting : all_settings()) {
    if (const auto value = default_of(setting.field)) fill(settings, setting, *value);
  }
  return settings;
}

std::vector<Setting> list_settings() {
  std::vector<Setting> settings;
  for (const Field& field : kConfigSection.fields) {
    if (field.type == FieldType::kSectionList) continue;
    if (field.type != FieldType::kSection) {
      settings.push_back({std::string(field.name), field, nullptr});
      continue;
    }
    for (const Field& inner : field.section->fields) {
      settings.push_back({std::string(field.name) + "." + std::string(inner.name), inner, &field});
    }
  }
  return settings;
}

std::string text_of(const SettingValue& value) {
  struct Text {
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const {
      std::array<char, 352> text;  // the longest has 342
      const auto end =
          std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed)
              .ptr;
      return {text.data(), end};
    }
    std::string operator()(bool boolean) const { return boolean ? "true" : "false"; }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(Duration duration) const { return format_duration(duration); }
    std::string operator()(const std::vector<std::string>& texts) const { return joined(texts); }
  };
  return std::visit(Text(), value);
}

}  // namespace

const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> kAll = list_settings();
  return kAll;
}

const std::string& setting_name(const Member& member) {
  return setting_that([&](const Setting& setting) { return setting.field.member == member; }).name;
}

SettingValues::SettingValues() {
  static const ServerSettings kDefaults = defaults();
  settings_ = kDefaults;
}

void SettingValues::set(std::string_view name, SettingValue value, TextPlace place) {
  fill(settings_, setting_named(name), value);
  values_.insert_or_assign(std::string(name), Placed{std::move(value), place});
}

std::string SettingValues::text(std::string_view name) const {
  if (const auto found = values_.find(name); found != values_.end()) {
    return text_of(found->second.value);
  }
  const auto value = default_of(setting_named(name).field);
  return value ? text_of(*value) : "off";
}

void SettingValues::override_with(const SettingValues& other) {
  for (const auto& [name, placed] : other.values_) set(name, placed.value, placed.place);
}

}  // namespace weir
