// The routes of the console: its page, the page's files, signing in, and the news of each second.
//
// Thread rule: the core's. Tested by http_assets_test.cc, http_console_session_test.cc and
// http_live_test.cc.

#pragma once

#include <span>

#include "config/settings.h"
#include "console/assets.h"
#include "server/http/console/live_session.h"
#include "server/http/node_view.h"

namespace weir {

class HttpCore;

// The console: a page in the browser. Its files are constants.
struct ConsoleOptions {
  using Use = ConsoleUse;
  Use use = Use::kOff;
  std::span<const ConsoleAsset> assets{};

  bool is_on() const { return use != Use::kOff; }
};

// Objects of the node that the console of one core uses; all outlive the core.
struct ConsoleParts {
  const NodeView& view;
  LiveFeed& feed;
  LiveConsoles& consoles;
};
// Adds /console/..., unless the console is off.
void add_console_routes(HttpCore& core, const ConsoleOptions& options, const ConsoleParts& parts);

// Adds /: the page for clients that prefer HTML. Others, and all clients if the console is off,
// learn where the server's routes are.
void add_index_route(HttpCore& core, const ConsoleOptions& options);

}  // namespace weir
