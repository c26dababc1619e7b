// Doorway: how the connections of one address come in, on one core.
//
// Thread rule: its core. Tested by server_test.cc, tls_test.cc and proxy_test.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "net/tls/tls_context.h"
#include "proto/session.h"
#include "rules/request/client_address.h"

namespace weir {

enum class Security : std::uint8_t { kClear, kTls };

// Whether connections begin with a PROXY header. There is no "perhaps": with it, any client could
// send one.
enum class ProxyProtocol : std::uint8_t { kNone, kRequired };

// Who may come in, the same for all addresses; a reload replaces all of it.
struct Admission {
  std::shared_ptr<const TlsContext> tls;  // null: no address wants it
  TrustedProxies trusted_proxies;         // from these, PROXY headers count
};

// The admission in force, for all cores. Thread rule: any thread.
class SharedAdmission {
 public:
  explicit SharedAdmission(std::shared_ptr<const Admission> first) : admission_(std::move(first)) {}

  std::shared_ptr<const Admission> get() const noexcept {
    const std::scoped_lock lock(mutex_);
    return admission_;
  }
  void set(std::shared_ptr<const Admission> other) noexcept {
    const std::scoped_lock lock(mutex_);
    admission_.swap(other);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Admission> admission_;
};

struct Doorway {
  SessionFactory* factory = nullptr;
  Security security = Security::kClear;
  ProxyProtocol proxy_protocol = ProxyProtocol::kNone;
  std::string alpn;                            // as TlsContext::accept() wants it
  const SharedAdmission* admission = nullptr;  // outlives the doorway

  // Nothing comes before the session.
  bool is_open() const {
    return security == Security::kClear && proxy_protocol == ProxyProtocol::kNone;
  }
};

}  // namespace weir
