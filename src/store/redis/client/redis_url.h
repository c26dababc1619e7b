// RedisUrl: which Redis to use and how to log in, as an operator writes it.
//
//   redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]
//   redis-sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]/MASTER[/DATABASE]
//   redis-cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]
//   unix://[USER:PASSWORD@]/PATH[?db=DATABASE]
//
// rediss://, rediss-sentinel:// and rediss-cluster:// are the same through TLS, and take
// ?ca_file= (else the system's authorities are trusted), cert_file= with key_file= (to show
// a certificate) and verify=none (trust any server). Sentinels may have a password of
// their own: ?sentinel_user= and sentinel_password=. Characters with a meaning in a URL are
// percent-encoded. :PASSWORD@ alone is that of the user "default".
//
// Thread rule: values. Tested by redis_url_test.cc and fuzz/redis_url_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "proto/dialer.h"
#include "weir/result.h"

namespace weir {

struct RedisCredentials {
  std::string user;  // empty: the user "default"
  std::string password;

  bool empty() const { return password.empty(); }
};

struct RedisUrl {
  enum class Topology : std::uint8_t { kSingle, kSentinel, kCluster };

  static constexpr std::size_t kTextMax = 4'096;
  static constexpr std::size_t kHostsMax = 32;
  static constexpr int kDatabaseMax = 1'000'000;

  // The fault never repeats a password.
  static Result<RedisUrl, Fault> parse(std::string_view text);

  // For people: everything but passwords.
  std::string to_string() const;

  Topology topology = Topology::kSingle;
  std::vector<Destination> destinations;  // one, the sentinels, or some of the cluster
  RedisCredentials credentials;
  RedisCredentials sentinel_credentials;
  std::string master;  // what the sentinels call it
  int database = 0;
  TlsTrustFiles tls;
};

}  // namespace weir
