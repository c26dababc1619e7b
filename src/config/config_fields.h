// The fields of a configuration file, in one table.
//
// A row is a whole setting: the loader's checks and messages, the JSON Schema, the option
// of `weir serve`, the environment variable, the default, the warning that only a restart
// changes it, and the table in docs/configuration.md come from it. To add one: add its row,
// refresh both documents with WEIR_UPDATE_EXPECTED=1 config_test, and read the value where
// it is used, by name: settings.get<Duration>("store.deadline"). The fields of rules have
// rows alike (rule_fields.cc); rule_config.cc reads them.
//
// Thread rule: constants. Tested by config_fields_test.cc and config_schema_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weir {

enum class FieldType : std::uint8_t {
  kSection,      // a map with fields of its own
  kSectionList,  // a list of such maps
  kInteger,      // min to max
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

inline constexpr TextForm kNotEmpty = {.pattern = "^[^\\x00]+$",
                                       .expected = "a text that is not empty"};
// RFC 9110, 5.6.2. Each form that has it names an example of its own.
inline constexpr std::string_view kHeaderNamePattern = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";
inline constexpr std::size_t kTextMax = 1024;     // bytes
inline constexpr std::size_t kTextListMax = 256;  // texts

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

struct Field {
  enum class Presence : std::uint8_t { kOptional, kRequired };
  enum class Change : std::uint8_t { kByReload, kByRestart };

  std::string_view name;
  FieldType type;
  Presence presence = Presence::kOptional;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::span<const std::string_view> choices{};
  const Section* section = nullptr;
  const TextForm* form = nullptr;
  Condition only_if{};
  // As it would stand in the file. Empty: required, or decided elsewhere.
  std::string_view default_text{};
  std::string_view description;
  Option option{};
  Change change = Change::kByReload;
};

struct Section {
  std::string_view name;  // as messages call it: "a rule"
  std::string_view description;
  std::span<const Field> fields;

  // Null if there is none.
  const Field* find(std::string_view field_name) const;
  std::vector<std::string_view> field_names() const;
};

std::span<const std::string_view> algorithm_names();  // in the order of weir::Algorithm
const TextForm& network_form();                       // of IpPrefix
const TextForm& header_name_form();

const Section& config_section();  // the whole file
const Section& listen_section();
const Section& tls_section();
const Section& rule_section();
const Section& match_section();
const Section& header_match_section();
const Section& named_match_section();
const Section& claim_match_section();
const Section& active_section();
const Section& jwt_section();
const Section& descriptor_match_section();
const Section& descriptor_entry_section();
const Section& envoy_section();
const Section& store_section();
const Section& more_limits_section();
const Section& tier_section();
const Section& override_section();
const Section& on_deny_section();
const Section& deny_header_section();

}  // namespace weir
