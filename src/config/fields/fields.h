// The fields of a configuration file, in one table.
//
// A row is a whole setting. It gives the loader's checks and messages, the JSON Schema, the option
// of `weir serve` and the environment variable. It also gives the default, the warning that only a
// restart changes it, and the table in docs/reference/settings.md. To add a setting: add its row,
// and the member that it fills (config/settings.h). Refresh both documents with
// WEIR_UPDATE_EXPECTED=1 config_test, and read the member where it is used. A row whose member has
// another type does not compile. The fields of rules have such rows, too (rules/rule_fields.cc).
//
//   row::duration<&StoreSettings::deadline>("deadline", {1'000, 10'000'000}, "How long ...")
//       .defaults_to("20ms")
//       .set_by({"--redis-deadline", "How long a check may wait for the Redis"})
//       .needs_restart(),
//
// Thread rule: constants. Tested by fields_test.cc and src/config/config_schema_test.py.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "rules/text/text_pattern.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

enum class FieldType : std::uint8_t {
  kSection,      // a map with fields of its own
  kSectionList,  // a list of such maps
  kInteger,      // min to max
  kNumber,       // min to max, with or without decimals
  kBoolean,
  kChoice,    // one of `choices`
  kName,      // 1 to 64 characters: letters, digits and _ . : -
  kDuration,  // min to max, in microseconds; or one of `choices`, which fills no member
  kListenAddress,
  kText,      // a text of the field's form; without a form any text, number or boolean
  kTextList,  // one kText, or a list of them
  kTree,      // any map
};

// The form that a text must have.
struct TextForm {
  std::string_view pattern;   // of the whole text; RE2 and JSON Schema read it alike
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

struct Section;

// The value that another field of the same section must have.
struct Condition {
  std::string_view field;  // a kChoice; empty: there is no condition
  std::string_view value;
  std::string_view unless{};  // a kDuration: if it has a word, its reader says more
};

// How `weir serve` takes a setting apart from the file.
struct Option {
  std::string_view name;  // "--sync-interval"; empty: only the file has it
  std::string_view help;
  std::string_view variable{};  // of the environment; the option wins
};

using TextPatterns = std::vector<TextPattern>;

// The value of a field, except for sections and trees.
using SettingValue =
    std::variant<std::int64_t, double, bool, std::string, Duration, std::vector<std::string>>;

struct FieldRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};
inline constexpr FieldRange kWindowRange = {kWindowMin.count(), kWindowMax.count()};

struct Field;

// The tag of a struct: its address identifies the struct.
template <typename Struct>
inline constexpr char kStructTag = 0;

// The member of a struct that a row fills.
struct Member {
  const void* owner = nullptr;  // the struct's tag; null: its reader asks for the field
  void (*fill)(void* owner, const Field& field, const SettingValue& value) = nullptr;
  void* (*inner)(void* owner) = nullptr;  // for a kSection: the struct of its fields

  friend constexpr bool operator==(const Member&, const Member&) = default;
};

// A row of the table. The functions of `row` make rows; a row's functions return a changed copy.
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
  // As it would stand in the file. Empty: the field is required, or its default is set elsewhere.
  std::string_view default_text{};
  Option option{};
  Change change = Change::kByReload;
  Member member{};

  // This comes first, as clang 16 needs its body before a constant uses it.
  template <typename T>
  constexpr Field with(T Field::*part, const T& value) const {
    Field field = *this;
    field.*part = value;
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
  std::string_view name;  // the name in messages: "a rule"
  std::string_view description;
  std::span<const Field> fields;

  // Null if there is no such field.
  const Field* find(std::string_view field_name) const {
    const auto found = std::ranges::find(fields, field_name, &Field::name);
    return found == fields.end() ? nullptr : &*found;
  }
  std::vector<std::string_view> field_names() const {
    std::vector<std::string_view> names;
    for (const Field& field : fields) names.push_back(field.name);
    return names;
  }
};

extern const Section kConfigSection;  // the whole file
extern const Section kRuleSection;
extern const Section kMatchSection;

// For a pointer to a member: the struct, and the type of the value, without std::optional.
template <typename S, typename T>
std::type_identity<S> struct_in(T S::*);
template <typename S, typename T>
std::type_identity<T> value_in(T S::*);
template <typename S, typename T>
std::type_identity<T> value_in(std::optional<T> S::*);
template <auto kPointer>
using StructOf = typename decltype(struct_in(kPointer))::type;
template <auto kPointer>
using ValueOf = typename decltype(value_in(kPointer))::type;

// Whether a member with this type can be filled by such a field.
template <typename Value>
constexpr bool takes(FieldType type) {
  const auto is = [&](std::initializer_list<FieldType> types) {
    return std::ranges::find(types, type) != types.end();
  };
  using enum FieldType;
  if (std::is_same_v<Value, std::string>) return is({kText, kName, kListenAddress, kChoice});
  if (std::is_same_v<Value, TextPattern>) return is({kText});
  if (std::is_same_v<Value, std::vector<std::string>> || std::is_same_v<Value, TextPatterns>)
    return is({kTextList});
  if (std::is_same_v<Value, Duration>) return is({kDuration});
  if (std::is_same_v<Value, bool>) return is({kBoolean});
  if (std::is_same_v<Value, double>) return is({kNumber});
  if (std::is_enum_v<Value>) return is({kChoice});
  return is({std::is_integral_v<Value> ? kInteger : kSection});
}

