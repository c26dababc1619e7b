// The handlers of the routing table (routes.cc), each of which answers one request.
//
// check_handlers.cc: what spends, asks or resets. auth_handler.cc: what proxies ask.
// json_handler.cc: Envoy's rate limit service. page_handlers.cc: what describes the node.
// explain_handler.cc: what rules make of a request. block_handlers.cc: who is blocked.
// rule_handlers.cc: which rules there are.
// openapi.cc: what describes the rest.
//
// Thread rule: the core that is given. Tested by http_check_test.cc, http_auth_test.cc,
// http_blocks_test.cc, http_explain_test.cc, http_rules_test.cc, http_json_test.cc,
// http_pages_test.cc and openapi_test.cc.

#pragma once

namespace weir {

class HttpCore;
struct Exchange;

void handle_check(HttpCore& core, Exchange& exchange);
void handle_check_v1(HttpCore& core, Exchange& exchange);
void handle_look(HttpCore& core, Exchange& exchange);
void handle_reset(HttpCore& core, Exchange& exchange);

void handle_auth(HttpCore& core, Exchange& exchange);
void handle_json(HttpCore& core, Exchange& exchange);
void handle_health(HttpCore& core, Exchange& exchange);
void handle_metrics(HttpCore& core, Exchange& exchange);
void handle_explain(HttpCore& core, Exchange& exchange);
void handle_blocks(HttpCore& core, Exchange& exchange);
void handle_rules(HttpCore& core, Exchange& exchange);
void handle_rule(HttpCore& core, Exchange& exchange);
void handle_history(HttpCore& core, Exchange& exchange);
void handle_admin_stats(HttpCore& core, Exchange& exchange);
void handle_index(HttpCore& core, Exchange& exchange);

void handle_openapi(HttpCore& core, Exchange& exchange);

}  // namespace weir
