// HttpNode: what the HTTP doors of all cores share and show about this node.
//
// Thread rule: any thread; the options do not change.
// Tested by admin/http_pages_test.cc.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "console/assets.h"
#include "engine/login_guard.h"
#include "observe/keys/fleet_keys.h"
#include "observe/resp_counts.h"
#include "observe/shared_store.h"
#include "observe/traffic.h"
#include "observe/unusual/traffic_events.h"
#include "observe/unusual/unusual_rules.h"
#include "proto/connection_figures.h"
#include "proto/exposure.h"
#include "proto/http/rate_limit_headers.h"
#include "rls/rls_options.h"
#include "rules/request/client_address.h"
#include "server/http/console/console_sessions.h"
#include "server/http/console/live_feed.h"
#include "server/http/http_counts.h"
#include "weir/memory_store.h"
#include "weir/time.h"

namespace weir {

class RuleDesk;
class RuleSwitches;

struct ServerInfo {
  std::string version;
  Instant started{};
  int threads = 1;
  std::uint64_t max_keys = 0;
};

// What became of the events that were for the webhook.
struct WebhookFigures {
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;   // given up
  std::uint64_t dropped = 0;  // for want of room
};

// The users of the console.
struct ConsoleFigures {
  int listening = 0;
  std::uint64_t dropped = 0;
  std::size_t sessions = 0;
};

// What the HTTP doors show about the rest of the node.
struct NodeFigures {
  MemoryStoreStats store{};
  ConnectionFigures listeners{};
  RespCounts::Sum resp{};
  LoginGuard::Figures logins{};
  std::optional<SharedStoreFigures> shared{};  // none: the node is alone
  WebhookFigures webhook{};
};

// Access to resets and admin pages. With a token, clients must bring it. Without one, the door
// admits clients on loopback, and elsewhere nobody.
struct HttpAccess {
  Exposure exposure = Exposure::kLoopback;
  std::optional<std::string> admin_token;
};

// The console: a page in the browser. Its files are constants.
struct ConsoleOptions {
  using Use = ConsoleUse;
  Use use = Use::kOff;
  std::span<const ConsoleAsset> assets{};

  bool is_on() const { return use != Use::kOff; }
};

// The last time that the node read its configuration, for metrics.
struct ReloadFigures {
  bool succeeded = true;    // the last attempt
  Instant first_failure{};  // since then, if the last attempt failed
  Instant last_success{};   // when the rules in force were loaded
};

class HttpNode {
 public:
  struct Options {
    ServerInfo info;
    HttpAccess access;
    ConsoleOptions console{};
    // For the names of the console's sessions. Empty: nobody can sign in.
    ConsoleSessions::Chance chance{};
    RlsOptions rls{};
    TrustedProxies trusted_proxies{};
    RateLimitStyle headers{};
    // A handler that shows the figures calls this, on its core. May be empty.
    std::function<NodeFigures()> figures;
    // Writes a line to the log; called on any core. May be empty.
    std::function<void(const std::string&)> log{};
    LoginGuard* logins = nullptr;   // outlives the node; null: there is no admin token to guess
    RuleDesk* rule_desk = nullptr;  // must outlive the node
    const RuleSwitches* switches = nullptr;  // outlives the node; null: nothing ever switches
    // Both outlive the node; null: nobody watches the traffic.
    const TrafficEvents* events = nullptr;
    const UnusualRules* unusual_rules = nullptr;
    std::string node_name{};  // in the fleet
    // The other nodes' busiest keys; must outlive the node. Null: it is alone.
    const FleetKeys* fleet_keys = nullptr;
  };

  // `traffic` must outlive the node. The rules in force now count as loaded at
  // info.started.
  HttpNode(Options options, const Traffic& traffic)
      : options_(std::move(options)),
        traffic_(traffic),
        sessions_(options_.chance),
        live_(*this),
        last_success_us_(epoch_us(options_.info.started)) {}

  const Options& options() const { return options_; }
  const Traffic& traffic() const { return traffic_; }
  HttpCounts& counts() { return counts_; }
  ConsoleSessions& sessions() { return sessions_; }
  LiveFeed& live() { return live_; }
  ConsoleFigures console_figures() const {
    return {
        .listening = live_.consoles(), .dropped = live_.dropped(), .sessions = sessions_.size()};
  }
  NodeFigures figures() const { return options_.figures ? options_.figures() : NodeFigures{}; }

  // From now on /health says 503, so that a load balancer sends nobody here.
  // Relaxed, here and below: each is a fact by itself that orders nothing else.
  void start_draining() { draining_.store(true, std::memory_order_relaxed); }
  bool draining() const { return draining_.load(std::memory_order_relaxed); }

  // The configuration has been read again, and is in force or was refused.
  void reload_succeeded(Instant now) {
    last_success_us_.store(epoch_us(now), std::memory_order_relaxed);
    reload_succeeded_.store(true, std::memory_order_relaxed);
  }
  void reload_failed(Instant now) {
    if (!reload_succeeded_.exchange(false, std::memory_order_relaxed)) return;
    first_failure_us_.store(epoch_us(now), std::memory_order_relaxed);
  }
  ReloadFigures reload_figures() const {
    return {
        .succeeded = reload_succeeded_.load(std::memory_order_relaxed),
        .first_failure = instant_from_epoch_us(first_failure_us_.load(std::memory_order_relaxed)),
        .last_success = instant_from_epoch_us(last_success_us_.load(std::memory_order_relaxed))};
  }

 private:
  const Options options_;
  const Traffic& traffic_;
  HttpCounts counts_;
  ConsoleSessions sessions_;
  LiveFeed live_;
  std::atomic<bool> draining_{false};
  std::atomic<bool> reload_succeeded_{true};
  std::atomic<std::int64_t> last_success_us_;
  std::atomic<std::int64_t> first_failure_us_{0};
};

}  // namespace weir
