// NodeView: the parts of the node that the pages and the console show.
//
// Thread rule: any thread; figures() on the core that asks. Tested by admin/http_pages_test.cc.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/asks/error_bar.h"
#include "engine/login_guard.h"
#include "engine/switching/rule_switches.h"
#include "observe/detailed_counts.h"
#include "observe/resp_counts.h"
#include "observe/shared_store.h"
#include "observe/traffic.h"
#include "observe/unusual/traffic_events.h"
#include "observe/unusual/unusual_rules.h"
#include "proto/session.h"
#include "weir/memory_store.h"
#include "weir/time.h"

namespace weir {

struct ServerInfo {
  std::string version{};
  Instant started{};
  int threads = 1;
  std::uint64_t max_keys = 0;
  std::string node{};  // its name in the fleet
};

// Counts of the webhook's events.
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

// Zeros for all that the node lacks.
struct NodeFigures {
  MemoryStoreStats store{};
  ConnectionFigures listeners{};
  RespCounts::Sum resp{};
  LoginGuard::Figures logins{};
  std::optional<SharedStoreFigures> shared{};  // nullopt: the node is alone
  std::optional<SharedStoreFigures> world{};   // of all places; nullopt: there is only one
  NodeAbout about{};
  TrafficEvents::Figures events{};
  WebhookFigures webhook{};
  ConsoleFigures console{};
};

// The node's last read of its configuration.
class Reloads {
 public:
  struct Figures {
    bool succeeded = true;    // the last attempt
    Instant first_failure{};  // since when reading fails, if the last attempt failed
    Instant last_success{};   // when the rules in force were loaded
    Instant last_same{};      // when a reload last found the rules as they were
  };

  explicit Reloads(Instant started) : last_success_us_(epoch_us(started)) {}

  // The configuration was read again, and is in force or was refused. Relaxed: each field is a fact
  // by itself that orders nothing else.
  void succeeded(Instant now) {
    last_success_us_.store(epoch_us(now), std::memory_order_relaxed);
    succeeded_.store(true, std::memory_order_relaxed);
  }
  void found_same(Instant now) { last_same_us_.store(epoch_us(now), std::memory_order_relaxed); }
  void failed(Instant now) {
    if (!succeeded_.exchange(false, std::memory_order_relaxed)) return;
    first_failure_us_.store(epoch_us(now), std::memory_order_relaxed);
  }
  Figures figures() const {
    return {
        .succeeded = succeeded_.load(std::memory_order_relaxed),
        .first_failure = instant_from_epoch_us(first_failure_us_.load(std::memory_order_relaxed)),
        .last_success = instant_from_epoch_us(last_success_us_.load(std::memory_order_relaxed)),
        .last_same = instant_from_epoch_us(last_same_us_.load(std::memory_order_relaxed))};
  }

 private:
  std::atomic<bool> succeeded_{true};
  std::atomic<std::int64_t> last_success_us_;
  std::atomic<std::int64_t> first_failure_us_{0};
  std::atomic<std::int64_t> last_same_us_{0};
};

// All objects that it refers to outlive it.
struct NodeView {
  ServerInfo info{};
  const Traffic& traffic;
  const Reloads& reloads;
  std::function<NodeFigures()> figures;
  const RuleSwitches* switches = nullptr;       // null: no rule ever switches
  const UnusualRules* unusual_rules = nullptr;  // null: traffic is not watched
  const DetailedCounts* details = nullptr;      // null: no counts by descriptor
  const ErrorBar* error_bar = nullptr;          // null: decisions of windows are not judged
};

}  // namespace weir
