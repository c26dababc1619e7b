#include "cli/node/settings.h"

#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/ip_address.h"
#include "config/config.h"
#include "config/fields/field_value.h"
#include "net/process_limits.h"
#include "store/redis/fleet/node_fleet.h"

namespace weir {
namespace {

constexpr std::size_t kThreadsMax = 256;

// Short enough to type, too long to guess over a network.
constexpr std::size_t kSecretMin = 16;
constexpr std::size_t kSecretFileMax = std::size_t{64} << 10;

struct SecretKind {
  const char* name;
  const char* variable;  // of the environment; null: only a file has it
};
constexpr SecretKind kAdminToken{.name = "admin token", .variable = "WEIR_ADMIN_TOKEN"};
constexpr SecretKind kRespPassword{.name = "password of Redis clients",
                                   .variable = "WEIR_RESP_PASSWORD"};
constexpr SecretKind kWebhookToken{.name = "token of the webhook", .variable = nullptr};

// The cores that this process may use, which may be fewer than the machine's.
std::size_t available_cores() {
  cpu_set_t cores;
  const bool known = ::sched_getaffinity(0, sizeof(cores), &cores) == 0;
  const std::size_t count =
      known ? static_cast<std::size_t>(CPU_COUNT(&cores)) : std::thread::hardware_concurrency();
  return std::clamp<std::size_t>(count, 1, kThreadsMax);
}

using MaybeSecret = Result<std::optional<std::string>, Fault>;

MaybeSecret checked_secret(std::string secret, const SecretKind& kind, const std::string& source) {
  if (secret.empty()) {
    return Fault{"the " + std::string(kind.name) + " in " + source +
                 " is empty; put one there, or unset it to go without"};
  }
  const auto is_visible = [](char c) { return c > ' ' && c < '\x7f'; };
  if (secret.size() < kSecretMin || !std::ranges::all_of(secret, is_visible)) {
    return Fault{"the " + std::string(kind.name) + " in " + source +
                 " is not fit; it must be one word of " + std::to_string(kSecretMin) +
                 " or more visible ASCII characters"};
  }
  return std::optional(std::move(secret));
}

MaybeSecret read_secret(const SecretKind& kind, const std::string& file) {
  if (file.empty()) {
    const char* value = std::getenv(kind.variable);
    if (value == nullptr) return std::optional<std::string>();
    return checked_secret(value, kind, std::string("$") + kind.variable);
  }
  const auto text = read_file(file, kSecretFileMax);
  if (!text) {
    return Fault{"cannot read the " + std::string(kind.name) + " from " + file + ": " +
                 text.error().message()};
  }
  const auto& all = *text;
  auto line = all.substr(0, all.find('\n'));
  if (line.ends_with('\r')) line.pop_back();
  return checked_secret(std::move(line), kind, file);
}

bool is_under_tls(const Listening& place) { return place.option->security == Security::kTls; }

// Whether connections to this address begin with a PROXY header.
ProxyProtocol proxy_protocol_of(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end() ? ProxyProtocol::kRequired
                                                       : ProxyProtocol::kNone;
}

std::optional<SettingMistake> settle_tls(const SettingValues& values, Settings& settings) {
  const auto& [certificate, key, client_ca] = values->tls;
  settings.tls = {.certificate = certificate, .key = key, .client_ca = client_ca};
  const auto needs = std::ranges::find_if(settings.listening, is_under_tls);
  if (needs == settings.listening.end()) return std::nullopt;
  if (!certificate.empty() && !key.empty()) return std::nullopt;
  return SettingMistake{
      "listen." + std::string(needs->option->name),
      "TLS needs a certificate and its key: give --tls-certificate and --tls-key, or "
      "'tls:' in the file"};
}

// Port 0 means a new port each time.
const Listening* listens_there(const Settings& settings, const Address& address) {
  const bool is_any = !address.is_unix() && address.port() == 0;
  const auto there = std::ranges::find_if(settings.listening, [&](const Listening& place) {
    return !is_any && place.address.to_string() == address.to_string();
  });
  return there == settings.listening.end() ? nullptr : &*there;
}

std::optional<SettingMistake> settle_listening(const SettingValues& values, Settings& settings) {
  const auto& behind_proxy = values->listen.proxy_protocol;
  for (const auto& option : kListenOptions) {
    const auto name = "listen." + std::string(option.name);
    // HTTP listens in clear by default, unless it listens under TLS.
    const bool by_default = option.name == "http" && values->listen.http_tls.empty();
    if (!values.is_set(name) && !by_default) continue;
    auto address = Address::parse(values->listen.*option.address);
    if (!address) return SettingMistake{name, std::move(address.error().message)};
    if (const auto* other = listens_there(settings, *address)) {
      return SettingMistake{name, address->to_string() + " is the address of '" +
                                      std::string(other->option->name) +
                                      "' already; give each its own"};
    }
    settings.listening.push_back({.option = &option,
                                  .address = *address,
                                  .proxy_protocol = proxy_protocol_of(behind_proxy, option.name)});
  }
  // An unknown name would leave an address open that was meant to be closed.
  for (const auto& name : behind_proxy) {
    const auto is_named = [&](const Listening& place) { return place.option->name == name; };
    if (std::ranges::none_of(settings.listening, is_named)) {
      return SettingMistake{
          setting_name<&ListenSettings::proxy_protocol>(),
          "proxy_protocol names '" + name + "', but nothing listens under that name"};
    }
  }
  return settle_tls(values, settings);
}

std::optional<SettingMistake> settle_store(const SettingValues& values, Settings& settings) {
  auto fleet = fleet_settings(values);
  if (!fleet) return std::move(fleet.error());
  settings.fleet = *std::move(fleet);
  auto world = world_settings(values);
  if (!world) return std::move(world.error());
  settings.world = *std::move(world);
  return std::nullopt;
}

// Mistakes do not repeat the URL, which may be secret.
std::optional<SettingMistake> settle_webhook(const SettingValues& values, Settings& settings) {
  const auto& [learn, webhook, token_file] = values->unusual_traffic;
  const auto& name = setting_name<&UnusualTrafficSettings::webhook>();
  if (webhook.empty()) {
    if (token_file.empty()) return std::nullopt;
    const auto& token = setting_name<&UnusualTrafficSettings::webhook_token_file>();
    return SettingMistake{token, token + " is for a webhook: add 'webhook', too"};
  }
  settings.webhook = HttpUrl::parse(webhook);
  if (!settings.webhook) {
    return SettingMistake{name, name +
                                    " must be http:// or https://, a host and a path, such as "
                                    "https://alerts.example.com/weir"};
  }
  if (token_file.empty() || settings.webhook->is_private()) return std::nullopt;
  return SettingMistake{name, "the token of " + name + " must not travel in clear: use https://"};
}

std::vector<IpPrefix> networks_of(const std::vector<std::string>& texts) {
  auto networks = std::vector<IpPrefix>();
  for (const auto& text : texts) {
    if (const auto network = IpPrefix::parse(text)) networks.push_back(*network);
  }
  return networks;
}

std::string address_in(const Settings& settings, std::string_view name) {
  for (const auto& listening : settings.listening) {
    if (listening.option->name == name) return listening.address.to_string();
  }
  return "off";
}

// 0 for an empty text. REQUIRES: it has the form of its row
std::size_t bytes_in(std::string_view size) {
  const auto number =
      read_decimal<std::size_t>(size.substr(0, std::max<std::size_t>(3, size.size()) - 3));
  return number.value_or(0) << (size.ends_with("GiB") ? 30 : 20);
}

// The setting's value as messages may show it.
std::string shown(const Settings& settings, const Setting& setting) {
  if (setting.field.type == FieldType::kListenAddress) {
    return address_in(settings, setting.field.name);
  }
  const auto is = [&](const std::string& name) { return setting.name == name; };
  if (is(setting_name<&StoreSettings::redis>())) {  // without the password
    return settings.fleet ? settings.fleet->url.to_string() : "off";
  }
  if (is(setting_name<&StoreSettings::world>())) {
    return settings.world ? settings.world->url.to_string() : "off";
  }
  if (is(setting_name<&ServerSettings::threads>())) return std::to_string(settings.threads);
  if (is(setting_name<&ServerSettings::max_buffered>())) {
    return std::to_string(settings.max_buffered);
  }
  return settings.values.text(setting.name);
}

// An empty text is no value, unless it would hide a default.
bool is_left_out(const Field& field, const std::string& text) {
  return text.empty() && field.default_text.empty();
}

std::string mistake_in(const Field& field, const std::string& text) {
  if (is_left_out(field, text)) return {};
  const auto read = read_setting(field, text);
  return read ? std::string() : read.error().message;
}

std::string type_name(const Field& field) {
  if (field.type == FieldType::kInteger) {
    return "INT in [" + std::to_string(field.range.min) + " - " + std::to_string(field.range.max) +
           "]";
  }
  std::string choices;
  for (const auto choice : field.choices) {
    choices.append(choices.empty() ? "TEXT:{" : ",").append(choice);
  }
  return choices.empty() ? "TEXT" : choices + "}";
}

// Items are names of options or of fields: http-tls is http_tls.
void take_list(const std::string& name, std::vector<std::string> texts, SettingValues& said) {
  for (auto& text : texts) std::ranges::replace(text, '-', '_');
  said.set(name, std::move(texts));
}

void take(const Setting& setting, const std::string& text, SettingValues& said) {
  if (is_left_out(setting.field, text)) return;
  said.set(setting.name, *read_setting(setting.field, text));
}

// settle() reads addresses, as its errors say more. An operator who gives two addresses wants both.
CLI::Option* add_listen_option(CLI::App& command, const Setting& setting, const std::string& help,
                               SettingValues& said) {
  constexpr int kSome = 16;  // more are an error in the words of CLI11
  const auto flag = std::string(setting.field.option.name);
  const auto take_one = [flag, name = setting.name, &said](const std::vector<std::string>& texts) {
    if (texts.size() == 1) return said.set(name, texts.front());
    throw CLI::ValidationError(
        flag + " is there already, with " + texts.front() +
        ": it takes one address. [::]:PORT stands for all addresses of this machine; --http, "
        "--grpc, --resp and the same with -tls each listen at an address of their own");
  };
  return command.add_option_function<std::vector<std::string>>(flag, take_one, help)
      ->expected(1, kSome)
      ->type_name("TEXT");
}

CLI::Option* add_option(CLI::App& command, const Setting& setting, SettingValues& said) {
  const auto& field = setting.field;
  const auto flag = std::string(field.option.name);
  auto help = std::string(field.option.help);
  if (field.type == FieldType::kBoolean) {
    const auto& name = setting.name;
    return command.add_flag_callback(
        flag, [name, &said] { said.set(name, true); }, help);
  }
  if (!field.default_text.empty()) help.append(" [").append(field.default_text).append("]");
  if (field.type == FieldType::kListenAddress) {
    return add_listen_option(command, setting, help, said);
  }
  if (field.type == FieldType::kTextList) {
    const auto take_texts = [name = setting.name, &said](const std::vector<std::string>& texts) {
      take_list(name, texts, said);
    };
    return command.add_option_function<std::vector<std::string>>(flag, take_texts, help)
        ->delimiter(',');
  }
  const auto take_text = [setting, &said](const std::string& text) { take(setting, text, said); };
  return command.add_option_function<std::string>(flag, take_text, help)
      ->type_name(type_name(field))
      ->check([&field](const std::string& text) { return mistake_in(field, text); });
}

}  // namespace

std::string Listening::url(const Address& bound) const {
  return std::string(option->scheme) + "://" + bound.to_string();
}

bool Settings::needs_tls() const { return std::ranges::any_of(listening, is_under_tls); }

Exposure Settings::exposure() const {
  const auto is_for_this_machine = [](const Listening& place) {
    return place.address.is_local() && place.proxy_protocol == ProxyProtocol::kNone;
  };
  return std::ranges::all_of(listening, is_for_this_machine) ? Exposure::kLoopback
                                                             : Exposure::kNetwork;
}

Result<Settings, SettingMistake> settle(const SettingValues& values) {
  auto settings = Settings{.values = values};
  if (auto mistake = settle_listening(values, settings)) return std::move(*mistake);
  if (auto mistake = settle_store(values, settings)) return std::move(*mistake);
  if (auto mistake = settle_webhook(values, settings)) return std::move(*mistake);
  if (values->trusted_proxies) {
    settings.trusted_proxies = TrustedProxies(networks_of(*values->trusted_proxies));
  }
  settings.threads = values->threads ? *values->threads : available_cores();
  settings.max_buffered =
      values->max_buffered ? *values->max_buffered : default_buffered_max(memory_limit());
  settings.remember_bytes = bytes_in(values->remember);
  return settings;
}

Result<std::shared_ptr<const Admission>, Fault> make_admission(const Settings& settings) {
  auto admission = Admission{.tls = nullptr, .trusted_proxies = settings.trusted_proxies};
  if (settings.needs_tls()) {
    auto loaded = TlsContext::load(settings.tls);
    if (!loaded) return std::move(loaded.error());
    admission.tls = *std::move(loaded);
  }
  return std::make_shared<const Admission>(std::move(admission));
}

std::vector<std::string> needs_restart(const Settings& running, const Settings& wanted) {
  auto sentences = std::vector<std::string>();
  for (const auto& setting : all_settings()) {
    if (setting.field.change != Field::Change::kByRestart) continue;
    const auto is = shown(running, setting);
    const auto to = shown(wanted, setting);
    if (is == to) continue;
    const bool is_short = setting.field.type == FieldType::kTextList ||
                          setting.name == setting_name<&UnusualTrafficSettings::webhook>();
    sentences.push_back(is_short
                            ? setting.name + " has changed and needs a restart; it stays as it was"
                            : setting.name + " " + to + " needs a restart; it stays " + is);
  }
  return sentences;
}

Result<std::optional<std::string>, Fault> read_webhook_token(const ServerSettings& settings) {
  const auto& file = settings.unusual_traffic.webhook_token_file;
  return file.empty() ? MaybeSecret(std::nullopt) : read_secret(kWebhookToken, file);
}

Result<Secrets, Fault> read_secrets(const ServeOptions& options, const ServerSettings& settings) {
  auto token = read_secret(kAdminToken, options.admin_token_file);
  if (!token) return std::move(token.error());
  auto password = read_secret(kRespPassword, options.resp_password_file);
  if (!password) return std::move(password.error());
  auto webhook = read_webhook_token(settings);
  if (!webhook) return std::move(webhook.error());
  return Secrets{.admin_token = *std::move(token),
                 .resp_password = *std::move(password),
                 .webhook_token = *std::move(webhook)};
}

void add_setting_options(CLI::App& command, SettingValues& said) {
  for (const auto& setting : all_settings()) {
    const auto& option = setting.field.option;
    if (option.name.empty()) continue;
    add_option(command, setting, said)->envname(std::string(option.variable));
  }
}

}  // namespace weir
