// The routes that show and change the node. The maker of a door adds those that the node can serve.
// All objects that a route refers to outlive the core.
//
// Thread rule: the core's. Tested by http_*_test.cc and openapi_test.cc.

#pragma once

#include <functional>
#include <string>

#include "observe/keys/fleet_keys.h"
#include "observe/traffic.h"
#include "observe/unusual/traffic_events.h"
#include "rulebook/rule_desk.h"
#include "rulebook/tenants/tenant_desk.h"
#include "server/http/node_view.h"

namespace weir {

class HttpCore;

// /health, /metrics and /admin/stats.
void add_node_pages(HttpCore& core, const NodeView& view);

// /v1/explain: how rules decide a request. `switches` may be null.
void add_explain_page(HttpCore& core, const RuleSwitches* switches);

// /admin/blocks. `log` gets a line when somebody is blocked or unblocked. It runs on the core, and
// may be empty.
void add_block_page(HttpCore& core, std::function<void(const std::string& line)> log);

// /admin/busiest: which keys of a rule requests ask for most. `others`: the other nodes' keys;
// null: the node is alone.
void add_busiest_page(HttpCore& core, const NodeView& view, const FleetKeys* others);

// /admin/denials: the latest denials.
void add_denial_page(HttpCore& core, const Traffic& traffic);

// /admin/events: unusual traffic.
void add_event_page(HttpCore& core, const TrafficEvents& events);

// /admin/rules and /admin/history. `switches` may be null.
void add_rule_pages(HttpCore& core, RuleDesk& desk, const RuleSwitches* switches);

// /admin/tenants and /admin/tenant.
void add_tenant_pages(HttpCore& core, TenantDesk& desk);

// /openapi.json.
void add_openapi_page(HttpCore& core);

}  // namespace weir
