#include "cli/gateway/nginx_config.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/http/http_client.h"
#include "weir/version.h"

namespace weir {
namespace {

constexpr std::string_view kTemplate =
#include "cli/gateway/nginx_conf.inc"
    ;

// False if the text has characters that nginx interprets in a quoted text, that end one, or that
// confuse log lines and terminals.
bool is_plain(std::string_view text) {
  constexpr std::string_view kSpecial = "\"'\\$;{}#";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  return text.find_first_of(kSpecial) == text.npos && std::ranges::none_of(text, is_control);
}

// The template's places, each with its values.
class Places {
 public:
  explicit Places(const GatewayOptions& options) {
    put("", "");  // begins the template's own notes
    put("version", kVersion);
    put("--user", options.user);
    put("--workers", options.workers > 0 ? std::to_string(options.workers) : "auto");
    put_file("--folder", options.folder, !options.folder.empty());
    put_file("--module", options.module_file);
    put("--memory", std::to_string(options.memory));
    put_file("--config", options.config_file);
    const bool logs = options.access_log != "off";
    put_file("--access-log", options.access_log, logs);
    put("no log", logs ? "" : "off");
    put("--max-body", std::to_string(options.body_max));
    put("trusted_proxies", "");
    for (const auto& network : options.trusted_proxies) put("trusted_proxies", network);
    put_origin(options);
    put_listeners(options);
  }

  // `rest` is the part that is not filled in yet.
  Result<std::string, Fault> fill(std::string_view rest) const {
    if (error_) return *error_;
    std::string filled;
    for (bool is_wanted = true; !rest.empty();) {
      const auto line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
      rest.remove_prefix(line.size());
      if (!is_wanted) {
        is_wanted = line == "\n";
        continue;
      }
      const auto begin = line.find('@');
      const auto end = line.find('@', begin + 1);
      const bool has_place = end != line.npos;
      const auto place = has_place ? line.substr(begin + 1, end - begin - 1) : "";
      if (!has_place) {
        filled += line;
      } else if (place.starts_with("if ")) {
        is_wanted = !values_.at(place.substr(3)).empty();
      } else {
        for (const auto& value : values_.at(place)) {
          filled.append(line.substr(0, begin)).append(value).append(line.substr(end + 1));
        }
      }
    }
    return filled;
  }

 private:
  // Only the first mistake is reported.
  void refuse(std::string message) {
    if (!error_) error_ = Fault{std::move(message)};
  }

  // An empty text is no value.
  void put(std::string_view place, std::string_view value) {
    if (!is_plain(value)) {
      refuse(
          fmt::format("{}: nginx would misread a control character or one of "
                      "\" ' \\ $ ; {{ }} # in it; choose another name",
                      place));
    }
    auto& values = values_[place];
    if (!value.empty()) values.emplace_back(value);
  }

  void put_file(std::string_view option, std::string_view value, bool is_used = true) {
    if (is_used && !value.starts_with('/')) {
      refuse(fmt::format("{}: name the file by its whole path", option));
    }
    put(option, is_used ? value : "");
  }

  void put_origin(const GatewayOptions& options) {
    const auto url = HttpUrl::parse(options.origin);
    if (!url || url->target != "/") {
      return refuse(
          fmt::format("--origin: '{}' is no origin; write http://HOST[:PORT] or "
                      "https://HOST[:PORT], without a user and a path",
                      is_plain(options.origin) ? options.origin : ""));
    }
    const bool is_tls = url->scheme == "https";
    put("--origin", url->host + ":" + url->port);
    put("scheme", url->scheme);
    put("TLS origin", is_tls ? url->name() : "");
    put_file("--origin-ca", options.origin_ca, is_tls);
    const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(options.origin_timeout);
    put("--origin-timeout", fmt::format("{}ms", timeout.count()));
    put("responses count", options.awaits_responses ? "yes" : "");
    put("location", options.awaits_responses ? "@origin" : "/");
  }

  void put_listeners(const GatewayOptions& options) {
    const bool is_tls = !options.http_tls.empty();
    if (options.http.empty() && !is_tls) {
      refuse("nowhere to listen: name an address with --http or --http-tls");
    }
    if (is_tls && (options.certificate.empty() || options.key.empty())) {
      refuse("--http-tls needs --tls-certificate and --tls-key");
    }
    put_address("--http", options.http);
    put_address("--http-tls", options.http_tls);
    put_file("--tls-certificate", options.certificate, is_tls);
    put_file("--tls-key", options.key, is_tls);
  }

  void put_address(std::string_view option, const std::string& text) {
    if (text.empty()) return put(option, "");
    const auto parsed = Address::parse(text);
    if (!parsed) return refuse(fmt::format("{}: {}", option, parsed.error().message));
    const auto& address = *parsed;
    if (!address.is_unix() && address.port() == 0) {
      refuse(fmt::format("{}: nginx takes no free port; choose one from 1 to 65535", option));
    }
    put(option, address.to_string());
  }

  std::map<std::string_view, std::vector<std::string>> values_;
  std::optional<Fault> error_;
};

}  // namespace

Result<std::string, Fault> nginx_config(const GatewayOptions& options) {
  return Places(options).fill(kTemplate);
}

}  // namespace weir
