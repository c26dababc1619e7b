#include "cli/gateway/nginx_config.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/http_url.h"
#include "weir/version.h"

namespace weir {
namespace {

// What nginx reads as something else in a quoted text, what ends one, and what log lines and
// terminals would trip over.
bool is_plain(std::string_view text) {
  constexpr std::string_view kSpecial = "\"'\\$;{}#";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  return text.find_first_of(kSpecial) == text.npos && std::ranges::none_of(text, is_control);
}

class ConfigWriter {
 public:
  explicit ConfigWriter(const GatewayOptions& options) : options_(options) {}

  std::variant<std::string, StartError> write() {
    auto text = process() + http() + server();
    if (error_) return std::move(*error_);
    return text;
  }

 private:
  // The first mistake is the one that is reported.
  void refuse(std::string message) {
    if (!error_) error_ = StartError{std::move(message)};
  }

  std::string quoted(std::string_view option, std::string_view value) {
    if (!is_plain(value)) {
      refuse(
          fmt::format("{}: nginx would misread a control character or one of "
                      "\" ' \\ $ ; {{ }} # in it; choose another name",
                      option));
    }
    return fmt::format("\"{}\"", value);
  }

  std::string file(std::string_view option, std::string_view value) {
    if (!value.starts_with('/')) refuse(fmt::format("{}: name the file by its whole path", option));
    return quoted(option, value);
  }

  std::string process() {
    const auto workers = options_.workers > 0 ? std::to_string(options_.workers) : "auto";
    const auto user =
        options_.user.empty() ? "" : fmt::format("user {};\n", quoted("--user", options_.user));
    return fmt::format(R"(# Written by weir gateway {}.

daemon off;
{}worker_processes {};
{}error_log stderr warn;
load_module {};

events {{
    worker_connections 8192;
}}
)",
                       kVersion, user, workers, own_file("pid", "nginx.pid"),
                       file("--module", options_.module_file));
  }

  // Without a folder nginx has them where it was built to.
  std::string own_file(std::string_view directive, std::string_view name) {
    if (options_.folder.empty()) return {};
    const auto path = file("--folder", options_.folder + "/" + std::string(name));
    return fmt::format("{} {};\n", directive, path);
  }

  std::string temporary_files() {
    std::string text;
    for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
      text += own_file(fmt::format("    {}_temp_path", kind), kind);
    }
    return text.empty() ? text : "\n" + text;
  }

  std::string http() {
    return fmt::format(R"(
http {{
    weir_zone weir {};
    weir_config {};
    weir on;

    log_format weir '$remote_addr [$time_iso8601] "$request" $status $body_bytes_sent '
                    '$request_time weir $weir_decision rule $weir_rule key $weir_key_hash '
                    'limit $weir_limit remaining $weir_remaining retry $weir_retry_after '
                    'delay $weir_delay mode $weir_mode time $weir_time';
    access_log {};
)",
                       options_.memory, file("--config", options_.config_file), access_log()) +
           temporary_files() + clients() + origin();
  }

  std::string access_log() {
    if (options_.access_log == "off") return "off";
    return file("--access-log", options_.access_log) + " weir";
  }

  std::string clients() {
    auto text = fmt::format(R"(
    server_tokens off;
    client_max_body_size {};
    client_header_timeout 10s;
    client_body_timeout 10s;
    send_timeout 30s;
    keepalive_timeout 60s;
    reset_timedout_connection on;
)",
                            options_.body_max);
    if (options_.trusted_proxies.empty()) return text;
    text += "\n    real_ip_header X-Forwarded-For;\n    real_ip_recursive on;\n";
    for (const auto& network : options_.trusted_proxies) {
      text += fmt::format("    set_real_ip_from {};\n", quoted("trusted_proxies", network));
    }
    return text;
  }

