#include "rules/config.h"

#include <utility>

#include "rules/config_file.h"
#include "rules/rule_config.h"
#include "rules/section_reader.h"
#include "rules/yaml_document.h"

namespace weir {
namespace {

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
  if (const auto rules = reader.get<const YamlNode*>("rules")) {
    config.rules = read_rules(**rules, reader.place_of("rules"), mistakes);
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
  return parse_config(std::get<std::string>(text), path);
}

}  // namespace weir
