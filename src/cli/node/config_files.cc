#include "cli/node/config_files.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/kept/state_file.h"
#include "cli/node/fleets.h"
#include "cli/node/settings.h"
#include "config/config.h"
#include "config/envoy/envoy_config.h"
#include "config/yaml/yaml_text.h"
#include "net/tls/tls_context.h"
#include "rules/rule_set.h"
#include "store/redis/client/redis_url.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// The setting whose file the message names.
std::string tls_setting_in(const std::string& message, const TlsFiles& files) {
  const auto names = [&](const std::string& file) {
    return !file.empty() && message.find(" " + file + " ") != std::string::npos;
  };
  if (names(files.certificate)) return setting_name<&TlsSettings::certificate>();
  return names(files.key) ? setting_name<&TlsSettings::key>()
                          : setting_name<&TlsSettings::client_ca>();
}

template <typename Value>
const std::string* error_in(const Result<Value, Fault>& result) {
  return result ? nullptr : &result.error().message;
}

// The mistakes that keep a server from running with these settings, and with the files that they
// name, rules aside: at most one for each setting. `weir validate`, the start and each reload use
// this list, so that none takes what another refuses. It changes nothing, and makes no connection.
std::vector<SettingMistake> setting_mistakes(const SettingValues& values) {
  auto settled = settle(values);
  if (!settled) return {std::move(settled.error())};
  const auto& settings = *settled;
  std::vector<SettingMistake> found;
  if (settings.needs_tls()) {
    const auto context = TlsContext::load(settings.tls);
    if (const auto* error = error_in(context)) {
      found.push_back({tls_setting_in(*error, settings.tls), *error});
    }
  }
  if (settings.fleet) {
    const auto trust = trust_of(settings);
    if (const auto* error = error_in(trust)) {
      found.push_back({settings.world ? setting_name<&StoreSettings::world>()
                                      : setting_name<&StoreSettings::redis>(),
                       *error});
    }
  }
  const auto token = read_webhook_token(*values);
  if (const auto* error = error_in(token)) {
    found.push_back({setting_name<&UnusualTrafficSettings::webhook_token_file>(), *error});
  }
  if (const auto error = StateFile::check(values->state_file)) {
    found.push_back({setting_name<&ServerSettings::state_file>(), error->message});
  }
  return found;
}

// Files below a folder that can be read.
void add_files_below(const fs::path& folder, std::vector<fs::path>& files) {
  std::error_code ignored;
  const auto skipping = fs::directory_options::skip_permission_denied;
  auto entry = fs::recursive_directory_iterator(folder, skipping, ignored);
  for (; entry != end(entry); entry.increment(ignored)) {
    if (entry->is_regular_file(ignored)) files.push_back(entry->path());
  }
}

// Each mistake at its place in the file, unless its value is from the command line; in file order.
ConfigErrors placed(std::vector<SettingMistake> mistakes, const SettingValues& values,
                    const ServeOptions& options) {
  ConfigErrors errors;
  for (auto& mistake : mistakes) {
    auto& error = errors.emplace_back(ConfigError{.file = {}, .message = mistake.message});
    if (!values.is_set(mistake.setting) || options.settings.is_set(mistake.setting)) continue;
    const auto place = values.place_of(mistake.setting);
    error.file = options.config_file;
    error.line = place.line;
    error.column = place.column;
  }
  std::ranges::stable_sort(
      errors, {}, [](const ConfigError& error) { return std::pair(error.line, error.column); });
  return errors;
}

}  // namespace

std::uint64_t fingerprint(std::span<const std::string> paths) {
  std::error_code ignored;
  auto files = std::vector<fs::path>();
  for (const auto& path : paths) {
    if (fs::is_directory(path, ignored)) {
      add_files_below(path, files);
    } else {
      files.emplace_back(path);
    }
  }
  std::ranges::sort(files);
  std::uint64_t hash = 0;
  const auto add = [&](std::string_view text) {
    hash = XXH3_64bits_withSeed(text.data(), text.size(), hash);
  };
  for (const auto& file : files) {
    const auto text = read_file(file, kYamlBytesMax);
    add(file.native());
    add(text ? *text : "");
  }
  return hash;
}

Result<Config, ConfigErrors> load_whole_config(const std::string& file, ServedBy served_by) {
  auto loaded = load_config(file, served_by);
  if (!loaded) return loaded;
  const StoreSettings& store = loaded->settings->store;
  const std::array urls = {std::pair(std::string("redis"), store.redis),
                           std::pair(std::string("world"), store.world)};
  for (const auto& [name, text] : urls) {
    if (text.empty()) continue;
    const auto url = RedisUrl::parse(text);
    if (url) continue;
    const auto place = loaded->settings.place_of("store." + name);
    return ConfigErrors{{.file = file,
                         .line = place.line,
                         .column = place.column,
                         .message = "'" + name + "': " + url.error().message}};
  }
  return loaded;
}

Result<Config, ConfigErrors> load_config_files(const ServeOptions& options) {
  Config config;
  if (!options.config_file.empty()) {
    auto loaded = load_whole_config(options.config_file);
    if (!loaded) return loaded;
    config = *std::move(loaded);
  }
  config.settings.override_with(options.settings);
  auto mistakes = placed(setting_mistakes(config.settings), config.settings, options);
  if (!mistakes.empty()) return mistakes;
  const auto& envoy = config.settings->envoy;
  if (envoy.config.empty()) return config;

  auto loaded = load_envoy_config(envoy.config, envoy.algorithm);
  if (!loaded) return std::move(loaded.error());
  auto& rules = *loaded;
  std::move(rules.begin(), rules.end(), std::back_inserter(config.rules));
  if (auto conflict = descriptor_conflict(config.rules)) {
    return ConfigErrors{{.file = envoy.config, .message = std::move(*conflict)}};
  }
  return config;
}

std::string describe_config_files(const ServeOptions& options, const SettingValues& settings) {
  const auto& envoy_files = settings->envoy.config;
  const bool both = !options.config_file.empty() && !envoy_files.empty();
  return options.config_file + (both ? " and " : "") + envoy_files;
}

}  // namespace weir
