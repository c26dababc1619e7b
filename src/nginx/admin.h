// Admin: the pages of one nginx, as at Weir's HTTP door: metrics, health, blocks, rules,
// explanations. Any worker answers for all workers.
//
//   /metrics, /health, /openapi.json              anybody whom nginx lets in
//   /, /admin/..., /v1/explain, /v1/reset         clients on this machine
//
// A block, a lift or a change of the rules holds in every worker from its next request on.
//
// A reply that waits for a Redis is parked, and holds the worker up no more than a limited request.
//
// Thread rule: the worker's only thread. Tested by admin_test.cc and tests/nginx/admin_test.py.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/name_value.h"
#include "nginx/changed_rules.h"
#include "nginx/fleet_member.h"
#include "nginx/gateway.h"
#include "nginx/judge.h"
#include "nginx/zone/rule_board.h"
#include "nginx/zone/zone.h"
#include "observe/unusual/traffic_events.h"
#include "server/http/http_core.h"
#include "server/http/http_node.h"
#include "server/http/node_view.h"
#include "server/http/reply.h"
#include "weir/time.h"

namespace weir::nginx {

class Admin {
 public:
  // All must outlive this. `fleet` is null if this nginx is alone.
  struct World {
    Judge& judge;
    const Gateway& gateway;
    const Zone& zone;
    const RuleIds& ids;
    FleetMember* fleet;
    std::size_t workers;
    ChangedRules::Say say;
  };
  Admin(const World& world, Instant now);
  ~Admin();
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  // A request's texts, which live until its reply is written.
  struct Request {
    std::string_view method;
    std::string_view place;   // the path of the location, without a '/' at its end: "/weir"
    std::string_view target;  // path and query below that place; begins with '/'
    std::span<const NameValue> fields;
    RequestBody body;
    std::optional<IpAddress> client;
  };
  // The reply goes into `line`, or is parked there.
  void answer(const Request& request, ReplyLine& line, Instant now);

 private:
  void use_rules(const std::vector<RuleSetPtr>& sets);

  Judge& judge_;
  RuleBoard board_;
  ChangedRules rules_;
  const Reloads reloads_;
  const NodeView view_;
  const TrafficEvents events_;  // empty: traffic is not watched
  HttpNode node_{HttpNode::Options()};
  HttpCore core_;
};

}  // namespace weir::nginx
