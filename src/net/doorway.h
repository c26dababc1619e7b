// Doorway: how the connections of one address come in, on one core.
//
// Thread rule: its core. Tested by server_test.cc, tls_test.cc and proxy_test.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/tls/tls_context.h"
#include "proto/session.h"
#include "rules/request/client_address.h"

namespace weir {

enum class Security : std::uint8_t { kClear, kTls };

// Whether connections begin with a PROXY header. Never "perhaps": then anybody could
// send one.
enum class ProxyProtocol : std::uint8_t { kNone, kRequired };

// Whom to let in, the same for all addresses; replaced as a whole by a reload.
struct Admission {
  std::shared_ptr<const TlsContext> tls;  // null: no address wants it
  TrustedProxies trusted_proxies;         // who may send a PROXY header
};

struct Doorway {
  SessionFactory* factory = nullptr;
  Security security = Security::kClear;
  ProxyProtocol proxy_protocol = ProxyProtocol::kNone;
  std::string alpn;  // as TlsContext::accept() wants it
  std::shared_ptr<const Admission> admission;

  // Nothing comes before the session.
  bool is_open() const {
    return security == Security::kClear && proxy_protocol == ProxyProtocol::kNone;
  }
};

}  // namespace weir
