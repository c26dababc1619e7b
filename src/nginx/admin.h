// Admin: the pages of one nginx, as its HTTP door has them: metrics, health, blocks, rules,
// explanations. Any worker answers for all of them.
//
//   /metrics, /health, /openapi.json              anybody whom nginx lets in
//   /, /admin/..., /v1/explain, /v1/reset         clients on this machine
//
// What a request blocks, lifts or changes of the rules holds in every worker from its next request
// on.
//
// Thread rule: the worker's only thread. Tested by admin_test.cc and tests/nginx/admin_test.py.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "nginx/changed_rules.h"
#include "nginx/fleet_member.h"
#include "nginx/gateway.h"
#include "nginx/judge.h"
#include "nginx/zone/rule_board.h"
#include "nginx/zone/zone.h"
#include "server/http/http_door.h"
#include "server/http/http_node.h"
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

  struct Request {
    std::string_view method;
    std::string_view place;   // the path of the location, without a '/' at its end: "/weir"
    std::string_view target;  // path and query below that place; begins with '/'
    std::string_view fields;  // lines of the head, but those about the body and the connection
    std::string_view body;
    std::optional<IpAddress> client;
  };
  // The whole reply, as HTTP/1.1 has it.
  std::string answer(const Request& request, Instant now);

 private:
  void use_rules(const std::vector<RuleSetPtr>& sets);

  Judge& judge_;
  FleetMember* const fleet_;
  RuleBoard board_;
  ChangedRules rules_;
  HttpNode node_;
  HttpDoor door_;
};

}  // namespace weir::nginx
