#include "config/fields/section_reader.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/nearest_name.h"

namespace weir {
namespace {

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

// The other section that has such a field; null if none has.
const Section* home_of(std::string_view name, const Section& elsewhere) {
  for (const Section* section :
       {&kConfigSection, kConfigSection.find("listen")->section, &kRuleSection, &kMatchSection,
        kConfigSection.find("tls")->section}) {
    if (section != &elsewhere && section->find(name) != nullptr) return section;
  }
  return nullptr;
}

std::string unknown_key(const YamlNode& key, const Section& section) {
  if (key.text == "<<") {
    return "merge keys ('<<') are not supported; write the fields out";
  }
  const std::string message = "unknown key " + in_quotes(key.text);
  const std::size_t colon = key.text.find(':');
  if (colon != std::string::npos && section.find(key.text.substr(0, colon)) != nullptr) {
    return message + "; put a space after the colon";
  }
  const std::vector<std::string_view> names = section.field_names();
  const Section* home = home_of(key.text, section);
  if (home != nullptr && nearest_name(key.text, names).empty()) {
    return message + " here; it belongs to " + std::string(home->name);
  }
  return message + "; " + name_hint(key.text, names);
}

// " with 'id', 'limit' and 'window'": the fields that the section requires.
std::string required_names(const Section& section) {
  std::vector<std::string> names;
  for (const Field& field : section.fields) {
    if (field.presence == Field::Presence::kRequired) names.push_back(in_quotes(field.name));
  }
  std::string text;
  for (const std::string& name : names) {
    const bool is_last = &name == &names.back();
    text += (text.empty() ? " with " : is_last ? " and " : ", ") + name;
  }
  return text;
}

// yaml-cpp does not give the place of an empty value.
const TextPlace& place_of_value(const YamlNode& key, const YamlNode& value) {
  return value.kind == YamlNode::Kind::kEmpty ? key.place : value.place;
}

}  // namespace

void Mistakes::add(const TextPlace& place, std::string message) {
  if (full_) return;
  full_ = errors_.size() == kConfigErrorsMax;
  if (full_) message = "more mistakes follow; fix these first";
  errors_.push_back({file_, place.line, place.column, std::move(message)});
}

ConfigErrors Mistakes::take() {
  // If the last entry says that there are more, it stays last.
  const auto end = full_ ? errors_.end() - 1 : errors_.end();
  std::stable_sort(errors_.begin(), end, [](const ConfigError& a, const ConfigError& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  return std::move(errors_);
}

SectionReader::SectionReader(const Section& section, const YamlNode& node, Mistakes& mistakes)
    : section_(section), node_(node), mistakes_(mistakes), slots_(section.fields.size()) {
  WEIR_ASSERT(node.kind == YamlNode::Kind::kMap);
  for (const YamlNode::Entry& entry : node.entries) {
    if (mistakes_.full()) break;
    read_entry(entry);
  }
  check_required();
  check_conditions();
}

void SectionReader::read_entry(const YamlNode::Entry& entry) {
  const YamlNode& key = *entry.key;
  if (key.kind != YamlNode::Kind::kText) {
    return refuse(key.place, "a key must be a text, but is " + found_text(key));
  }
  const Field* field = section_.find(key.text);
  if (field == nullptr) {
    note_meant_field(key.text);
    return refuse(key.place, unknown_key(key, section_));
  }
  Slot& slot = slots_[index_of(field->name)];
  if (slot.key != nullptr) {
    return refuse(key.place, "duplicate key " + in_quotes(key.text) +
                                 "; it is already set in line " +
                                 std::to_string(slot.key->place.line));
  }
  slot.key = entry.key;
  slot.node = entry.value;
  CheckedValue checked = check_value(*field, *entry.value);
  slot.value = std::move(checked.value);
  if (!checked.mistake.empty()) {
    const YamlNode& culprit = checked.culprit != nullptr ? *checked.culprit : *entry.value;
    refuse(place_of_value(key, culprit), std::move(checked.mistake));
  }
}

// Notes that a mistyped field is not missing, too.
void SectionReader::note_meant_field(std::string_view unknown) {
  const std::string_view meant = nearest_name(unknown, section_.field_names());
  if (!meant.empty()) slots_[index_of(meant)].mistyped = true;
}

void SectionReader::check_required() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Field& field = section_.fields[i];
    const bool is_there = slots_[i].key != nullptr || slots_[i].mistyped;
    const bool is_required = field.presence == Field::Presence::kRequired && applies(field) == true;
    if (!is_required || is_there) continue;
    refuse(place(), std::string(section_.name) + " needs '" + std::string(field.name) +
                        "': " + expected_text(field));
  }
}

std::string_view SectionReader::choice(std::string_view field) const {
  const auto* set = std::get_if<std::string>(&slot(field).value);
  return set != nullptr ? std::string_view(*set) : section_.find(field)->default_text;
}

std::optional<bool> SectionReader::applies(const Field& field) const {
  const Condition& condition = field.condition;
  if (condition.field.empty()) return true;
  const Slot& decider = slot(condition.field);
  const bool is_set = std::holds_alternative<std::string>(decider.value);
  if ((decider.key != nullptr && !is_set) || decider.mistyped) return std::nullopt;
  return choice(condition.field) == condition.value;
}

void SectionReader::check_conditions() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Field& field = section_.fields[i];
    if (slots_[i].key == nullptr || applies(field) != false) continue;
    const Condition& condition = field.condition;
    const std::string_view unless = condition.unless;
    if (!unless.empty() && std::holds_alternative<std::string>(slot(unless).value)) continue;
    const std::string wanted = std::string(condition.field) + ": " + std::string(condition.value);
    refuse(slots_[i].key->place, "'" + std::string(field.name) + "' is only for '" + wanted +
                                     "', but '" + std::string(condition.field) + "' is " +
                                     std::string(choice(condition.field)) +
                                     "; remove one or change the other");
  }
}

