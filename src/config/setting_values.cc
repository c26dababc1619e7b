#include "config/setting_values.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/assert.h"
#include "base/duration_text.h"

namespace weir {
namespace {

const Field& field_of(std::string_view name) {
  const auto dot = name.find('.');
  const Field* field = kConfigSection.find(name.substr(0, dot));
  if (dot != std::string_view::npos && field != nullptr && field->section != nullptr) {
    field = field->section->find(name.substr(dot + 1));
  }
  WEIR_ASSERT(field != nullptr && field->section == nullptr);
  return *field;
}

std::string text_of(const SettingValue& value) {
  struct Text {
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const {
      std::array<char, 32> text;
      const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
      return {text.data(), end};
    }
    std::string operator()(bool boolean) const { return boolean ? "true" : "false"; }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(Duration duration) const { return format_duration(duration); }
    std::string operator()(const std::vector<std::string>& texts) const {
      std::string list;
      for (const auto& text : texts) list.append(list.empty() ? "" : ", ").append(text);
      return list;
    }
  };
  return std::visit(Text(), value);
}

struct ToSetting {
  std::optional<SettingValue> operator()(std::monostate) const { return std::nullopt; }
  std::optional<SettingValue> operator()(const YamlNode* list) const {
    std::vector<std::string> texts;
    for (const YamlNode* text : texts_of(*list)) texts.push_back(text->text);
    return texts;
  }
  std::optional<SettingValue> operator()(const auto& plain) const { return plain; }
};

}  // namespace

std::vector<Setting> settings_of(const Section& section) {
  std::vector<Setting> settings;
  for (const Field& field : section.fields) {
    if (field.type == FieldType::kSectionList) continue;
    if (field.type != FieldType::kSection) {
      settings.push_back({std::string(field.name), field});
      continue;
    }
    for (auto& inner : settings_of(*field.section)) {
      settings.push_back({std::string(field.name) + "." + inner.name, inner.field});
    }
  }
  return settings;
}

std::optional<SettingValue> setting_value(const FieldValue& value) {
  return std::visit(ToSetting(), value);
}

std::variant<SettingValue, SettingError> read_setting(const Field& field, const std::string& text) {
  using Style = YamlNode::Style;
  const bool is_text = field.type != FieldType::kInteger && field.type != FieldType::kNumber &&
                       field.type != FieldType::kBoolean;
  const YamlNode node{.kind = YamlNode::Kind::kText,
                      .style = is_text ? Style::kQuoted : Style::kPlain,
                      .text = text};
  auto checked = check_value(field, node);
  if (!checked.mistake.empty()) return SettingError{std::move(checked.mistake)};
  return *setting_value(checked.value);
}

void SettingValues::set(std::string_view name, SettingValue value, TextPlace place) {
  field_of(name);
  values_.insert_or_assign(std::string(name), Placed{std::move(value), place});
}

std::optional<SettingValue> SettingValues::find(std::string_view name) const {
  const Field& field = field_of(name);
  if (const auto found = values_.find(name); found != values_.end()) return found->second.value;
  if (field.default_text.empty()) return std::nullopt;
  return std::get<SettingValue>(read_setting(field, std::string(field.default_text)));
}

std::string SettingValues::text(std::string_view name) const {
  const auto value = find(name);
  return value ? text_of(*value) : "off";
}

void SettingValues::override_with(const SettingValues& other) {
  for (const auto& [name, placed] : other.values_) values_.insert_or_assign(name, placed);
}

}  // namespace weir
