// Config: what one YAML file says, checked.
//
//   listen:
//     http: 127.0.0.1:8080
//   threads: 2
//   max_keys: 1048576
//   rules:
//     - id: login
//       algorithm: sliding_window
//       limit: 5
//       window: 1m
//
// The loader refuses what it does not know: every unknown or mistyped key, wrong
// type, value out of range or duplicate id is a ConfigError with its place and the
// remedy. It reports all of them, not just the first.
//
// The fields, their types, bounds and descriptions are one table (config_fields.h);
// `weir schema` prints it as the JSON Schema that editors use.
//
// Thread rule: values. Tested by config_test.cc and the broken files in testdata/.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/setting_values.h"
#include "config/yaml/yaml_text.h"
#include "rules/rule_set.h"

namespace weir {

// What applies the rules. Some of what a rule may say only a gateway can do, which passes requests
// on to an origin: nginx with Weir in it (docs/how-to/nginx.md). Some it cannot. kEither: nobody
// applies them here, and they may be for either.
enum class ServedBy : std::uint8_t { kServer, kGateway, kEither };

// Where a rule stands in the file.
struct RulePlaces {
  TextPlace rule;
  std::map<std::string, TextPlace, std::less<>> fields;

  // The place of the field, or of the rule if it lacks the field.
  const TextPlace& of(std::string_view field) const {
    const auto found = fields.find(field);
    return found == fields.end() ? rule : found->second;
  }
};

struct Config {
  std::string text;  // as it was read
  ServedBy served_by = ServedBy::kServer;
  SettingValues settings;  // checked
  std::vector<Rule> rules;
  std::vector<RulePlaces> rule_places;  // parallel to `rules`, as they were read
  // For rules. parse_config() does not read files, so load_config() adds token_key and
  // country_database.
  RequestSources sources;

  bool knows_countries() const {
    return settings.is_set("country_header") || settings.is_set("country_database");
  }
  bool verifies_tokens() const {
    return settings.is_set("jwt.secret_file") || settings.is_set("jwt.public_key_file");
  }
};

struct ConfigError {
  std::string file;        // empty: the command line's mistake
  std::size_t line = 0;    // from 1; 0 when the file could not be read at all
  std::size_t column = 0;  // from 1, in bytes
  std::string message;     // what is wrong and what would be right

  // "rules.yaml:4:7: unknown key 'limt'; did you mean 'limit'?"
  std::string to_string() const;
};

// In the order of the file. Never empty when returned, and never endless: beyond
// kConfigErrorsMax one last entry says that there are more.
using ConfigErrors = std::vector<ConfigError>;
inline constexpr std::size_t kConfigErrorsMax = 100;

// `file` is only a name, for the errors. No text is an empty configuration.
// load_config() also reads the files that the file names, as far as rules need them, and
// refuses a file of no bytes.
std::variant<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file,
                                                ServedBy served_by = ServedBy::kServer);
std::variant<Config, ConfigErrors> load_config(const std::string& path,
                                               ServedBy served_by = ServedBy::kServer);

// The JSON Schema (draft 2020-12) of the file, pretty-printed.
std::string config_schema();

}  // namespace weir
