#include "cli/settings.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/duration_text.h"

namespace weir {
namespace {

constexpr std::size_t kThreadsMax = 256;

// Short enough to be typed, too long to be guessed over a network.
constexpr std::size_t kSecretMin = 16;

struct SecretKind {
  const char* name;
  const char* variable;  // of the environment
};
constexpr SecretKind kAdminToken{.name = "admin token", .variable = "WEIR_ADMIN_TOKEN"};
constexpr SecretKind kRespPassword{.name = "password of Redis clients",
                                   .variable = "WEIR_RESP_PASSWORD"};

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
  auto stream = std::ifstream(file);
  auto line = std::string();
  if (!std::getline(stream, line)) {
    return StartError{"cannot read the " + std::string(kind.name) + " from " + file};
  }
  if (line.ends_with('\r')) line.pop_back();
  return checked_secret(std::move(line), kind, file);
}

// What the command line says, else the file, else the default; null if nothing does.
const std::string* address_text(const ServeOptions& options, const Config& config,
                                std::string_view name) {
  for (const auto* given : {&options.listen, &config.listen}) {
    if (const auto found = given->find(name); found != given->end()) return &found->second;
  }
  return nullptr;
}

// Whether connections to this address begin with a PROXY header.
ProxyProtocol proxy_protocol_of(const ServeOptions& options, const Config& config,
                                std::string_view name) {
  const auto& names = options.proxy_protocol ? *options.proxy_protocol : config.proxy_protocol;
  return std::ranges::find(names, name) != names.end() ? ProxyProtocol::kRequired
                                                       : ProxyProtocol::kNone;
}

// A name that matches no address would leave one open that was meant to be closed.
std::optional<StartError> check_proxy_protocol(const ServeOptions& options, const Config& config,
                                               const Settings& settings) {
  const auto& names = options.proxy_protocol ? *options.proxy_protocol : config.proxy_protocol;
  for (const auto& name : names) {
    const auto is_named = [&](const Listening& listening) {
      return listening.option->name == name;
    };
    if (std::ranges::none_of(settings.listening, is_named)) {
      return StartError{"proxy_protocol names '" + name + "', but nothing listens under that name"};
    }
  }
  return std::nullopt;
}

// Neither of the two addresses of HTTP is given.
bool needs_default_http(const ServeOptions& options, const Config& config) {
  return address_text(options, config, "http") == nullptr &&
         address_text(options, config, "http_tls") == nullptr;
}

std::optional<StartError> settle_tls(const ServeOptions& options, const Config& config,
                                     Settings& settings) {
  const auto given = [](const std::string& option, const std::string& field) {
    return option.empty() ? field : option;
  };
  settings.tls = {.certificate = given(options.tls.certificate, config.tls.certificate),
                  .key = given(options.tls.key, config.tls.key),
                  .client_ca = given(options.tls.client_ca, config.tls.client_ca)};
  if (!settings.needs_tls()) return std::nullopt;
  if (!settings.tls.certificate.empty() && !settings.tls.key.empty()) return std::nullopt;
  return StartError{
      "TLS needs a certificate and its key: give --tls-certificate and --tls-key, or "
      "'tls:' in the file"};
}

std::optional<StartError> settle_listening(const ServeOptions& options, const Config& config,
                                           Settings& settings) {
  for (const auto& option : kListenOptions) {
    const auto* text = address_text(options, config, option.name);
    const bool by_default = option.name == "http" && needs_default_http(options, config);
    if (text == nullptr && !by_default) continue;
    auto address = Address::parse(text != nullptr ? *text : kDefaultHttp);
    if (auto* error = std::get_if<StartError>(&address)) return std::move(*error);
    settings.listening.push_back(
        {.option = &option,
         .address = std::get<Address>(address),
         .proxy_protocol = proxy_protocol_of(options, config, option.name)});
  }
  if (auto error = check_proxy_protocol(options, config, settings)) return error;
  return settle_tls(options, config, settings);
}

// The command line wins field by field.
std::optional<StartError> settle_store(const ServeOptions& options, const Config& config,
                                       Settings& settings) {
  const StoreSettings& given = options.store;
  const StoreSettings& file = config.store;
  const auto& url = given.redis.empty() ? file.redis : given.redis;
  if (url.empty()) {
    if (!given.mode) return std::nullopt;
    return StartError{
        "--mode is about a store that is shared: give --redis, or 'store:' in the file"};
  }
  auto parsed = RedisUrl::parse(url);
  if (const auto* error = std::get_if<RedisUrlError>(&parsed)) {
    return StartError{"the URL of the Redis: " + error->message};
  }
  auto& fleet = settings.fleet.emplace();
  fleet.url = std::get<RedisUrl>(std::move(parsed));
  fleet.mode = given.mode.value_or(file.mode.value_or(fleet.mode));
  fleet.deadline = given.deadline.value_or(file.deadline.value_or(fleet.deadline));
  fleet.sync_interval =
      given.sync_interval.value_or(file.sync_interval.value_or(fleet.sync_interval));
  fleet.prefix = given.prefix.value_or(file.prefix.value_or(fleet.prefix));
  return std::nullopt;
}

// "redis://10.0.0.5, mode strict, ..."
std::string store_text(const Settings& settings) {
  if (!settings.fleet) return "off";
  const auto& fleet = *settings.fleet;
  return fleet.url.to_string() + " in mode " + std::string(mode_name(fleet.mode)) + ", deadline " +
         format_duration(fleet.deadline) + ", sync_interval " +
         format_duration(fleet.sync_interval) + ", prefix '" + fleet.prefix + "'";
}

std::string address_in(const Settings& settings, const ListenOption& option) {
  for (const auto& listening : settings.listening) {
    if (listening.option != &option) continue;
    const bool with_header = listening.proxy_protocol == ProxyProtocol::kRequired;
    return listening.address.to_string() + (with_header ? " with PROXY headers" : "");
  }
  return "off";
}

}  // namespace

