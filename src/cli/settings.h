// Settings: how one `weir serve` is to run, from the command line and the file.
//
// Thread rule: values. Tested by settings_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "net/address.h"
#include "net/doorway.h"
#include "net/tls_context.h"
#include "proto/exposure.h"
#include "rules/client_address.h"
#include "rules/config.h"
#include "store/redis/fleet/redis_fleet.h"
#include "weir/time.h"

namespace weir {

// The ways to listen, each with the name it has in `listen:` and on the command line.
enum class Door : std::uint8_t { kHttp, kGrpc, kResp };

struct ListenOption {
  std::string_view name;    // "http_tls" is --http-tls
  std::string_view scheme;  // of the URL in the log
  std::string_view speaks;  // for the help
  Door door;
  Security security = Security::kClear;
};

inline constexpr ListenOption kListenOptions[] = {
    {.name = "http", .scheme = "http", .speaks = "HTTP", .door = Door::kHttp},
    {.name = "grpc", .scheme = "grpc", .speaks = "gRPC", .door = Door::kGrpc},
    {.name = "resp", .scheme = "redis", .speaks = "Redis clients", .door = Door::kResp},
    {.name = "http_tls",
     .scheme = "https",
     .speaks = "HTTP under TLS",
     .door = Door::kHttp,
     .security = Security::kTls},
    {.name = "grpc_tls",
     .scheme = "grpcs",
     .speaks = "gRPC under TLS",
     .door = Door::kGrpc,
     .security = Security::kTls},
    {.name = "resp_tls",
     .scheme = "rediss",
     .speaks = "Redis clients under TLS",
     .door = Door::kResp,
     .security = Security::kTls},
};

// Where HTTP listens in clear unless it is said where HTTP listens, in clear or not.
inline constexpr const char* kDefaultHttp = "127.0.0.1:8080";

inline constexpr std::uint64_t kDefaultMaxKeys = std::uint64_t{1} << 20;
inline constexpr Duration kDefaultHttp2AgeMax = std::chrono::hours(24);
inline constexpr Duration kDefaultDrainTimeout = std::chrono::seconds(10);

// What the command line says of Envoy's rate limit service. What is set wins.
struct EnvoyOptions {
  std::string config{};  // empty: not said
  std::optional<Algorithm> algorithm{};
  bool all_or_nothing = false;
  bool response_headers = false;
  bool shadow_mode = false;
};

// What the command line said.
struct ServeOptions {
  std::map<std::string, std::string, std::less<>> listen;  // as in Config
  std::optional<std::vector<std::string>> proxy_protocol;
  TlsFiles tls;  // what is empty is not given
  std::optional<int> threads;
  std::optional<std::uint64_t> max_keys;
  std::string config_file;         // empty: none
  std::string admin_token_file;    // empty: none
  std::string resp_password_file;  // empty: none
  EnvoyOptions envoy;
  std::string state_file;  // empty: not said
  StoreSettings store;     // likewise
  bool watch = false;
  Duration drain_timeout = kDefaultDrainTimeout;
};

// One address that is listened on.
struct Listening {
  const ListenOption* option;
  Address address;
  ProxyProtocol proxy_protocol = ProxyProtocol::kNone;

  std::string url(const Address& bound) const;
};

struct Settings {
  std::vector<Listening> listening;  // in the order of kListenOptions; at least one
  TlsFiles tls;                      // with a certificate and a key if needs_tls()
  TrustedProxies trusted_proxies;
  EnvoySettings envoy;
  std::string config_file;  // empty: none
  std::string state_file;   // likewise
  bool watch = false;
  std::optional<RedisFleetOptions> fleet;  // none: alone
  std::size_t threads = 1;
  std::uint64_t max_keys = kDefaultMaxKeys;
  Duration http2_age_max = kDefaultHttp2AgeMax;

  bool needs_tls() const;
  // Whoever reaches one address may try the admin routes, so the most exposed one counts.
  // Behind a PROXY header anybody may be, wherever the balancer is.
  Exposure exposure() const;
};

// The command line wins over the file, the file over the defaults.
std::variant<Settings, StartError> settle(const ServeOptions& options, const Config& config);

// What of `wanted` only a restart can bring about, one sentence each.
std::vector<std::string> needs_restart(const Settings& running, const Settings& wanted);

// What clients show to be let in. None: nobody needs to, as far as that goes.
struct Secrets {
  std::optional<std::string> admin_token;
  std::optional<std::string> resp_password;
};

// Each from its file, else from the environment, else none.
std::variant<Secrets, StartError> read_secrets(const ServeOptions& options);

}  // namespace weir
