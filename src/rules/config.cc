#include "rules/config.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "rules/section_reader.h"
#include "rules/yaml_document.h"

namespace weir {
namespace {

// Reports a second rule of the same id.
class IdsSeen {
 public:
  void check(const std::string& id, const TextPlace& place, Mistakes& mistakes) {
    const auto [first, fresh] = lines_.emplace(id, place.line);
    if (fresh) return;
    mistakes.add(place, "duplicate rule id '" + id + "'; it is already used in line " +
                            std::to_string(first->second));
  }

 private:
  std::unordered_map<std::string, std::size_t> lines_;
};

QuotaSpec quota_spec(const SectionReader& reader) {
  QuotaSpec spec;
  if (const auto name = reader.get<std::string>("algorithm")) {
    const auto algorithm = algorithm_from_name(*name);
    WEIR_ASSERT(algorithm.has_value());
    spec.algorithm = *algorithm;
  }
  spec.limit = reader.get<std::int64_t>("limit").value_or(0);
  spec.window = reader.get<Duration>("window").value_or(Duration::zero());
  spec.burst = reader.get<std::int64_t>("burst").value_or(0);
  return spec;
}

std::optional<Rule> read_rule(const YamlNode& node, IdsSeen& ids, Mistakes& mistakes) {
  SectionReader reader(rule_section(), node, node.place, mistakes);
  const auto id = reader.get<std::string>("id");
  if (id) ids.check(*id, reader.place_of("id"), mistakes);
  if (!reader.valid()) return std::nullopt;

  const auto quota = Quota::make(quota_spec(reader));
  if (!quota) {
    reader.reject(quota.error().field, std::string(quota.error().expected));
    return std::nullopt;
  }
  return Rule{.id = *id, .quota = *quota, .enabled = reader.get<bool>("enabled").value_or(true)};
}

std::vector<Rule> read_rules(const YamlNode& list, const TextPlace& place, Mistakes& mistakes) {
  std::vector<Rule> rules;
  IdsSeen ids;
  for (std::size_t i = 0; i < list.items.size() && !mistakes.full(); ++i) {
    const YamlNode& item = *list.items[i];
    if (item.kind != YamlNode::Kind::kMap) {
      // An empty item has no place of its own.
      const bool empty = item.kind == YamlNode::Kind::kEmpty;
      mistakes.add(empty ? place : item.place, "rule " + std::to_string(i + 1) +
                                                   " of the list must be a map with id, limit "
                                                   "and window, but is " +
                                                   found_text(item));
    } else if (auto rule = read_rule(item, ids, mistakes)) {
      rules.push_back(*std::move(rule));
    }
  }
  return rules;
}

void read_listen(const YamlNode& node, Config& config, Mistakes& mistakes) {
  const SectionReader reader(listen_section(), node, node.place, mistakes);
  for (const Field& field : listen_section().fields) {
    if (field.type != FieldType::kListenAddress) continue;
    const auto address = reader.get<std::string>(field.name);
    if (address) config.listen.emplace(field.name, *address);
  }
}

void read_config(const YamlNode& root, Config& config, Mistakes& mistakes) {
  const SectionReader reader(config_section(), root, root.place, mistakes);
  if (const auto listen = reader.get<const YamlNode*>("listen")) {
    read_listen(**listen, config, mistakes);
  }
  if (const auto threads = reader.get<std::int64_t>("threads")) {
    config.threads = static_cast<int>(*threads);
  }
  if (const auto max_keys = reader.get<std::int64_t>("max_keys")) {
    config.max_keys = static_cast<std::uint64_t>(*max_keys);
  }
  if (const auto rules = reader.get<const YamlNode*>("rules")) {
    config.rules = read_rules(**rules, reader.place_of("rules"), mistakes);
  }
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The error of a file that gives no text at all.
ConfigErrors unreadable(const std::string& path, int error) {
  return {ConfigError{.file = path,
                      .message = "cannot be read: " + std::generic_category().message(error)}};
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
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) return unreadable(path, errno);

  // One byte more than is allowed, so that parse_config sees that it is too many.
  std::string text(kYamlBytesMax + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return unreadable(path, errno);
  return parse_config(text, path);
}

}  // namespace weir
