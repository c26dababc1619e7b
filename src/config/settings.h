// What a file and a command line may set, apart from rules: a struct for each section, which the
// rows of setting_fields.cc fill.
//
// An empty text means not set, since no setting is an empty text. A setting is optional if a file
// may leave it out and it has no default.
//
// Thread rule: values. Tested by setting_values_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rules/mode.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

// When rules switch algorithms (engine/switching/traffic_switch.h). setting_fields.cc explains
// each. Tested by src/engine/switching/traffic_switch_test.cc.
struct SwitchThresholds {
  double burst_ratio = 3;
  double burst_ratio_leave = 2;
  double denied_share = 0.5;
  double denied_share_leave = 0.3;
  double rate_min = 20;  // requests a second
  double rate_leave = 10;
  Duration dwell = std::chrono::seconds(5);

  friend bool operator==(const SwitchThresholds&, const SwitchThresholds&) = default;
};

using Texts = std::vector<std::string>;

struct ListenSettings {
  std::string http, grpc, resp;
  std::string http_tls, grpc_tls, resp_tls;
  Duration http2_age_max{};
  Texts proxy_protocol;
};

struct TlsSettings {
  std::string certificate, key, client_ca;
};

struct JwtSettings {
  std::string header;
  std::string secret_file, public_key_file;
};

struct StoreSettings {
  std::string redis;
  std::string world;
  Mode mode{};
  Duration deadline{}, sync_interval{};
  std::string prefix;
};

struct UnusualTrafficSettings {
  Duration learn{};
  std::string webhook, webhook_token_file;
};

// How Envoy's rate limit service behaves, where its users differ.
struct EnvoySettings {
  std::string config{};
  Algorithm algorithm = Algorithm::kFixedWindow;
  // Whether a denied descriptor keeps the others of its request from being charged. Otherwise each
  // is charged on its own, as by the reference service.
  bool all_or_nothing = false;
  // Whether answers ask Envoy to add these headers, about the limit nearest to its end.
  bool response_headers = false;
  std::string limit_header = "RateLimit-Limit";
  std::string remaining_header = "RateLimit-Remaining";
  std::string reset_header = "RateLimit-Reset";  // seconds from now
  // Whether answers carry the `metadata` of the rules that matched.
  bool response_metadata = false;
  // Whether every request is OK, whatever its descriptors are.
  bool shadow_mode = false;
};

enum class ConsoleUse : std::uint8_t {
  kOn,      // for people who may use the admin routes
  kPublic,  // figures for everybody, the rest as kOn
  kOff,
};

struct ServerSettings {
  ListenSettings listen;
  TlsSettings tls;
  std::optional<std::size_t> threads;
  std::uint64_t max_keys = 0;
  std::uint64_t precise_keys = 0;
  std::optional<std::uint64_t> max_buffered;
  StoreSettings store;
  SwitchThresholds switching;
  std::string state_file;
  bool show_keys = false;
  std::size_t log_denials = 0;
  std::string remember;
  ConsoleUse console{};
  std::string node_name, advertise;
  bool watch = false;
  Duration drain_timeout{};
  std::optional<Texts> trusted_proxies;
  std::string headers;
  std::optional<Texts> x_headers;
  std::string x_reset;
  Texts trusted_headers;
  std::string country_header, country_database;
  JwtSettings jwt;
  UnusualTrafficSettings unusual_traffic;
  EnvoySettings envoy;
};

}  // namespace weir
