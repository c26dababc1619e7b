// The message that consoles get once a second, as JSON (docs/internals/console.md).
//
// Fields that the node cannot know are left out.
//
// Thread rule: any thread. Tested by live_feed_test.cc.

#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "server/http/console/live_feed.h"

namespace weir {

std::string live_json(const NodeView& view, const LivePicture& picture,
                      const std::deque<LiveEvent>& events);

// One of the last ten seconds, for the history: the fleet's figures.
std::string history_json(const LivePicture& picture, std::int64_t second);

}  // namespace weir
