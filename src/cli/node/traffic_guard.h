// TrafficGuard: watches this node's traffic, or its fleet's, and tells when it is unusual. It tells
// the log, the list of events, the webhook, and the cores, whose rules may then have other limits.
//
// Each node of a fleet finds the same events in the same sums. The living node whose name comes
// first posts them. If it has started lately, it may not know yet what is usual, and then no node
// posts.
//
// In the same places it tells which keys have used much of their limits (limit_notices.h).
//
// A thread of its own looks four times a second whether a second has finished, so no core waits.
//
// Thread rule: one thread makes, starts, stops and destroys it; the rest from any.
// Tested by traffic_guard_test.cc and tests/e2e/unusual_test.py.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "cli/node/webhook.h"
#include "engine/asks/limit_notices.h"
#include "observe/keys/key_report.h"
#include "observe/recent_traffic.h"
#include "observe/unusual/traffic_events.h"
#include "observe/unusual/traffic_watch.h"
#include "observe/unusual/unusual_rules.h"

namespace weir {

class TrafficGuard {
 public:
  struct Options {
    TrafficWatch::Options watch{};
    std::string node{};  // the node's name in its fleet; empty: it is alone
    std::string host{};  // for the receiver of the webhook
    std::optional<Webhook::Options> webhook{};
  };
  // The id of the rule of this number; empty if it is not in force.
  using IdOf = std::function<std::string(RuleNumber)>;
  // How often the rule's keys came of late, as far as this node knows.
  using KeysOf = std::function<KeyReport(RuleNumber, std::string_view id)>;

  // `traffic` must outlive this.
  TrafficGuard(const Options& options, const RecentTraffic& traffic, IdOf id_of, KeysOf keys_of);
  ~TrafficGuard() { stop(); }
  TrafficGuard(const TrafficGuard&) = delete;
  TrafficGuard& operator=(const TrafficGuard&) = delete;

  // Keys near their limits since the last call; empty: they are not looked for.
  using NoticesSince = std::function<LimitNotices::Told()>;
  void start(NoticesSince notices = {});
  void stop();

  // The thread's work when a second has finished.
  void look(const TrafficSnapshot& snapshot);

  // An event that others have found. Perhaps each node has, but for events of tenants.
  void tell(TrafficEvent event);
  // Keys that have used much of their limits; this node alone tells of them.
  void tell(const LimitNotices::Told& told);

  const TrafficEvents& events() const { return events_; }
  const UnusualRules& unusual_rules() const { return unusual_rules_; }
  Webhook::Figures webhook_figures() const;

 private:
  void watch(const NoticesSince& notices, const std::stop_token& stop);
  void take(const TrafficWatch::Found& found, const TrafficSnapshot& snapshot);
  bool posts(const TrafficSnapshot& snapshot) const;
  void post(const TrafficEvent& event) const;
  void log_delivery(const Webhook::Outcome& outcome);

  const std::string node_;
  const std::string host_;
  const RecentTraffic& traffic_;
  const IdOf id_of_;
  const KeysOf keys_of_;
  TrafficWatch watch_;  // only the thread uses it
  TrafficEvents events_;
  UnusualRules unusual_rules_;
  std::unordered_map<RuleNumber, std::string> open_;  // ids of those; the thread's

  std::string webhook_origin_;
  bool webhook_fails_ = false;        // as the log has said; the webhook's thread uses it
  std::unique_ptr<Webhook> webhook_;  // null: none

  std::jthread thread_;
};

}  // namespace weir
