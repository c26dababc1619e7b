#include "store/redis/client/redis_url.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/decimal.h"
#include "base/ip_address.h"
#include "base/percent.h"
#include "store/redis/client/cluster_map.h"

namespace weir {
namespace {

using Topology = RedisUrl::Topology;
using Mistake = std::optional<std::string>;

struct Scheme {
  std::string_view name;
  Topology topology;
  Encryption encryption;
  std::uint16_t port;  // if the URL has none; 0: a Unix socket
};

constexpr std::array<Scheme, 7> kSchemes = {{
    {"redis", Topology::kSingle, Encryption::kNone, 6379},
    {"rediss", Topology::kSingle, Encryption::kTls, 6379},
    {"redis-sentinel", Topology::kSentinel, Encryption::kNone, 26379},
    {"rediss-sentinel", Topology::kSentinel, Encryption::kTls, 26379},
    {"redis-cluster", Topology::kCluster, Encryption::kNone, 6379},
    {"rediss-cluster", Topology::kCluster, Encryption::kTls, 6379},
    {"unix", Topology::kSingle, Encryption::kNone, 0},
}};

constexpr std::size_t kHostMax = 253;  // bytes of a name in the DNS
constexpr std::size_t kPathMax = 107;  // bytes of a Unix socket's path

// The parts of a URL, still encoded.
struct Parts {
  std::string_view login;
  bool has_login = false;
  std::string_view hosts;
  std::string_view path;  // with its first slash
  std::string_view query;
};

std::pair<std::string_view, std::string_view> split(std::string_view text, char at) {
  const auto found = text.find(at);
  if (found == std::string_view::npos) return {text, {}};
  return {text.substr(0, found), text.substr(found + 1)};
}

std::optional<std::string> unencoded(std::string_view text) {
  auto bytes = percent_decoded(text, [](char c) { return c != '%'; });
  return bytes && bytes->find('\0') != std::string::npos ? std::nullopt : bytes;
}

Parts parts_of(std::string_view text) {
  Parts parts;
  const auto [front, query] = split(text, '?');
  parts.query = query;
  const auto slash = std::min(front.find('/'), front.size());
  parts.path = front.substr(slash);
  parts.hosts = front.substr(0, slash);
  const auto at = parts.hosts.rfind('@');
  if (at != std::string_view::npos) {
    parts.has_login = true;
    parts.login = parts.hosts.substr(0, at);
    parts.hosts.remove_prefix(at + 1);
  }
  return parts;
}

Mistake read_login(const Parts& parts, RedisCredentials& credentials) {
  if (!parts.has_login) return {};
  const auto [user, password] = split(parts.login, ':');
  const auto decoded_user = unencoded(user);
  const auto decoded_password = unencoded(password);
  if (!decoded_user || !decoded_password) {
    return "a % in the user or password is written %25, other signs likewise by their code";
  }
  if (decoded_password->empty()) {
    return "before the @ stands USER:PASSWORD, or :PASSWORD for the user \"default\"";
  }
  credentials = {.user = *decoded_user, .password = *decoded_password};
  return {};
}

bool is_host_name(std::string_view text) {
  return !text.empty() && text.size() <= kHostMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

// The fault repeats nothing: a password with a bare / or @ in it may have ended up here.
Mistake read_host(std::string_view text, const Scheme& scheme, std::vector<Destination>& hosts) {
  Destination host{.port = scheme.port, .encryption = scheme.encryption};
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return "an IPv6 address ends with ]: [2001:db8::1]:6379";
    host.host = text.substr(1, end - 1);
    if (!IpAddress::parse(host.host)) return "what is in [brackets] is not an IPv6 address";
    port = text.substr(end + 1);
  } else {
    const auto end = std::min(text.find(':'), text.size());
    host.host = text.substr(0, end);
    if (host.host.empty()) return "a host is missing, as in redis://10.0.0.5:6379";
    if (!is_host_name(host.host)) {
      return "a host is a name or an address; in a password, @ is written %40, / %2F, : %3A";
    }
    port = text.substr(end);
  }
  if (!port.empty()) {
    const auto parsed = parse_port(port.substr(1));
    if (port[0] != ':' || !parsed) {
      return "a port is a number from 1 to 65535; in a password, / is written %2F and @ %40";
    }
    host.port = *parsed;
  }
  hosts.push_back(std::move(host));
  return {};
}

Mistake read_hosts(std::string_view text, const Scheme& scheme, std::vector<Destination>& hosts) {
  const auto count = static_cast<std::size_t>(std::ranges::count(text, ',')) + 1;
  if (count > 1 && scheme.topology == Topology::kSingle) {
    return "several hosts need redis-sentinel:// or redis-cluster://";
  }
  if (count > RedisUrl::kHostsMax) return "there may be 32 hosts; the others are found by asking";
  for (std::size_t i = 0; i < count; ++i) {
    const auto [host, rest] = split(text, ',');
    if (auto mistake = read_host(host, scheme, hosts)) return mistake;
    text = rest;
  }
  return {};
}

Mistake read_database(std::string_view text, int& database) {
  if (text.empty()) return {};
  const auto number = read_decimal<int>(text).value_or(-1);
  if (number < 0 || number > RedisUrl::kDatabaseMax) {
    return "the database is a number, as in redis://10.0.0.5/2";
  }
  database = number;
  return {};
}

Mistake read_path(std::string_view path, const Scheme& scheme, RedisUrl& url) {
  if (scheme.port == 0) {
    const auto decoded = unencoded(path);
    if (!decoded || decoded->size() < 2 || decoded->size() > kPathMax) {
      return "a Unix socket has an absolute path of at most 107 bytes: unix:///run/redis.sock";
    }
    url.destinations.push_back({.path = *decoded});
    return {};
  }
  if (!path.empty()) path.remove_prefix(1);
  if (scheme.topology != Topology::kSentinel) {
    if (scheme.topology == Topology::kCluster && !path.empty() && path != "0") {
      return "a cluster has only database 0: nothing stands behind its hosts";
    }
    return read_database(path, url.database);
  }
  const auto [name, database] = split(path, '/');
  const auto decoded = unencoded(name);
  if (!decoded || decoded->empty()) {
    return "the name of the master, as the sentinels call it, stands behind their hosts: "
           "redis-sentinel://10.0.0.5:26379/mymaster";
  }
  url.master = *decoded;
  return read_database(database, url.database);
}

// The place of a parameter's value; null if the scheme has no such parameter.
std::string* place_of(std::string_view name, const Scheme& scheme, RedisUrl& url) {
  if (scheme.encryption == Encryption::kTls) {
    if (name == "ca_file") return &url.tls.authorities;
    if (name == "cert_file") return &url.tls.certificate;
    if (name == "key_file") return &url.tls.key;
  }
  if (scheme.topology == Topology::kSentinel) {
    if (name == "sentinel_user") return &url.sentinel_credentials.user;
    if (name == "sentinel_password") return &url.sentinel_credentials.password;
  }
  return nullptr;
}

Mistake read_parameter(std::string_view name, const std::string& value, const Scheme& scheme,
                       RedisUrl& url) {
  if (name == "db" && scheme.port == 0) return read_database(value, url.database);
  if (name == "verify" && scheme.encryption == Encryption::kTls) {
    if (value != "none") return "verify= takes only none; certificates are verified otherwise";
    url.tls.verification = TlsTrustFiles::Verification::kNone;
    return {};
  }
  if (std::string* const place = place_of(name, scheme, url)) {
    *place = value;
    return {};
  }
  return "unknown parameter; there are db= (unix), ca_file=, cert_file=, key_file= and "
         "verify=none (TLS), sentinel_user= and sentinel_password= (sentinels)";
}

Mistake read_query(std::string_view query, const Scheme& scheme, RedisUrl& url) {
  while (!query.empty()) {
    const auto [parameter, rest] = split(query, '&');
    const auto [name, value] = split(parameter, '=');
    const auto decoded = unencoded(value);
    if (!decoded) return "a % in a parameter is written %25";
    if (auto mistake = read_parameter(name, *decoded, scheme, url)) return mistake;
    query = rest;
  }
  if (url.tls.certificate.empty() != url.tls.key.empty()) {
    return "cert_file= and key_file= go together";
  }
  if (!url.sentinel_credentials.user.empty() && url.sentinel_credentials.empty()) {
    return "sentinel_user= needs sentinel_password=";
  }
  return {};
}

Mistake read_url(std::string_view text, RedisUrl& url) {
  const auto end = text.find("://");
  const auto* const scheme = std::ranges::find(kSchemes, text.substr(0, end), &Scheme::name);
  if (end == std::string_view::npos || scheme == kSchemes.end()) {
    return "it begins with redis://, rediss://, redis-sentinel://, redis-cluster://, "
           "rediss-sentinel://, rediss-cluster:// or unix://";
  }
  url.topology = scheme->topology;
  const Parts parts = parts_of(text.substr(end + 3));
  if (auto mistake = read_login(parts, url.credentials)) return mistake;
  if (scheme->port != 0) {
    if (auto mistake = read_hosts(parts.hosts, *scheme, url.destinations)) return mistake;
  } else if (!parts.hosts.empty()) {
    return "a Unix socket has an absolute path and no host: unix:///run/redis.sock";
  }
  if (auto mistake = read_path(parts.path, *scheme, url)) return mistake;
  return read_query(parts.query, *scheme, url);
}

std::string_view scheme_of(const RedisUrl& url) {
  const auto& first = url.destinations.front();
  if (first.is_unix()) return "unix";
  const auto* const scheme = std::ranges::find_if(kSchemes, [&](const Scheme& candidate) {
    return candidate.topology == url.topology && candidate.encryption == first.encryption;
  });
  return scheme->name;
}

}  // namespace

Result<RedisUrl, Fault> RedisUrl::parse(std::string_view text) {
  if (text.size() > kTextMax) return Fault{"the URL is longer than 4096 bytes"};
  const bool has_space = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
  if (has_space) return Fault{"a URL has no spaces: they are written %20"};
  RedisUrl url;
  if (auto mistake = read_url(text, url)) return Fault{*std::move(mistake)};
  return url;
}

std::string RedisUrl::to_string() const {
  auto text = std::string(scheme_of(*this)) + "://";
  if (!credentials.empty()) {
    text += (credentials.user.empty() ? "default" : credentials.user) + "@";
  }
  if (destinations.front().is_unix()) text += destinations.front().path;
  for (std::size_t i = 0; i < destinations.size() && !destinations[i].is_unix(); ++i) {
    text += (i > 0 ? "," : "") + destinations[i].to_string();
  }
  if (!master.empty()) text += "/" + master;
  if (database == 0) return text;
  return text + (destinations.front().is_unix() ? "?db=" : "/") + std::to_string(database);
}

}  // namespace weir
