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
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ip_address.h"
#include "rules/rule_set.h"
#include "rules/yaml_text.h"

namespace weir {

// How Envoy's rate limit service behaves.
struct EnvoySettings {
  std::string config;  // a file or folder of the reference service's; empty: none
  Algorithm algorithm = Algorithm::kFixedWindow;  // of its limits that don't say
  bool all_or_nothing = false;                    // a denial charges no descriptor
  bool response_headers = false;                  // for Envoy to add
  std::string limit_header = "RateLimit-Limit";   // their names
  std::string remaining_header = "RateLimit-Remaining";
  std::string reset_header = "RateLimit-Reset";
  bool response_metadata = false;  // `metadata` of the rules that matched
  bool shadow_mode = false;        // every answer is OK
};

// PEM files.
struct TlsSettings {
  std::string certificate;  // empty: none of it is set
  std::string key;
  std::string client_ca;  // empty: clients need no certificate
};

// What tokens are verified with: at most one of the files.
struct TokenSettings {
  std::string secret_file;      // HS256
  std::string public_key_file;  // RS256, PEM
  TextPlace file_place;

  bool has_key() const { return !secret_file.empty() || !public_key_file.empty(); }
};

struct CountrySettings {
  std::string database_file;  // empty: none
  TextPlace file_place;
};

// The Redis through which nodes share limits. What is not set has its built-in default.
struct StoreSettings {
  std::string redis;  // its URL; empty: none
  TextPlace redis_place;
  std::optional<Mode> mode;
  std::optional<Duration> deadline;
  std::optional<Duration> sync_interval;
  std::optional<std::string> prefix;
};

// Where a rule stands in the file.
struct RulePlaces {
  TextPlace rule;
  std::map<std::string, TextPlace, std::less<>> fields;

  // Of the rule, if it has no such field.
  const TextPlace& of(std::string_view field) const {
    const auto found = fields.find(field);
    return found == fields.end() ? rule : found->second;
  }
};

struct Config {
  // The command line wins over these; what neither sets has its built-in default.
  // What `listen` says: the name of the field ("http") -> the address, checked.
  std::map<std::string, std::string, std::less<>> listen;
  std::optional<Duration> http2_age_max;
  // The fields of `listen` whose connections begin with a PROXY header.
  std::vector<std::string> proxy_protocol;
  TlsSettings tls;
  std::optional<int> threads;  // 1 to 256
  std::optional<std::uint64_t> max_keys;
  std::vector<Rule> rules;
  std::vector<RulePlaces> rule_places;       // parallel to `rules`, as they were read
  std::vector<std::string> trusted_headers;  // that clients cannot send as they like
  std::optional<std::vector<IpPrefix>> trusted_proxies;
  EnvoySettings envoy;
  StoreSettings store;
  std::string state_file;  // empty: none
  bool watch = false;
  TokenSettings token;
  CountrySettings country;
  // For rules. parse_config() does not read files, so token_key and country_database are
  // load_config()'s to add.
  RequestSources sources;

  bool knows_countries() const {
    return !sources.country_header.empty() || !country.database_file.empty();
  }
};

struct ConfigError {
  std::string file;
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
std::variant<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file);
std::variant<Config, ConfigErrors> load_config(const std::string& path);

// The JSON Schema (draft 2020-12) of the file, pretty-printed.
std::string config_schema();

}  // namespace weir
