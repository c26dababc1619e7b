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
// The loader refuses what it does not know. Every unknown or mistyped key, wrong type, value out of
// range or duplicate id is a ConfigError with its place and the remedy. It reports all of them, not
// just the first.
//
// The fields, their types, bounds and descriptions are one table (setting_fields.cc);
// `weir schema` prints it as the JSON Schema that editors use.
//
// Thread rule: values. Tested by config_test.cc and the broken files in testdata/.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "config/fields/fields.h"
#include "config/rules/rule_context.h"
#include "config/setting_values.h"
#include "rules/rollout.h"
#include "rules/rule_set.h"
#include "weir/result.h"

namespace weir {

struct Config {
  std::string text;  // as it was read
  ServedBy served_by = ServedBy::kServer;
  SettingValues settings;  // checked
  std::vector<Rule> rules;
  std::vector<RulePlaces> rule_places;      // parallel to `rules`, as they were read
  std::map<std::string, Rollout> rollouts;  // by the id of the rule
  // For rules. parse_config() does not read files, so load_config() adds token_key and
  // country_database.
  RequestSources sources;
};

// `file` is only a name, for the errors. No text is an empty configuration.
// load_config() also reads the files that the file names, as far as rules need them, and
// refuses a file of no bytes.
Result<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file,
                                          ServedBy served_by = ServedBy::kServer);
Result<Config, ConfigErrors> load_config(const std::string& path,
                                         ServedBy served_by = ServedBy::kServer);

// The JSON Schema (draft 2020-12) of the file, pretty-printed.
std::string config_schema();

// ---- files, read into memory: bounded, and never waiting for ever ----

// All bytes of the file, and of a longer one `bytes_max` and one more. A FIFO is read to its
// end, or is an error if it is silent for ten seconds; one that nobody writes to is empty.
Result<std::string, std::error_code> read_file(const std::string& path, std::size_t bytes_max);

// A configuration. The parser refuses one that is longer than a YAML document may be.
Result<std::string, ConfigErrors> read_config_file(const std::string& path);

}  // namespace weir
