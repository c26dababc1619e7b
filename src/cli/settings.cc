#include "cli/settings.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace weir {
namespace {

constexpr const char* kTokenVariable = "WEIR_ADMIN_TOKEN";
constexpr std::size_t kThreadsMax = 256;

// Short enough to be typed, too long to be guessed over a network.
constexpr std::size_t kTokenMin = 16;

// Those this process may run on, which may be fewer than the machine has.
std::size_t available_cores() {
  cpu_set_t cores;
  const bool known = ::sched_getaffinity(0, sizeof(cores), &cores) == 0;
  const std::size_t count =
      known ? static_cast<std::size_t>(CPU_COUNT(&cores)) : std::thread::hardware_concurrency();
  return std::clamp<std::size_t>(count, 1, kThreadsMax);
}

std::variant<std::optional<std::string>, StartError> checked_token(std::string token,
                                                                   const std::string& source) {
  const auto is_visible = [](char c) { return c > ' ' && c < '\x7f'; };
  if (token.size() < kTokenMin || !std::ranges::all_of(token, is_visible)) {
    return StartError{"the admin token in " + source + " is not fit; it must be one word of " +
                      std::to_string(kTokenMin) + " or more visible ASCII characters"};
  }
  return std::optional(std::move(token));
}

// What the command line says, else the file, else the default; null if nothing does.
const std::string* address_text(const ServeOptions& options, const Config& config,
                                std::string_view name) {
  for (const auto* given : {&options.listen, &config.listen}) {
    if (const auto found = given->find(name); found != given->end()) return &found->second;
  }
  static const std::string default_http = kDefaultHttp;
  return name == "http" ? &default_http : nullptr;
}

std::optional<StartError> settle_listening(const ServeOptions& options, const Config& config,
                                           Settings& settings) {
  for (const auto& option : kListenOptions) {
    const auto* text = address_text(options, config, option.name);
    if (text == nullptr) continue;
    auto address = Address::parse(*text);
    if (auto* error = std::get_if<StartError>(&address)) return std::move(*error);
    settings.listening.push_back({.option = &option, .address = std::get<Address>(address)});
  }
  return std::nullopt;
}

std::string address_in(const Settings& settings, const ListenOption& option) {
  for (const auto& listening : settings.listening) {
    if (listening.option == &option) return listening.address.to_string();
  }
  return "off";
}

}  // namespace

std::string Listening::url(const Address& bound) const {
  return std::string(option->scheme) + "://" + bound.to_string();
}

std::variant<Settings, StartError> settle(const ServeOptions& options, const Config& config) {
  auto settings = Settings();
  if (auto error = settle_listening(options, config, settings)) return std::move(*error);
  settings.threads = available_cores();
  if (config.threads) settings.threads = static_cast<std::size_t>(*config.threads);
  if (options.threads) settings.threads = static_cast<std::size_t>(*options.threads);
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
  return sentences;
}

std::variant<std::optional<std::string>, StartError> read_admin_token(const std::string& file) {
  if (file.empty()) {
    const char* value = std::getenv(kTokenVariable);
    if (value == nullptr) return std::optional<std::string>();
    return checked_token(value, std::string("$") + kTokenVariable);
  }
  auto stream = std::ifstream(file);
  auto line = std::string();
  if (!std::getline(stream, line)) {
    return StartError{"cannot read the admin token from " + file};
  }
  if (line.ends_with('\r')) line.pop_back();
  return checked_token(std::move(line), file);
}

}  // namespace weir
