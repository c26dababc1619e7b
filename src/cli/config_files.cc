#include "cli/config_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "rules/config_file.h"
#include "rules/envoy_config.h"
#include "rules/rule_conflicts.h"
#include "rules/yaml_text.h"
#include "store/redis/client/redis_url.h"

namespace weir {
namespace {

void apply(const EnvoyOptions& options, EnvoySettings& envoy) {
  if (!options.config.empty()) envoy.config = options.config;
  if (options.algorithm) envoy.algorithm = *options.algorithm;
  envoy.all_or_nothing |= options.all_or_nothing;
  envoy.response_headers |= options.response_headers;
  envoy.shadow_mode |= options.shadow_mode;
}

// Length and all: "ab" and "c" are not "a" and "bc".
void append_file(const std::filesystem::path& path, std::string& texts) {
  auto stream = std::ifstream(path, std::ios::binary);
  auto text = std::string(kYamlBytesMax + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  const auto size = static_cast<std::size_t>(stream.gcount());
  texts.append(path).append("\n").append(std::to_string(size)).append("\n").append(text, 0, size);
}

}  // namespace

std::uint64_t fingerprint(std::span<const std::string> paths) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  auto files = std::vector<fs::path>();
  for (const auto& path : paths) {
    if (!fs::is_directory(path, ignored)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path, ignored)) {
      if (entry.is_regular_file(ignored)) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  std::string texts;
  for (const auto& file : files) append_file(file, texts);
  return std::hash<std::string>()(texts);
}

std::string config_file_text(const ServeOptions& options) {
  if (options.config_file.empty()) return {};
  auto text = read_config_file(options.config_file);
  return std::holds_alternative<std::string>(text) ? std::get<std::string>(std::move(text))
                                                   : std::string();
}

std::variant<Config, ConfigErrors> load_whole_config(const std::string& file) {
  auto loaded = load_config(file);
  const auto* config = std::get_if<Config>(&loaded);
  if (config == nullptr || config->store.redis.empty()) return loaded;
  const auto url = RedisUrl::parse(config->store.redis);
  const auto* error = std::get_if<RedisUrlError>(&url);
  if (error == nullptr) return loaded;
  const auto& place = config->store.redis_place;
  return ConfigErrors{{.file = file,
                       .line = place.line,
                       .column = place.column,
                       .message = "'redis' " + error->message}};
}

std::variant<Config, ConfigErrors> load_config_files(const ServeOptions& options) {
  Config config;
  if (!options.config_file.empty()) {
    auto loaded = load_whole_config(options.config_file);
    if (std::holds_alternative<ConfigErrors>(loaded)) return loaded;
    config = std::get<Config>(std::move(loaded));
  }
  apply(options.envoy, config.envoy);
  if (config.envoy.config.empty()) return config;

  auto loaded = load_envoy_config(config.envoy.config, config.envoy.algorithm);
  if (auto* errors = std::get_if<ConfigErrors>(&loaded)) return std::move(*errors);
  auto& rules = std::get<std::vector<Rule>>(loaded);
  std::move(rules.begin(), rules.end(), std::back_inserter(config.rules));
  if (auto conflict = descriptor_conflict(config.rules)) {
    return ConfigErrors{{.file = config.envoy.config, .message = std::move(*conflict)}};
  }
  return config;
}

std::string describe_config_files(const ServeOptions& options, const EnvoySettings& envoy) {
  const bool both = !options.config_file.empty() && !envoy.config.empty();
  return options.config_file + (both ? " and " : "") + envoy.config;
}

}  // namespace weir
