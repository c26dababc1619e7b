#include "rules/config.h"

#include <utility>

#include "rules/config_file.h"
#include "rules/match_config.h"
#include "rules/rule_config.h"
#include "rules/section_reader.h"
#include "rules/yaml_document.h"

namespace weir {
namespace {

// A file that is being written is empty for a moment, and a reload in it would lift all limits.
constexpr const char* kNoText =
    "the file is empty; if no rules are meant, write 'rules: []' or a comment";

std::vector<IpPrefix> read_networks(const SectionReader& reader, std::string_view field,
                                    Mistakes& mistakes) {
  std::vector<IpPrefix> networks;
  for (const YamlNode* text : reader.texts(field)) {
    if (const auto network = IpPrefix::parse(text->text)) {
      networks.push_back(*network);
    } else {
      mistakes.add(text->place, not_a_network(*text));
    }
  }
  return networks;
}

void read_envoy(const YamlNode& node, EnvoySettings& envoy, Mistakes& mistakes) {
  const SectionReader reader(envoy_section(), node, node.place, mistakes);
  envoy.config = reader.get<std::string>("config").value_or("");
  if (const auto name = reader.get<std::string>("algorithm")) {
    envoy.algorithm = *algorithm_from_name(*name);
  }
  envoy.all_or_nothing = reader.get<bool>("all_or_nothing").value_or(false);
  envoy.response_headers = reader.get<bool>("response_headers").value_or(false);
  const auto read_name = [&](std::string_view field, std::string& name) {
    name = reader.get<std::string>(field).value_or(name);
  };
  read_name("limit_header", envoy.limit_header);
  read_name("remaining_header", envoy.remaining_header);
  read_name("reset_header", envoy.reset_header);
  envoy.response_metadata = reader.get<bool>("response_metadata").value_or(false);
  envoy.shadow_mode = reader.get<bool>("shadow_mode").value_or(false);
}

void read_listen(const YamlNode& node, Config& config, Mistakes& mistakes) {
  const SectionReader reader(listen_section(), node, node.place, mistakes);
  for (const Field& field : listen_section().fields) {
    if (field.type != FieldType::kListenAddress) continue;
    const auto address = reader.get<std::string>(field.name);
    if (address) config.listen.emplace(field.name, *address);
  }
  config.http2_age_max = reader.get<Duration>("http2_age_max");
  for (const YamlNode* name : reader.texts("proxy_protocol")) {
    config.proxy_protocol.push_back(name->text);
  }
}

void read_tls(const YamlNode& node, TlsSettings& tls, Mistakes& mistakes) {
  const SectionReader reader(tls_section(), node, node.place, mistakes);
  tls.certificate = reader.get<std::string>("certificate").value_or("");
  tls.key = reader.get<std::string>("key").value_or("");
  tls.client_ca = reader.get<std::string>("client_ca").value_or("");
}

void read_store(const YamlNode& node, StoreSettings& store, Mistakes& mistakes) {
  const SectionReader reader(store_section(), node, node.place, mistakes);
  store = {.redis = reader.get<std::string>("redis").value_or(""),
           .redis_place = reader.place_of("redis"),
           .mode = mode_from_name(reader.get<std::string>("mode").value_or("")),
           .deadline = reader.get<Duration>("deadline"),
           .sync_interval = reader.get<Duration>("sync_interval"),
           .prefix = reader.get<std::string>("prefix")};
}

void read_jwt(const YamlNode& node, Config& config, Mistakes& mistakes) {
  const SectionReader reader(jwt_section(), node, node.place, mistakes);
  TokenSettings& token = config.token;
  config.sources.token_header =
      reader.get<std::string>("header").value_or(config.sources.token_header);
  token.secret_file = reader.get<std::string>("secret_file").value_or("");
  token.public_key_file = reader.get<std::string>("public_key_file").value_or("");
  token.file_place = reader.place_of(token.secret_file.empty() ? "public_key_file" : "secret_file");
  if (!token.secret_file.empty() && !token.public_key_file.empty()) {
    mistakes.add(reader.place_of("public_key_file"),
                 "tokens are signed by HS256 or by RS256; remove 'secret_file' or "
                 "'public_key_file'");
  }
}

// What is wrong with a file that is named in this one is a mistake where it is named.
void add_file_mistake(const TextPlace& place, const std::string& path, const std::string& text,
                      Mistakes& mistakes) {
  mistakes.add(place, "'" + path + "' cannot be used: " + text);
}

// Reads the file that tokens are verified with.
void load_token_key(Config& config, Mistakes& mistakes) {
  if (!config.token.has_key()) return;
  const bool is_secret = !config.token.secret_file.empty();
  const std::string& path = is_secret ? config.token.secret_file : config.token.public_key_file;
  const auto mistake = [&](const std::string& text) {
    add_file_mistake(config.token.file_place, path, text, mistakes);
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
  const CountrySettings& country = config.country;
  if (country.database_file.empty()) return;
  auto opened = CountryDatabase::open(country.database_file);
  if (const auto* error = std::get_if<std::string>(&opened)) {
    return add_file_mistake(country.file_place, country.database_file, *error, mistakes);
  }
  config.sources.country_database = std::get<CountryDatabase::Ptr>(std::move(opened));
}

void read_config(const YamlNode& root, Config& config, Mistakes& mistakes) {
  const SectionReader reader(config_section(), root, root.place, mistakes);
  if (const auto listen = reader.get<const YamlNode*>("listen")) {
    read_listen(**listen, config, mistakes);
  }
  if (const auto tls = reader.get<const YamlNode*>("tls")) read_tls(**tls, config.tls, mistakes);
  if (const auto threads = reader.get<std::int64_t>("threads")) {
    config.threads = static_cast<int>(*threads);
  }
  if (const auto max_keys = reader.get<std::int64_t>("max_keys")) {
    config.max_keys = static_cast<std::uint64_t>(*max_keys);
  }
  if (const auto store = reader.get<const YamlNode*>("store")) {
    read_store(**store, config.store, mistakes);
  }
  config.state_file = reader.get<std::string>("state_file").value_or("");
  config.watch = reader.get<bool>("watch").value_or(false);
  config.sources.country_header = reader.get<std::string>("country_header").value_or("");
  config.country = {.database_file = reader.get<std::string>("country_database").value_or(""),
                    .file_place = reader.place_of("country_database")};
  if (const auto jwt = reader.get<const YamlNode*>("jwt")) read_jwt(**jwt, config, mistakes);
  if (const auto rules = reader.get<const YamlNode*>("rules")) {
    read_rules(**rules, reader.place_of("rules"), config, mistakes);
  }
  for (const YamlNode* name : reader.texts("trusted_headers")) {
    config.trusted_headers.push_back(name->text);
  }
  if (reader.is_set("trusted_proxies")) {
    config.trusted_proxies = read_networks(reader, "trusted_proxies", mistakes);
  }
  if (const auto envoy = reader.get<const YamlNode*>("envoy")) {
    read_envoy(**envoy, config.envoy, mistakes);
  }
}

}  // namespace

std::string ConfigError::to_string() const {
  if (line == 0) return file + ": " + message;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
}

std::variant<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file) {
  Mistakes mistakes(file);
  Config config;
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
