#include "config/config.h"

#include <utility>

#include "base/ip_address.h"
#include "config/config_file.h"
#include "config/rules/match_config.h"
#include "config/rules/rule_config.h"
#include "config/section_reader.h"
#include "config/yaml/yaml_document.h"

namespace weir {
namespace {

// A file that is being written is empty for a moment, and a reload in it would lift all limits.
constexpr const char* kNoText =
    "the file is empty; if no rules are meant, write 'rules: []' or a comment";

// The value of a setting that the file sets rightly.
std::optional<SettingValue> value_of(const SectionReader& reader, const Field& field) {
  if (field.type == FieldType::kTextList) {
    if (!reader.is_set(field.name)) return std::nullopt;
    std::vector<std::string> texts;
    for (const YamlNode* text : reader.texts(field.name)) texts.push_back(text->text);
    return texts;
  }
  if (const auto number = reader.get<std::int64_t>(field.name)) return *number;
  if (const auto boolean = reader.get<bool>(field.name)) return *boolean;
  if (const auto duration = reader.get<Duration>(field.name)) return *duration;
  if (auto text = reader.get<std::string>(field.name)) return *std::move(text);
  return std::nullopt;
}

// `prefix` is "store." for the section of that name.
void read_settings(const SectionReader& reader, const Section& section, const std::string& prefix,
                   SettingValues& settings, Mistakes& mistakes) {
  for (const Field& field : section.fields) {
    if (field.type == FieldType::kSectionList) continue;
    const auto name = prefix + std::string(field.name);
    if (field.type != FieldType::kSection) {
      auto value = value_of(reader, field);
      if (value) settings.set(name, *std::move(value), reader.place_of(field.name));
    } else if (const auto node = reader.get<const YamlNode*>(field.name)) {
      const SectionReader inner(*field.section, **node, (*node)->place, mistakes);
      read_settings(inner, *field.section, name + ".", settings, mistakes);
    }
  }
}

void check_networks(const SectionReader& reader, std::string_view field, Mistakes& mistakes) {
  for (const YamlNode* text : reader.texts(field)) {
    if (!IpPrefix::parse(text->text)) mistakes.add(text->place, not_a_network(*text));
  }
}

// Reports a mistake in another file at the place that names it.
void add_file_mistake(const TextPlace& place, const std::string& path, const std::string& text,
                      Mistakes& mistakes) {
  mistakes.add(place, "'" + path + "' cannot be used: " + text);
}

// Reads the file that tokens are verified with.
void load_token_key(Config& config, Mistakes& mistakes) {
  if (!config.verifies_tokens()) return;
  const bool is_secret = config.settings.is_set("jwt.secret_file");
  const auto* const name = is_secret ? "jwt.secret_file" : "jwt.public_key_file";
  const auto path = config.settings.get<std::string>(name);
  const auto mistake = [&](const std::string& text) {
    add_file_mistake(config.settings.place_of(name), path, text, mistakes);
  };
  auto text = read_config_file(path);
  if (const auto* errors = std::get_if<ConfigErrors>(&text)) {
    return mistake(errors->front().message);
  }
  std::string& key_text = std::get<std::string>(text);
  while (is_secret && key_text.ends_with('\n')) key_text.pop_back();
  auto key = is_secret ? TokenKey::hs256(std::move(key_text)) : TokenKey::rs256(key_text);
  if (const auto* error = std::get_if<std::string>(&key)) return mistake(*error);
  config.sources.token_key = std::make_shared<const TokenKey>(std::get<TokenKey>(std::move(key)));
}

void load_country_database(Config& config, Mistakes& mistakes) {
  const auto& settings = config.settings;
  if (!settings.is_set("country_database")) return;
  const auto path = settings.get<std::string>("country_database");
  auto opened = CountryDatabase::open(path);
  if (const auto* error = std::get_if<std::string>(&opened)) {
    return add_file_mistake(settings.place_of("country_database"), path, *error, mistakes);
  }
  config.sources.country_database = std::get<CountryDatabase::Ptr>(std::move(opened));
}

void read_config(const YamlNode& root, Config& config, Mistakes& mistakes) {
  const SectionReader reader(config_section(), root, root.place, mistakes);
  auto& settings = config.settings;
  read_settings(reader, config_section(), "", settings, mistakes);
  if (settings.is_set("jwt.secret_file") && settings.is_set("jwt.public_key_file")) {
    mistakes.add(settings.place_of("jwt.public_key_file"),
                 "tokens are signed by HS256 or by RS256; remove 'secret_file' or "
                 "'public_key_file'");
  }
  check_networks(reader, "trusted_proxies", mistakes);
  config.sources.country_header = settings.get<std::string>("country_header");
  config.sources.token_header = settings.get<std::string>("jwt.header");
  if (const auto rules = reader.get<const YamlNode*>("rules")) {
    read_rules(**rules, reader.place_of("rules"), config, mistakes);
  }
}

}  // namespace

std::string ConfigError::to_string() const {
  if (line == 0) return file + ": " + message;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
}

std::variant<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file) {
  Mistakes mistakes(file);
  auto config = Config{.text = std::string(text)};
  auto parsed = YamlDocument::parse(text);
  if (auto* error = std::get_if<YamlError>(&parsed)) {
    mistakes.add(error->place, std::move(error->message));
    return mistakes.take();
  }

  const YamlNode* root = std::get<YamlDocument>(parsed).root();
  const bool empty = root == nullptr || root->kind == YamlNode::Kind::kEmpty;
  if (!empty && root->kind != YamlNode::Kind::kMap) {
    mistakes.add(root->place,
                 "the file must be a map of keys and values, such as 'rules:' with "
                 "a list below it, but is " +
                     found_text(*root));
  } else if (!empty) {
    read_config(*root, config, mistakes);
  }
  if (!mistakes.empty()) return mistakes.take();
  return config;
}

std::variant<Config, ConfigErrors> load_config(const std::string& path) {
  auto text = read_config_file(path);
  if (auto* errors = std::get_if<ConfigErrors>(&text)) return std::move(*errors);
  if (std::get<std::string>(text).empty()) return ConfigErrors{{.file = path, .message = kNoText}};
  auto parsed = parse_config(std::get<std::string>(text), path);
  if (auto* config = std::get_if<Config>(&parsed)) {
    Mistakes mistakes(path);
    load_token_key(*config, mistakes);
    load_country_database(*config, mistakes);
    if (!mistakes.empty()) return mistakes.take();
  }
  return parsed;
}

}  // namespace weir
