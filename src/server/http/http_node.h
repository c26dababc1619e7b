// HttpNode: shared by the HTTP doors of all cores: access, and counts.
//
// Thread rule: any thread; the options do not change.
// Tested by http_access_test.cc and http_session_test.cc.

#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "engine/login_guard.h"
#include "proto/http/rate_limit_headers.h"
#include "proto/session.h"
#include "rules/request/client_address.h"
#include "server/http/console_sessions.h"
#include "server/http/reply.h"

namespace weir {

// Access to resets and admin pages. With a token, clients must show it. Without one, the door
// admits clients on loopback only.
struct HttpAccess {
  Exposure exposure = Exposure::kLoopback;
  std::optional<std::string> admin_token{};
};

class HttpNode {
 public:
  struct Options {
    HttpAccess access{};
    TrustedProxies trusted_proxies{};
    RateLimitStyle headers{};
    LoginGuard* logins = nullptr;  // outlives the node; null: there is no admin token to guess
    // Random bytes for names of the console's sessions. Empty: nobody can sign in.
    ConsoleSessions::Chance chance{};
  };

  explicit HttpNode(Options options) : options_(std::move(options)), sessions_(options_.chance) {}

  const Options& options() const { return options_; }
  HttpCounts& counts() { return counts_; }
  ConsoleSessions& sessions() { return sessions_; }

  // From now on /health says 503, so that a load balancer sends no requests here.
  // Relaxed: it orders nothing else.
  void start_draining() { draining_.store(true, std::memory_order_relaxed); }
  bool draining() const { return draining_.load(std::memory_order_relaxed); }

 private:
  const Options options_;
  HttpCounts counts_;
  ConsoleSessions sessions_;
  std::atomic<bool> draining_{false};
};

}  // namespace weir