template <auto kPointer>
void fill_member(void* owner, const Field& field, const SettingValue& value) {
  using Value = ValueOf<kPointer>;
  auto& member = static_cast<StructOf<kPointer>*>(owner)->*kPointer;
  if constexpr (std::is_enum_v<Value>) {  // choices are in its order
    const auto choice = std::ranges::find(field.choices, std::get<std::string>(value));
    member = static_cast<Value>(choice - field.choices.begin());
  } else if constexpr (takes<Value>(FieldType::kInteger)) {
    member = static_cast<Value>(std::get<std::int64_t>(value));
  } else if constexpr (std::is_same_v<Value, TextPattern>) {
    member = TextPattern(std::get<std::string>(value));
  } else if constexpr (std::is_same_v<Value, TextPatterns>) {
    member.clear();
    for (const auto& text : std::get<std::vector<std::string>>(value)) member.emplace_back(text);
  } else {
    member = std::get<Value>(value);
  }
}

template <auto kPointer>
constexpr Member member_of() {
  using Struct = StructOf<kPointer>;
  if constexpr (takes<ValueOf<kPointer>>(FieldType::kSection)) {
    return {&kStructTag<Struct>, nullptr,
            [](void* owner) -> void* { return &(static_cast<Struct*>(owner)->*kPointer); }};
  } else {
    return {&kStructTag<Struct>, &fill_member<kPointer>};
  }
}

// A row may name the member of a struct that it fills.
namespace row {

using Text = std::string_view;

template <FieldType kType, auto kPointer>
constexpr Field of(Text name, Text description, FieldRange range = {},
                   const Section* section = nullptr) {
  Field field{name, kType, description, range, {}, section};
  if constexpr (!std::is_null_pointer_v<decltype(kPointer)>) {
    static_assert(takes<ValueOf<kPointer>>(kType), "the member is of another type");
    field.member = member_of<kPointer>();
  }
  return field;
}

template <auto kPointer = nullptr>
constexpr Field section(Text name, const Section& inner, Text description) {
  return of<FieldType::kSection, kPointer>(name, description, {}, &inner);
}
constexpr Field sections(Text name, const Section& item, Text description) {
  return of<FieldType::kSectionList, nullptr>(name, description, {}, &item);
}
template <auto kPointer = nullptr>
constexpr Field integer(Text name, FieldRange range, Text description) {
  return of<FieldType::kInteger, kPointer>(name, description, range);
}
template <auto kPointer = nullptr>
constexpr Field number(Text name, FieldRange range, Text description) {
  return of<FieldType::kNumber, kPointer>(name, description, range);
}
template <auto kPointer = nullptr>
constexpr Field duration(Text name, FieldRange range_us, Text description) {
  return of<FieldType::kDuration, kPointer>(name, description, range_us);
}
template <auto kPointer = nullptr>
constexpr Field boolean(Text name, Text description) {
  return of<FieldType::kBoolean, kPointer>(name, description).defaults_to("false");
}
template <auto kPointer = nullptr>
constexpr Field choice(Text name, std::span<const Text> choices, Text description) {
  return of<FieldType::kChoice, kPointer>(name, description).with(&Field::choices, choices);
}
template <auto kPointer = nullptr>
constexpr Field id(Text name, Text description) {
  return of<FieldType::kName, kPointer>(name, description);
}
template <auto kPointer = nullptr>
constexpr Field address(Text name, Text description) {
  return of<FieldType::kListenAddress, kPointer>(name, description);
}
template <auto kPointer = nullptr>
constexpr Field text(Text name, const TextForm* form, Text description) {
  return of<FieldType::kText, kPointer>(name, description).with(&Field::form, form);
}
template <auto kPointer = nullptr>
constexpr Field texts(Text name, const TextForm* form, Text description) {
  return of<FieldType::kTextList, kPointer>(name, description).with(&Field::form, form);
}
constexpr Field tree(Text name, Text description) {
  return of<FieldType::kTree, nullptr>(name, description);
}

}  // namespace row

// A mistake in a file, or on the command line, with its place. Tested by src/config/config_test.cc.
struct ConfigError {
  std::string file;        // empty: the command line's mistake
  std::size_t line = 0;    // from 1; 0 when the file could not be read at all
  std::size_t column = 0;  // from 1, in bytes
  std::string message;     // what is wrong and what would be right

  // "rules.yaml:4:7: unknown key 'limt'; did you mean 'limit'?"
  std::string to_string() const {
    if (file.empty()) return message;
    if (line == 0) return file + ": " + message;
    return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
  }
};

// In the order of the file. Never empty when returned. After kConfigErrorsMax errors a last entry
// says that there are more.
using ConfigErrors = std::vector<ConfigError>;
inline constexpr std::size_t kConfigErrorsMax = 100;

}  // namespace weir
