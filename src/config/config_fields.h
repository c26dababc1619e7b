// The fields of a configuration file, in one table.
//
// A row is a whole setting: the loader's checks and messages, the JSON Schema, the option
// of `weir serve`, the environment variable, the default, the warning that only a restart
// changes it, and the table in docs/reference/settings.md come from it. To add one: add its row,
// refresh both documents with WEIR_UPDATE_EXPECTED=1 config_test, and read the value where
// it is used, by name: settings.get<Duration>("store.deadline"). The fields of rules have
// rows alike (rules/rule_fields.cc); rules/rule_config.cc reads them.
//
//   row::duration("deadline", {1'000, 10'000'000}, "How long a check may wait.")
//       .defaults_to("20ms")
//       .set_by({"--redis-deadline", "How long a check may wait for the Redis"})
//       .needs_restart(),
//
// Thread rule: constants. Tested by config_fields_test.cc and config_schema_test.py.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weir/quota.h"

namespace weir {

enum class FieldType : std::uint8_t {
  kSection,      // a map with fields of its own
  kSectionList,  // a list of such maps
  kInteger,      // min to max
  kNumber,       // min to max, with or without decimals
  kBoolean,
  kChoice,    // one of `choices`
  kName,      // 1 to 64 of letters, digits and _ . : -
  kDuration,  // min to max, in microseconds
  kListenAddress,
  kText,      // of the field's form; without one any text, number or boolean
  kTextList,  // one such text, or a list of them
  kTree,      // any map
};

// What a text must look like.
struct TextForm {
  std::string_view pattern;   // of the whole; means the same to RE2 and to JSON Schema
  std::string_view expected;  // "a path that begins with '/'"
};

inline constexpr TextForm kNotEmpty = {"^[^\\x00]+$", "a text that is not empty"};
inline constexpr TextForm kHeaderNameForm = {"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",  // RFC 9110, 5.6.2
                                             "the name of a header, such as X-Api-Key"};
inline constexpr TextForm kNetworkForm = {
    "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$",
    "a network such as 192.0.2.0/24 or 2001:db8::/32, or an address"};  // of IpPrefix
inline constexpr const TextForm* kAnyText = nullptr;
inline constexpr std::size_t kTextMax = 1024;     // bytes
inline constexpr std::size_t kTextListMax = 256;  // texts

// In the order of weir::Algorithm.
inline constexpr std::array<std::string_view, kAlgorithmCount> kAlgorithmNames = {
    "fixed_window", "sliding_log",         "sliding_window",
    "token_bucket", "exponential_backoff", "adaptive"};

struct Section;

// Another field of the same section and the value it must have.
struct Condition {
  std::string_view field;  // a kChoice; empty: there is no condition
  std::string_view value;
};

// How `weir serve` takes a setting beside the file.
struct Option {
  std::string_view name;  // "--sync-interval"; empty: the file alone has it
  std::string_view help;
  std::string_view variable{};  // of the environment; the option wins over it
};

struct FieldRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};
inline constexpr FieldRange kWindowRange = {kWindowMin.count(), kWindowMax.count()};

// A row of the table. Those below make one; its functions return it with something changed.
struct Field {
  enum class Presence : std::uint8_t { kOptional, kRequired };
  enum class Change : std::uint8_t { kByReload, kByRestart };

  std::string_view name;
  FieldType type;
  std::string_view description;
  FieldRange range{};
  std::span<const std::string_view> choices{};
  const Section* section = nullptr;
  const TextForm* form = kAnyText;
  Presence presence = Presence::kOptional;
  Condition condition{};
  // As it would stand in the file. Empty: required, or decided elsewhere.
  std::string_view default_text{};
  Option option{};
  Change change = Change::kByReload;

  // First, as clang 16 must have its body where a constant needs it.
  template <typename T>
  constexpr Field with(T Field::*member, const T& value) const {
    Field field = *this;
    field.*member = value;
    return field;
  }

  constexpr Field required() const { return with(&Field::presence, Presence::kRequired); }
  constexpr Field only_if(const Condition& value) const { return with(&Field::condition, value); }
  constexpr Field defaults_to(std::string_view text) const {
    return with(&Field::default_text, text);
  }
  constexpr Field set_by(const Option& value) const { return with(&Field::option, value); }
  constexpr Field needs_restart() const { return with(&Field::change, Change::kByRestart); }
};

struct Section {
  std::string_view name;  // as messages call it: "a rule"
  std::string_view description;
  std::span<const Field> fields;

  // Null if there is none.
  const Field* find(std::string_view field_name) const;
  std::vector<std::string_view> field_names() const;
};

extern const Section kConfigSection;  // the whole file
extern const Section kRuleSection;
extern const Section kMatchSection;

namespace row {

using Text = std::string_view;

constexpr Field section(Text name, const Section& inner, Text description) {
  return {name, FieldType::kSection, description, {}, {}, &inner};
}
constexpr Field sections(Text name, const Section& item, Text description) {
  return {name, FieldType::kSectionList, description, {}, {}, &item};
}
constexpr Field integer(Text name, FieldRange range, Text description) {
  return {name, FieldType::kInteger, description, range};
}
constexpr Field number(Text name, FieldRange range, Text description) {
  return {name, FieldType::kNumber, description, range};
}
constexpr Field duration(Text name, FieldRange range_us, Text description) {
  return {name, FieldType::kDuration, description, range_us};
}
constexpr Field boolean(Text name, Text description) {
  return Field{name, FieldType::kBoolean, description}.defaults_to("false");
}
constexpr Field choice(Text name, std::span<const Text> choices, Text description) {
  return {name, FieldType::kChoice, description, {}, choices};
}
constexpr Field id(Text name, Text description) { return {name, FieldType::kName, description}; }
constexpr Field address(Text name, Text description) {
  return {name, FieldType::kListenAddress, description};
}
constexpr Field text(Text name, const TextForm* form, Text description) {
  return {name, FieldType::kText, description, {}, {}, nullptr, form};
}
constexpr Field texts(Text name, const TextForm* form, Text description) {
  return {name, FieldType::kTextList, description, {}, {}, nullptr, form};
}
constexpr Field tree(Text name, Text description) { return {name, FieldType::kTree, description}; }

}  // namespace row

}  // namespace weir
