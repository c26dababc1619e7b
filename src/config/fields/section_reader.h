// Reads one section of a configuration file: the fields that it sets, and all its mistakes.
//
//   const SectionReader rule(kRuleSection, node, mistakes);
//   rule.fill(quota);  // the members that rows name
//   if (rule.valid()) use(rule.get<std::int64_t>("cost"));
//
// Thread rule: one thread. Tested by src/config/config_test.cc.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields/field_value.h"
#include "config/fields/fields.h"
#include "config/yaml/yaml_document.h"

namespace weir {

// The mistakes of a file, up to kConfigErrorsMax.
class Mistakes {
 public:
  explicit Mistakes(std::string file) : file_(std::move(file)) {}

  void add(const TextPlace& place, std::string message);

  bool empty() const { return errors_.empty(); }
  // Whether there were more than will be reported. Then nobody need look for others.
  bool full() const { return full_; }

  // In the order of the file.
  ConfigErrors take();

 private:
  std::string file_;
  ConfigErrors errors_;
  bool full_ = false;
};

class SectionReader {
 public:
  // Checks the whole section, and reports to `mistakes`.
  // REQUIRES: `node` is a map; `node` and `mistakes` outlive the reader
  SectionReader(const Section& section, const YamlNode& node, Mistakes& mistakes);

  // Whether all fields are right, and none is missing.
  bool valid() const { return valid_; }

  // Whether the field is there, even if it is empty.
  bool is_set(std::string_view field) const { return slot(field).key != nullptr; }

  // Nothing if the field is not set, or is wrong. REQUIRES: the section has the field.
  const FieldValue& value(std::string_view field) const { return slot(field).value; }
  template <typename T>
  std::optional<T> get(std::string_view field) const {
    const T* found = std::get_if<T>(&value(field));
    return found == nullptr ? std::nullopt : std::optional<T>(*found);
  }

  // Fills the members of `target` that the section's rows name: with the file's value, else with
  // the row's default. Else a member stays as it is.
  template <typename Struct>
  void fill(Struct& target) const {
    fill(&target, &kStructTag<Struct>);
  }

  // The texts of a kTextList, in order; empty if the file does not set it.
  std::vector<const YamlNode*> texts(std::string_view field) const;

  // A kSection; nothing if the file does not set it.
  std::optional<SectionReader> section(std::string_view field) const;

  // Calls `read` with a reader of each item of a kSectionList. Reports items that are no maps.
  template <typename Read>
  void for_each(std::string_view field, Read read) const {
    const auto list = get<const YamlNode*>(field);
    for (std::size_t i = 0; list && i < (*list)->items.size() && !mistakes_.full(); ++i) {
      if (const auto item = item_of(field, i)) read(*item);
    }
  }

  // The section's place. place_of(): a field's value's, or the section's if the field is not set.
  const TextPlace& place() const { return node_.place; }
  const TextPlace& place_of(std::string_view field) const;

  // Reports a mistake that only shows when fields, or rules, are seen together.
  void mistake(std::string_view field, std::string message) const;
  void mistake(const TextPlace& place, std::string message) const;
  // "'limit' must be EXPECTED, but is ..."
  void reject(std::string_view field, std::string_view expected) const;

 private:
  struct Slot {
    const YamlNode* key = nullptr;  // null: not set
    const YamlNode* node = nullptr;
    bool mistyped = false;  // not set, but there is a key that looks like it
    FieldValue value;
  };

  void fill(void* target, const void* tag) const;
  std::size_t index_of(std::string_view field) const;
  const Slot& slot(std::string_view field) const { return slots_[index_of(field)]; }
  std::optional<SectionReader> item_of(std::string_view field, std::size_t index) const;
  void refuse(const TextPlace& place, std::string message);
  void read_entry(const YamlNode::Entry& entry);
  void note_meant_field(std::string_view unknown);
  // The text of a kChoice: the file's, or the default.
  std::string_view choice(std::string_view field) const;
  // Whether the field's condition holds. Nothing if the field that decides is wrong.
  std::optional<bool> applies(const Field& field) const;
  void check_required();
  void check_conditions();

  const Section& section_;
  const YamlNode& node_;
  Mistakes& mistakes_;
  std::vector<Slot> slots_;  // parallel to section_.fields
  bool valid_ = true;
};

}  // namespace weir
