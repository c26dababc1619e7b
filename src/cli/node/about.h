// A running node's description of itself, for people and for the other nodes.
//
// Thread rule: any thread. Tested by tests/e2e/console_test.py.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/node/settings.h"
#include "net/server.h"
#include "observe/node_about.h"
#include "observe/recent_traffic.h"
#include "observe/shared_store.h"
#include "server/http/node_view.h"
#include "weir/time.h"

namespace weir {

// People's name for the node.
std::string title_of(const Settings& settings);

// They tell how far the node's wall clock is ahead of Redis's, while the fleet is heard.
struct Clocks {
  std::shared_ptr<const TrafficSnapshot> traffic;
  Duration wall_lead{0};  // of the wall clock over ours
};

NodeAbout about_node(const Settings& settings, const Server& server,
                     const std::optional<SharedStoreFigures>& shared,
                     const Reloads::Figures& reload, const Clocks& clocks);

}  // namespace weir
