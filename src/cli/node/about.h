// What a running node says of itself, for people and for the other nodes.
//
// Thread rule: any thread. Tested by tests/e2e/console_test.py.

#pragma once

#include <optional>
#include <string>

#include "cli/node/settings.h"
#include "net/server.h"
#include "observe/node_about.h"
#include "observe/shared_store.h"
#include "server/http/node_view.h"

namespace weir {

// The name that people know the node by.
std::string title_of(const Settings& settings);

NodeAbout about_node(const Settings& settings, const Server& server,
                     const std::optional<SharedStoreFigures>& shared,
                     const Reloads::Figures& reload);

}  // namespace weir
