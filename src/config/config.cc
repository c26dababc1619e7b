#include "config/config.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/ip_address.h"
#include "base/unique_fd.h"
#include "config/fields/section_reader.h"
#include "config/rules/rule_config.h"
#include "config/yaml/yaml_document.h"
#include "config/yaml/yaml_text.h"
#include "rules/usage/price_table.h"

namespace weir {
namespace {

// A file is empty for a moment while it is being written. A reload then would lift all limits.
constexpr const char* kNoText =
    "the file is empty; if no rules are meant, write 'rules: []' or a comment";

// `prefix`: "store." for the section store.
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

// Reads the file with the key that verifies tokens.
void load_token_key(Config& config, Mistakes& mistakes) {
  const auto& [header, secret_file, public_key_file] = config.settings->jwt;
  const bool is_secret = !secret_file.empty();
  const std::string& path = is_secret ? secret_file : public_key_file;
  if (path.empty()) return;
  const auto& name = is_secret ? setting_name<&JwtSettings::secret_file>()
                               : setting_name<&JwtSettings::public_key_file>();
  const auto mistake = [&](const std::string& text) {
    add_file_mistake(config.settings.place_of(name), path, text, mistakes);
  };
  auto text = read_config_file(path);
  if (!text) return mistake(text.error().front().message);
  std::string& key_text = *text;
  while (is_secret && key_text.ends_with('\n')) key_text.pop_back();
  auto key = is_secret ? TokenKey::hs256(std::move(key_text)) : TokenKey::rs256(key_text);
  if (!key) return mistake(key.error().message);
  config.sources.token_key = std::make_shared<const TokenKey>(*std::move(key));
}

void load_country_database(Config& config, Mistakes& mistakes) {
  const std::string& path = config.settings->country_database;
  if (path.empty()) return;
  auto opened = CountryDatabase::open(path);
  if (!opened) {
    const auto place = config.settings.place_of(setting_name<&ServerSettings::country_database>());
    return add_file_mistake(place, path, opened.error().message, mistakes);
  }
  config.sources.country_database = *std::move(opened);
}

// If the threshold to leave were above the one to enter, the algorithm would switch there and back
// again and again. The mistake is at the threshold that the file sets.
template <auto kEnter, auto kLeave>
void check_threshold(const SectionReader& reader, const SettingValues& settings) {
  if (settings->switching.*kLeave <= settings->switching.*kEnter) return;
  const auto& enter = setting_name<kEnter>();
  const auto& leave = setting_name<kLeave>();
  const auto highest = settings.text(enter);
  reader.mistake(settings.place_of(settings.is_set(leave) ? leave : enter),
                 leave + " is " + settings.text(leave) + ", above " + enter + ", which is " +
                     highest + "; set " + leave + " to " + highest + " or less");
}

// The price in whole millionths of a dollar.
std::optional<std::int64_t> price_of(const SectionReader& row, std::string_view kind) {
  const auto dollars = row.get<double>(kind);
  return dollars ? std::optional<std::int64_t>(std::llround(*dollars * 1e6)) : std::nullopt;
}

// Null: there are no prices.
std::shared_ptr<const PriceTable> read_prices(const SectionReader& reader) {
  std::vector<PriceTable::Row> rows;
  std::map<std::string, std::size_t> lines;
  reader.for_each("prices", [&](const SectionReader& row) {
    const auto model = row.get<std::string>("model").value_or("");
    const auto [first, is_new] = lines.emplace(model, row.place().line);
    if (!is_new && !model.empty()) {
      row.mistake("model", "duplicate model '" + model + "'; its price is already in line " +
                               std::to_string(first->second));
    }
    const auto input = price_of(row, "input").value_or(0);
    rows.push_back({.model = model,
                    .prices = {.each = {input, price_of(row, "cached_input").value_or(input),
                                        price_of(row, "cache_write").value_or(input),
                                        price_of(row, "output").value_or(0)}}});
  });
  if (rows.size() > PriceTable::kModelsMax) {
    reader.mistake("prices", "more than " + std::to_string(PriceTable::kModelsMax) +
                                 " prices; join models by '*'");
  }
  return rows.empty() ? nullptr : std::make_shared<const PriceTable>(std::move(rows));
}

// The settings that the reader of rules must know.
RuleContext context_of(const SectionReader& reader, const SettingValues& settings,
                       ServedBy served_by) {
  RuleContext context{.served_by = served_by, .prices = read_prices(reader)};
  context.knows_countries =
      !settings->country_header.empty() || !settings->country_database.empty();
  context.verifies_tokens =
      !settings->jwt.secret_file.empty() || !settings->jwt.public_key_file.empty();
  if (!settings->store.redis.empty()) context.shared_mode = settings->store.mode;
  context.knows_world = !settings->store.world.empty();
  return context;
}

void read_config(const SectionReader& reader, Config& config) {
  auto& settings = config.settings;
  read_settings(reader, kConfigSection, "", settings);
  if (!settings->jwt.secret_file.empty() && !settings->jwt.public_key_file.empty()) {
    reader.mistake(settings.place_of(setting_name<&JwtSettings::public_key_file>()),
                   "tokens are signed by HS256 or by RS256; remove 'secret_file' or "
                   "'public_key_file'");
  }
  if (config.served_by == ServedBy::kGateway && !settings->store.world.empty()) {
    reader.mistake(settings.place_of(setting_name<&StoreSettings::world>()),
                   "nginx's workers share limits and blocks in their own place alone; remove "
                   "'world', and serve what counts over all places by weir serve");
  }
  for (const YamlNode* text : reader.texts("trusted_proxies")) {
    if (!IpPrefix::parse(text->text)) reader.mistake(text->place, not_a_network(*text));
  }
  check_threshold<&SwitchThresholds::burst_ratio, &SwitchThresholds::burst_ratio_leave>(reader,
                                                                                        settings);
  check_threshold<&SwitchThresholds::denied_share, &SwitchThresholds::denied_share_leave>(reader,
                                                                                          settings);
  check_threshold<&SwitchThresholds::rate_min, &SwitchThresholds::rate_leave>(reader, settings);
  config.sources.country_header = settings->country_header;
  config.sources.token_header = settings->jwt.header;
  auto read = read_rules(reader, context_of(reader, settings, config.served_by));
  config.rules = std::move(read.rules);
  config.rule_places = std::move(read.places);
  config.rollouts = std::move(read.rollouts);
}

// A pipe is given up if its writer is silent for so long, or if it comes in too many pieces.
constexpr int kSilenceMaxMs = 10'000;
constexpr int kPiecesMax = 1'000;

class OpenFile {
 public:
  // Opens a FIFO even without a writer.
  explicit OpenFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}