std::string Listening::url(const Address& bound) const {
  return std::string(option->scheme) + "://" + bound.to_string();
}

bool Settings::needs_tls() const {
  return std::ranges::any_of(
      listening, [](const Listening& place) { return place.option->security == Security::kTls; });
}

Exposure Settings::exposure() const {
  const auto is_for_this_machine = [](const Listening& place) {
    return place.address.is_local() && place.proxy_protocol == ProxyProtocol::kNone;
  };
  return std::ranges::all_of(listening, is_for_this_machine) ? Exposure::kLoopback
                                                             : Exposure::kNetwork;
}

std::variant<Settings, StartError> settle(const ServeOptions& options, const Config& config) {
  auto settings = Settings();
  if (auto error = settle_listening(options, config, settings)) return std::move(*error);
  if (auto error = settle_store(options, config, settings)) return std::move(*error);
  if (config.trusted_proxies) settings.trusted_proxies = TrustedProxies(*config.trusted_proxies);
  settings.envoy = config.envoy;
  settings.state_file = options.state_file.empty() ? config.state_file : options.state_file;
  settings.config_file = options.config_file;
  settings.watch = options.watch || config.watch;
  settings.threads = available_cores();
  if (config.threads) settings.threads = static_cast<std::size_t>(*config.threads);
  if (options.threads) settings.threads = static_cast<std::size_t>(*options.threads);
  settings.http2_age_max = config.http2_age_max.value_or(kDefaultHttp2AgeMax);
  settings.max_keys = options.max_keys.value_or(config.max_keys.value_or(kDefaultMaxKeys));
  return settings;
}

std::vector<std::string> needs_restart(const Settings& running, const Settings& wanted) {
  auto sentences = std::vector<std::string>();
  const auto compare = [&](const std::string& name, const std::string& is, const std::string& to) {
    if (is != to) sentences.push_back(name + " " + to + " needs a restart; it stays " + is);
  };
  for (const auto& option : kListenOptions) {
    compare("listen." + std::string(option.name), address_in(running, option),
            address_in(wanted, option));
  }
  compare("threads", std::to_string(running.threads), std::to_string(wanted.threads));
  compare("max_keys", std::to_string(running.max_keys), std::to_string(wanted.max_keys));
  compare("store", store_text(running), store_text(wanted));
  compare("state_file", running.state_file.empty() ? "off" : running.state_file,
          wanted.state_file.empty() ? "off" : wanted.state_file);
  if (running.trusted_proxies != wanted.trusted_proxies) {
    sentences.push_back("trusted_proxies has changed and needs a restart; it stays as it was");
  }
  compare("listen.http2_age_max", format_duration(running.http2_age_max),
          format_duration(wanted.http2_age_max));
  const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
  compare("watch", text(running.watch), text(wanted.watch));
  const auto& is = running.envoy;
  const auto& to = wanted.envoy;
  compare("envoy.all_or_nothing", text(is.all_or_nothing), text(to.all_or_nothing));
  compare("envoy.response_headers", text(is.response_headers), text(to.response_headers));
  compare("envoy.limit_header", is.limit_header, to.limit_header);
  compare("envoy.remaining_header", is.remaining_header, to.remaining_header);
  compare("envoy.reset_header", is.reset_header, to.reset_header);
  compare("envoy.response_metadata", text(is.response_metadata), text(to.response_metadata));
  compare("envoy.shadow_mode", text(is.shadow_mode), text(to.shadow_mode));
  return sentences;
}

std::variant<Secrets, StartError> read_secrets(const ServeOptions& options) {
  auto token = read_secret(kAdminToken, options.admin_token_file);
  if (auto* error = std::get_if<StartError>(&token)) return std::move(*error);
  auto password = read_secret(kRespPassword, options.resp_password_file);
  if (auto* error = std::get_if<StartError>(&password)) return std::move(*error);
  return Secrets{.admin_token = std::get<0>(std::move(token)),
                 .resp_password = std::get<0>(std::move(password))};
}

}  // namespace weir