void SectionReader::fill(void* target, const void* tag) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Field& field = section_.fields[i];
    if (field.member.owner != tag || field.member.fill == nullptr) continue;
    const bool is_word = std::holds_alternative<std::string>(slots_[i].value);
    if (is_word && field.type == FieldType::kDuration) continue;
    auto value = setting_value(slots_[i].value);
    if (!value) value = default_of(field);
    if (value) field.member.fill(target, field, *value);
  }
}

const TextPlace& SectionReader::place_of(std::string_view field) const {
  const Slot& found = slot(field);
  return found.key == nullptr ? place() : place_of_value(*found.key, *found.node);
}

std::vector<const YamlNode*> SectionReader::texts(std::string_view field) const {
  const auto node = get<const YamlNode*>(field);
  return node ? texts_of(**node) : std::vector<const YamlNode*>();
}

std::optional<SectionReader> SectionReader::section(std::string_view field) const {
  const auto node = get<const YamlNode*>(field);
  if (!node) return std::nullopt;
  return SectionReader(*section_.find(field)->section, **node, mistakes_);
}

std::optional<SectionReader> SectionReader::item_of(std::string_view field,
                                                    std::size_t index) const {
  const Section& section = *section_.find(field)->section;
  const YamlNode& item = *slot(field).node->items[index];
  if (item.kind == YamlNode::Kind::kMap) return SectionReader(section, item, mistakes_);
  const bool empty = item.kind == YamlNode::Kind::kEmpty;  // yaml-cpp gives it no place
  mistake(empty ? place_of(field) : item.place, std::string(section.name) + " must be a map" +
                                                    required_names(section) + ", but is " +
                                                    found_text(item));
  return std::nullopt;
}

void SectionReader::mistake(std::string_view field, std::string message) const {
  mistake(place_of(field), std::move(message));
}

void SectionReader::mistake(const TextPlace& place, std::string message) const {
  mistakes_.add(place, std::move(message));
}

void SectionReader::reject(std::string_view field, std::string_view expected) const {
  std::string message = "'" + std::string(field) + "' must be " + std::string(expected);
  if (const auto* node = slot(field).node) message += ", but is " + found_text(*node);
  mistake(field, std::move(message));
}

std::size_t SectionReader::index_of(std::string_view field) const {
  const Field* found = section_.find(field);
  WEIR_ASSERT(found != nullptr);
  return static_cast<std::size_t>(found - section_.fields.data());
}

void SectionReader::refuse(const TextPlace& place, std::string message) {
  valid_ = false;
  mistakes_.add(place, std::move(message));
}

}  // namespace weir