  bool is_open() const { return fd_.is_open(); }

  // As read(2), but waits for a pipe.
  ssize_t read(char* at, std::size_t room) {
    for (;;) {
      const ssize_t got = ::read(fd_.get(), at, room);
      if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return got;
      pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
      if (pieces_++ == kPiecesMax || ::poll(&ready, 1, kSilenceMaxMs) == 0) {
        errno = ETIMEDOUT;
        return -1;
      }
    }
  }

 private:
  const UniqueFd fd_;
  int pieces_ = 0;
};

std::error_code last_error() { return {errno, std::generic_category()}; }

}  // namespace

Result<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file,
                                          ServedBy served_by) {
  Mistakes mistakes(file);
  Config config{.text = std::string(text), .served_by = served_by};
  auto parsed = YamlDocument::parse(text);
  if (!parsed) {
    mistakes.add(parsed.error().place, std::move(parsed.error().message));
    return mistakes.take();
  }

  const YamlNode* root = parsed->root();
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

Result<Config, ConfigErrors> load_config(const std::string& path, ServedBy served_by) {
  auto text = read_config_file(path);
  if (!text) return std::move(text.error());
  if (text->empty()) return ConfigErrors{{.file = path, .message = kNoText}};
  auto parsed = parse_config(*text, path, served_by);
  if (parsed) {
    Mistakes mistakes(path);
    load_token_key(*parsed, mistakes);
    load_country_database(*parsed, mistakes);
    if (!mistakes.empty()) return mistakes.take();
  }
  return parsed;
}

Result<std::string, std::error_code> read_file(const std::string& path, std::size_t bytes_max) {
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  OpenFile file(path);
  if (!file.is_open()) return last_error();
  std::string text;
  while (text.size() <= bytes_max) {
    const std::size_t size = text.size();
    text.resize(std::min(size + kPiece, bytes_max + 1));
    const ssize_t got = file.read(text.data() + size, text.size() - size);
    if (got < 0) return last_error();
    text.resize(size + static_cast<std::size_t>(got));
    if (got == 0) break;
  }
  return text;
}

Result<std::string, ConfigErrors> read_config_file(const std::string& path) {
  auto text = read_file(path, kYamlBytesMax);
  if (!text) {
    return ConfigErrors{{.file = path, .message = "cannot be read: " + text.error().message()}};
  }
  return *std::move(text);
}

}  // namespace weir