  std::string origin() {
    const auto url = HttpUrl::parse(options_.origin);
    if (!url || url->target != "/") {
      refuse(
          fmt::format("--origin: '{}' is no origin; write http://HOST[:PORT] or "
                      "https://HOST[:PORT], without a user and a path",
                      is_plain(options_.origin) ? options_.origin : ""));
      return {};
    }
    return fmt::format(R"(
    upstream origin {{
        server {}:{};
        keepalive 64;
    }}

    # WebSockets are the only protocol that a client may change to.
    map $http_upgrade $upgrade_to {{
        default "";
        ~*^websocket$ websocket;
    }}
    map $upgrade_to $connection_to {{
        default upgrade;
        "" "";
    }}
)",
                       url->host, url->port) +
           tls_to(*url) + places();
  }

  std::string tls_to(const HttpUrl& url) {
    if (url.scheme != "https") return {};
    return fmt::format(R"(
    proxy_ssl_name {};
    proxy_ssl_server_name on;
    proxy_ssl_verify on;
    proxy_ssl_verify_depth 4;
    proxy_ssl_trusted_certificate {};
    proxy_ssl_protocols TLSv1.2 TLSv1.3;
)",
                       url.name(), file("--origin-ca", options_.origin_ca));
  }

  // The response to a request that a rule counts by it is worth waiting for, whoever has left.
  std::string places() const {
    if (!options_.awaits_responses) return {};
    return R"(
    map $weir_awaited $place {
        default @awaited;
        "" @origin;
    }
)";
  }

  std::string locations() const {
    const auto pass = fmt::format("proxy_pass {}://origin;",
                                  options_.origin.starts_with("https:") ? "https" : "http");
    if (!options_.awaits_responses) {
      return fmt::format("\n        location / {{\n            {}\n        }}\n", pass);
    }
    return fmt::format(R"(
        # No file is there, so nginx goes on at one of the others.
        location / {{
            root /dev/null;
            try_files /none $place;
        }}
        location @origin {{
            {0}
        }}
        location @awaited {{
            {0}
            proxy_ignore_client_abort on;
        }}
)",
                       pass);
  }

  std::string server() {
    if (options_.http.empty() && options_.http_tls.empty()) {
      refuse("nowhere to listen: name an address with --http or --http-tls");
    }
    auto text = std::string("\n    server {\n");
    if (!options_.http.empty()) {
      text += fmt::format("        listen {};\n", address("--http", options_.http));
    }
    if (!options_.http_tls.empty()) text += tls();
    const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(options_.origin_timeout);
    return text + fmt::format(R"(
        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
        proxy_set_header Upgrade $upgrade_to;
        proxy_set_header Connection $connection_to;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Host $http_host;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_connect_timeout {0}ms;
        proxy_send_timeout {0}ms;
        proxy_read_timeout {0}ms;
{1}    }}
}}
)",
                              timeout.count(), locations());
  }

  std::string address(std::string_view option, const std::string& text) {
    const auto parsed = Address::parse(text);
    if (const auto* error = std::get_if<StartError>(&parsed)) {
      refuse(fmt::format("{}: {}", option, error->message));
      return {};
    }
    const auto& address = std::get<Address>(parsed);
    if (!address.is_unix() && address.port() == 0) {
      refuse(fmt::format("{}: nginx takes no free port; choose one from 1 to 65535", option));
    }
    return quoted(option, address.to_string());
  }

  std::string tls() {
    if (options_.certificate.empty() || options_.key.empty()) {
      refuse("--http-tls needs --tls-certificate and --tls-key");
      return {};
    }
    return fmt::format(R"(        listen {} ssl http2;
        ssl_certificate {};
        ssl_certificate_key {};
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_session_cache shared:tls:10m;
)",
                       address("--http-tls", options_.http_tls),
                       file("--tls-certificate", options_.certificate),
                       file("--tls-key", options_.key));
  }

  const GatewayOptions& options_;
  std::optional<StartError> error_;
};

}  // namespace

std::variant<std::string, StartError> nginx_config(const GatewayOptions& options) {
  return ConfigWriter(options).write();
}

}  // namespace weir
