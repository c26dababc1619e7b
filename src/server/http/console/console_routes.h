// The routes of the console: its page and the files that the page loads, who is signed in, and what
// happens each second.
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

// What the console of one core shows and holds; all of it outlives the core.
struct ConsoleParts {
  const NodeView& view;
  LiveFeed& feed;
  LiveConsoles& consoles;
};
// /console/...; none of them if the console is off.
void add_console_routes(HttpCore& core, const ConsoleOptions& options, const ConsoleParts& parts);

// /: the page, for those who prefer HTML; for the others, and if the console is off, where the
// routes of a server are.
void add_index_route(HttpCore& core, const ConsoleOptions& options);

}  // namespace weir
