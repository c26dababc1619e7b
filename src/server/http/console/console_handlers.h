// The handlers of the console: session_handlers.cc signs people in and out, live_handlers.cc shows
// what happens each second, asset_handlers.cc sends the files and adds all routes.
//
// Thread rule: the core's. Tested by http_console_session_test.cc and http_live_test.cc.

#pragma once

#include "server/http/console/console_routes.h"
#include "server/http/http_core.h"

namespace weir {

struct Console : ConsoleParts {
  HttpCore& core;
  bool is_public;
};

// /console/session
void handle_session(const Console& console, Exchange& exchange);
// /console/live, a WebSocket, and /console/live.json, the same for those whose proxy breaks it.
void open_live(const Console& console, Exchange& exchange);
void show_live_json(const Console& console, Exchange& exchange);

}  // namespace weir
