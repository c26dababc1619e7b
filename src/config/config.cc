#include "config/config.h"

#include <utility>

#include "base/ip_address.h"
#include "config/config_file.h"
#include "config/rules/rule_config.h"
#include "config/section_reader.h"
#include "config/yaml/yaml_document.h"

namespace weir {
namespace {

// A file that is being written is empty for a moment, and a reload in it would lift all limits.
constexpr const char* kNoText =
    "the file is empty; if no rules are meant, write 'rules: []' or a comment";

// `prefix` is "store." for the section of that name.
void read_settings(const SectionReader& reader, const Section& section, const std::string& prefix,
                   SettingValues& settings) {
  for (const Field& field : section.fields) {
    if (field.type == FieldType::kSectionList) continue;
    const auto name = prefix + std::string(field.name);
    if (field.type != FieldType::kSection) {
      auto value = setting_value(reader.value(field.name));
      if (value) settings.set(name, *std::move(value), reader.place_of(field.name));
    } else if (const auto inner = reader.section(field.name)) {
      read_settings(*inner, *field.section, name + ".", settings);
    }
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

// A threshold to leave above the one to enter would switch there and back, on and on. The place
// is that of the one that the file sets.
void check_thresholds(const SectionReader& reader, const SettingValues& settings) {
  for (const std::string_view name : {"burst_ratio", "denied_share", "rate"}) {
    const auto enter = "adaptive." + std::string(name) + (name == "rate" ? "_min" : "");
    const auto leave = "adaptive." + std::string(name) + "_leave";
    const auto highest = settings.get<double>(enter);
    if (settings.get<double>(leave) <= highest) continue;
    const auto set = settings.is_set(leave) ? leave : enter;
    reader.mistake(settings.place_of(set), leave + " is " + settings.text(leave) + ", above " +
                                               enter + ", which is " + settings.text(enter) +
                                               "; set " + leave + " to " + settings.text(enter) +
                                               " or less");
  }
}

void read_config(const SectionReader& reader, Config& config) {
  auto& settings = config.settings;
  read_settings(reader, kConfigSection, "", settings);
  if (settings.is_set("jwt.secret_file") && settings.is_set("jwt.public_key_file")) {
    reader.mistake(settings.place_of("jwt.public_key_file"),
                   "tokens are signed by HS256 or by RS256; remove 'secret_file' or "
                   "'public_key_file'");
  }
  for (const YamlNode* text : reader.texts("trusted_proxies")) {
    if (!IpPrefix::parse(text->text)) reader.mistake(text->place, not_a_network(*text));
  }
  check_thresholds(reader, settings);
  config.sources.country_header = settings.get<std::string>("country_header");
  config.sources.token_header = settings.get<std::string>("jwt.header");
  read_rules(reader, config);
}

}  // namespace

std::string ConfigError::to_string() const {
  if (file.empty()) return message;
  if (line == 0) return file + ": " + message;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
}

std::variant<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file,
                                                ServedBy served_by) {
  Mistakes mistakes(file);
  auto config = Config{.text = std::string(text), .served_by = served_by};
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
    read_config(SectionReader(kConfigSection, *root, mistakes), config);
  }
  if (!mistakes.empty()) return mistakes.take();
  return config;
}

std::variant<Config, ConfigErrors> load_config(const std::string& path, ServedBy served_by) {
  auto text = read_config_file(path);
  if (auto* errors = std::get_if<ConfigErrors>(&text)) return std::move(*errors);
  if (std::get<std::string>(text).empty()) return ConfigErrors{{.file = path, .message = kNoText}};
  auto parsed = parse_config(std::get<std::string>(text), path, served_by);
  if (auto* config = std::get_if<Config>(&parsed)) {
    Mistakes mistakes(path);
    load_token_key(*config, mistakes);
    load_country_database(*config, mistakes);
    if (!mistakes.empty()) return mistakes.take();
  }
  return parsed;
}

}  // namespace weir
