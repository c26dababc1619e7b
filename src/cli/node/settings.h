// Settings: the settings of one `weir serve`, from the command line and the file.
//
// Thread rule: values. Tested by settings_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "cli/http/http_client.h"
#include "config/setting_values.h"
#include "net/doorway.h"
#include "net/sockets/address.h"
#include "net/tls/tls_context.h"
#include "proto/session.h"
#include "rules/request/client_address.h"
#include "store/redis/fleet/redis_fleet.h"
#include "weir/memory_store.h"
#include "weir/result.h"
#include "weir/time.h"

namespace CLI {
class App;
}

namespace weir {

// The ways to listen, each with its name in `listen:` and on the command line.
enum class Door : std::uint8_t { kHttp, kGrpc, kResp };

struct ListenOption {
  std::string_view name;  // "http_tls" is --http-tls
  std::string ListenSettings::*address;
  std::string_view scheme;  // of the URL in the log
  Door door;
  Security security = Security::kClear;
};

inline constexpr ListenOption kListenOptions[] = {
    {.name = "http", .address = &ListenSettings::http, .scheme = "http", .door = Door::kHttp},
    {.name = "grpc", .address = &ListenSettings::grpc, .scheme = "grpc", .door = Door::kGrpc},
    {.name = "resp", .address = &ListenSettings::resp, .scheme = "redis", .door = Door::kResp},
    {.name = "http_tls",
     .address = &ListenSettings::http_tls,
     .scheme = "https",
     .door = Door::kHttp,
     .security = Security::kTls},
    {.name = "grpc_tls",
     .address = &ListenSettings::grpc_tls,
     .scheme = "grpcs",
     .door = Door::kGrpc,
     .security = Security::kTls},
    {.name = "resp_tls",
     .address = &ListenSettings::resp_tls,
     .scheme = "rediss",
     .door = Door::kResp,
     .security = Security::kTls},
};

// The command line and the environment.
struct ServeOptions {
  SettingValues settings;
  std::string config_file;         // empty: none
  std::string admin_token_file;    // empty: none
  std::string resp_password_file;  // empty: none
};

// Adds an option for each setting that has one; `said` must outlive the command.
void add_setting_options(CLI::App& command, SettingValues& said);

// One address to listen on.
struct Listening {
  const ListenOption* option;
  Address address;
  ProxyProtocol proxy_protocol = ProxyProtocol::kNone;

  std::string url(const Address& bound) const;
};

struct Settings {
  SettingValues values;              // of the file and the command line
  std::vector<Listening> listening;  // in the order of kListenOptions; at least one
  TlsFiles tls;                      // with a certificate and a key if needs_tls()
  TrustedProxies trusted_proxies;
  std::optional<RedisFleetOptions> fleet;  // nullopt: alone
  std::optional<RedisFleetOptions> world;  // of all places; nullopt: there is only one
  std::optional<HttpUrl> webhook;          // of events of unusual traffic
  std::size_t threads = 1;
  std::uint64_t max_buffered = 0;
  std::size_t remember_bytes = 0;

  bool needs_tls() const;
  MemoryStoreOptions memory() const {
    return {.max_keys = values->max_keys, .precise_keys = values->precise_keys};
  }
  // A client that reaches one address may try the admin routes, so the most exposed address counts.
  // Behind a PROXY header anybody may come, wherever the balancer is.
  Exposure exposure() const;
};

// Makes a node's settings from the values. The mistake names values that do not go together.
Result<Settings, SettingMistake> settle(const SettingValues& values);

// Reads the certificate, if a door needs one, and says which clients may connect.
Result<std::shared_ptr<const Admission>, Fault> make_admission(const Settings& settings);

// One sentence for each setting that only a restart changes.
std::vector<std::string> needs_restart(const Settings& running, const Settings& wanted);

// The secrets that clients must show (nullopt: the door is open), and the one that we show.
struct Secrets {
  std::optional<std::string> admin_token;
  std::optional<std::string> resp_password;
  std::optional<std::string> webhook_token;
};

// nullopt if no setting names a file for it.
Result<std::optional<std::string>, Fault> read_webhook_token(const ServerSettings& settings);

// Each comes from its file, else from the environment, else there is none. `settings` names the
// file of the webhook's token.
Result<Secrets, Fault> read_secrets(const ServeOptions& options, const ServerSettings& settings);

}  // namespace weir
