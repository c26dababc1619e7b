// The handlers of the routing table (routes.cc), each of which answers one request.
//
// check/: check_handlers.cc spends, asks and resets, auth_handler.cc answers proxies,
// json_handler.cc answers for Envoy's rate limit service. admin/: page_handlers.cc describes
// the node, busiest_handler.cc shows busy keys, explain_handler.cc what rules make of a request,
// block_handlers.cc shows and changes blocks, rule_handlers.cc rules,
// event_handlers.cc shows
// unusual traffic, openapi.cc describes the routes. console/: asset_handlers.cc sends the files of
// the console, session_handlers.cc signs people in,
// live_handlers.cc shows what happens each second.
//
// Thread rule: the core of HttpCore. Tested by check/http_*_test.cc, admin/http_*_test.cc,
// console/http_*_test.cc and admin/openapi_test.cc.

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
void handle_busiest(HttpCore& core, Exchange& exchange);
void handle_rules(HttpCore& core, Exchange& exchange);
void handle_rule(HttpCore& core, Exchange& exchange);
void handle_history(HttpCore& core, Exchange& exchange);
void handle_history_version(HttpCore& core, Exchange& exchange);
void handle_rule_trial(HttpCore& core, Exchange& exchange);
void handle_events(HttpCore& core, Exchange& exchange);
void handle_denials(HttpCore& core, Exchange& exchange);
void handle_admin_stats(HttpCore& core, Exchange& exchange);
void handle_index(HttpCore& core, Exchange& exchange);

void handle_openapi(HttpCore& core, Exchange& exchange);

void handle_asset(HttpCore& core, Exchange& exchange);
void handle_console_session(HttpCore& core, Exchange& exchange);
void handle_live(HttpCore& core, Exchange& exchange);
void handle_live_json(HttpCore& core, Exchange& exchange);

}  // namespace weir
