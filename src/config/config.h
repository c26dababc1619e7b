// Config: the contents of one YAML file, checked.
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
// The loader refuses what it does not know. Each unknown or mistyped key, wrong type, value out of
// range or duplicate id is a ConfigError with its place and the remedy. The loader reports all of
// them, not just the first.
//
// One table has the fields, their types, bounds and descriptions (setting_fields.cc). `weir schema`
// prints it as the JSON Schema that editors use.
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
  std::vector<RulePlaces> rule_places;      // parallel to `rules`, as read
  std::map<std::string, Rollout> rollouts;  // by rules' ids
  // What rules need from elsewhere. parse_config() reads no files, so load_config() adds token_key
  // and country_database.
  RequestSources sources;
};

// `file` is only a name, for errors. An empty text is an empty configuration. load_config() also
// reads the files that the configuration names, as far as rules need them. It refuses an empty
// file.
Result<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file,
                                          ServedBy served_by = ServedBy::kServer);
Result<Config, ConfigErrors> load_config(const std::string& path,
                                         ServedBy served_by = ServedBy::kServer);

// The JSON Schema (draft 2020-12) of the file, pretty-printed.
std::string config_schema();

// ---- files, read into memory: bounded, and never waiting for ever ----

// All bytes of the file; of a longer one, the first `bytes_max` and one more. A FIFO is read to its
// end, or is an error if it is silent for ten seconds. A FIFO without a writer is empty.
Result<std::string, std::error_code> read_file(const std::string& path, std::size_t bytes_max);

// Reads a configuration. The parser refuses it if it is longer than a YAML document may be.
Result<std::string, ConfigErrors> read_config_file(const std::string& path);

}  // namespace weir
