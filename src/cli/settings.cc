#include "cli/settings.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/ip_address.h"
#include "config/config_file.h"
#include "console/assets.h"
#include "net/process_limits.h"
#include "store/redis/fleet/fleet_settings.h"

namespace weir {
namespace {

constexpr std::size_t kThreadsMax = 256;

// Short enough to be typed, too long to be guessed over a network.
constexpr std::size_t kSecretMin = 16;
constexpr std::size_t kSecretFileMax = std::size_t{64} << 10;

struct SecretKind {
  const char* name;
  const char* variable;  // of the environment; null: a file alone has it
};
constexpr SecretKind kAdminToken{.name = "admin token", .variable = "WEIR_ADMIN_TOKEN"};
constexpr SecretKind kRespPassword{.name = "password of Redis clients",
                                   .variable = "WEIR_RESP_PASSWORD"};
constexpr SecretKind kWebhookToken{.name = "token of the webhook", .variable = nullptr};
constexpr const char* kWebhook = "unusual_traffic.webhook";
constexpr const char* kWebhookTokenFile = "unusual_traffic.webhook_token_file";

// Those this process may run on, which may be fewer than the machine has.
std::size_t available_cores() {
  cpu_set_t cores;
  const bool known = ::sched_getaffinity(0, sizeof(cores), &cores) == 0;
  const std::size_t count =
      known ? static_cast<std::size_t>(CPU_COUNT(&cores)) : std::thread::hardware_concurrency();
  return std::clamp<std::size_t>(count, 1, kThreadsMax);
}

using MaybeSecret = std::variant<std::optional<std::string>, StartError>;

MaybeSecret checked_secret(std::string secret, const SecretKind& kind, const std::string& source) {
  if (secret.empty()) {
    return StartError{"the " + std::string(kind.name) + " in " + source +
                      " is empty; put one there, or unset it to go without"};
  }
  const auto is_visible = [](char c) { return c > ' ' && c < '\x7f'; };
  if (secret.size() < kSecretMin || !std::ranges::all_of(secret, is_visible)) {
    return StartError{"the " + std::string(kind.name) + " in " + source +
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
  if (const auto* error = std::get_if<std::error_code>(&text)) {
    return StartError{"cannot read the " + std::string(kind.name) + " from " + file + ": " +
                      error->message()};
  }
  const auto& all = std::get<std::string>(text);
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
  settings.tls = {.certificate = values.get<std::string>("tls.certificate"),
                  .key = values.get<std::string>("tls.key"),
                  .client_ca = values.get<std::string>("tls.client_ca")};
  const auto needs = std::ranges::find_if(settings.listening, is_under_tls);
  if (needs == settings.listening.end()) return std::nullopt;
  if (!settings.tls.certificate.empty() && !settings.tls.key.empty()) return std::nullopt;
  return SettingMistake{
      "listen." + std::string(needs->option->name),
      "TLS needs a certificate and its key: give --tls-certificate and --tls-key, or "
      "'tls:' in the file"};
}

// Port 0 is another one each time.
const Listening* listens_there(const Settings& settings, const Address& address) {
  const bool is_any = !address.is_unix() && address.port() == 0;
  const auto there = std::ranges::find_if(settings.listening, [&](const Listening& place) {
    return !is_any && place.address.to_string() == address.to_string();
  });
  return there == settings.listening.end() ? nullptr : &*there;
}

std::optional<SettingMistake> settle_listening(const SettingValues& values, Settings& settings) {
  const auto behind_proxy = values.get<std::vector<std::string>>("listen.proxy_protocol");
  for (const auto& option : kListenOptions) {
    const auto name = "listen." + std::string(option.name);
    // HTTP listens in clear by default, unless it listens under TLS.
    const bool by_default = option.name == "http" && !values.is_set("listen.http_tls");
    if (!values.is_set(name) && !by_default) continue;
    auto address = Address::parse(values.get<std::string>(name));
    if (auto* error = std::get_if<StartError>(&address)) {
      return SettingMistake{name, std::move(error->message)};
    }
    if (const auto* other = listens_there(settings, std::get<Address>(address))) {
      return SettingMistake{name, std::get<Address>(address).to_string() + " is the address of '" +
                                      std::string(other->option->name) +
                                      "' already; give each its own"};
    }
    settings.listening.push_back({.option = &option,
                                  .address = std::get<Address>(address),
                                  .proxy_protocol = proxy_protocol_of(behind_proxy, option.name)});
  }
  // A name that matches no address would leave one open that was meant to be closed.
  for (const auto& name : behind_proxy) {
    const auto is_named = [&](const Listening& place) { return place.option->name == name; };
    if (std::ranges::none_of(settings.listening, is_named)) {
      return SettingMistake{"listen.proxy_protocol", "proxy_protocol names '" + name +
                                                         "', but nothing listens under that name"};
    }
  }
  return settle_tls(values, settings);
}

std::optional<SettingMistake> settle_store(const SettingValues& values, Settings& settings) {
  auto fleet = fleet_settings(values);
  if (auto* mistake = std::get_if<SettingMistake>(&fleet)) return std::move(*mistake);
  settings.fleet = std::get<0>(std::move(fleet));
  return std::nullopt;
}

// The mistakes do not repeat the URL, which may be secret.
std::optional<SettingMistake> settle_webhook(const SettingValues& values, Settings& settings) {
  if (!values.is_set(kWebhook)) {
    if (!values.is_set(kWebhookTokenFile)) return std::nullopt;
    return SettingMistake{
        kWebhookTokenFile,
        "unusual_traffic.webhook_token_file is for a webhook: add 'webhook', too"};
  }
  settings.webhook = HttpUrl::parse(values.get<std::string>(kWebhook));
  if (!settings.webhook) {
    return SettingMistake{
        kWebhook,
        "unusual_traffic.webhook must be http:// or https://, a host and a path, such as "
        "https://alerts.example.com/weir"};
  }
  if (!values.is_set(kWebhookTokenFile) || settings.webhook->is_private()) return std::nullopt;
  return SettingMistake{
      kWebhook, "the token of unusual_traffic.webhook must not travel in clear: use https://"};
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

// As a sentence may repeat it.
std::string shown(const Settings& settings, const Setting& setting) {
  if (setting.field.type == FieldType::kListenAddress) {
    return address_in(settings, setting.field.name);
  }
  if (setting.name == "store.redis") {  // without its password
    return settings.fleet ? settings.fleet->url.to_string() : "off";
  }
  if (setting.name == "threads") return std::to_string(settings.threads);
  if (setting.name == "max_buffered") return std::to_string(settings.max_buffered);
  return settings.values.text(setting.name);
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

std::variant<Settings, SettingMistake> settle(const SettingValues& values) {
  auto settings = Settings{.values = values};
  if (auto mistake = settle_listening(values, settings)) return std::move(*mistake);
  if (auto mistake = settle_store(values, settings)) return std::move(*mistake);
  if (auto mistake = settle_webhook(values, settings)) return std::move(*mistake);
  if (values.is_set("trusted_proxies")) {
    settings.trusted_proxies =
        TrustedProxies(networks_of(values.get<std::vector<std::string>>("trusted_proxies")));
  }
  settings.threads = values.is_set("threads")
                         ? static_cast<std::size_t>(values.get<std::int64_t>("threads"))
                         : available_cores();
  settings.max_buffered = values.is_set("max_buffered")
                              ? static_cast<std::uint64_t>(values.get<std::int64_t>("max_buffered"))
                              : default_buffered_max(memory_limit());
  return settings;
}

ConsoleOptions console_options(const SettingValues& values) {
  using Use = ConsoleOptions::Use;
  const auto said = values.get<std::string>("console");
  const Use use = said == "off" ? Use::kOff : said == "public" ? Use::kPublic : Use::kOn;
  return {.use = use, .assets = console_assets()};
}

AdaptiveThresholds adaptive_thresholds(const SettingValues& values) {
  const auto number = [&](std::string_view name) {
    return values.get<double>("adaptive." + std::string(name));
  };
  return {.burst_ratio = number("burst_ratio"),
          .burst_ratio_leave = number("burst_ratio_leave"),
          .denied_share = number("denied_share"),
          .denied_share_leave = number("denied_share_leave"),
          .rate_min = number("rate_min"),
          .rate_leave = number("rate_leave"),
          .dwell = values.get<Duration>("adaptive.dwell")};
}

std::vector<std::string> needs_restart(const Settings& running, const Settings& wanted) {
  auto sentences = std::vector<std::string>();
  for (const auto& setting : settings_of()) {
    if (setting.field.change != Field::Change::kByRestart) continue;
    const auto is = shown(running, setting);
    const auto to = shown(wanted, setting);
    if (is == to) continue;
    const bool is_short = setting.field.type == FieldType::kTextList || setting.name == kWebhook;
    sentences.push_back(is_short
                            ? setting.name + " has changed and needs a restart; it stays as it was"
                            : setting.name + " " + to + " needs a restart; it stays " + is);
  }
  return sentences;
}

std::variant<std::optional<std::string>, StartError> read_webhook_token(
    const SettingValues& settings) {
  const auto file = settings.get<std::string>(kWebhookTokenFile);
  return file.empty() ? MaybeSecret(std::nullopt) : read_secret(kWebhookToken, file);
}

std::variant<Secrets, StartError> read_secrets(const ServeOptions& options,
                                               const SettingValues& settings) {
  auto token = read_secret(kAdminToken, options.admin_token_file);
  if (auto* error = std::get_if<StartError>(&token)) return std::move(*error);
  auto password = read_secret(kRespPassword, options.resp_password_file);
  if (auto* error = std::get_if<StartError>(&password)) return std::move(*error);
  auto webhook = read_webhook_token(settings);
  if (auto* error = std::get_if<StartError>(&webhook)) return std::move(*error);
  return Secrets{.admin_token = std::get<0>(std::move(token)),
                 .resp_password = std::get<0>(std::move(password)),
                 .webhook_token = std::get<0>(std::move(webhook))};
}

}  // namespace weir
