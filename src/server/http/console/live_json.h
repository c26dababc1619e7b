// The message that consoles get once a second, as JSON (docs/internals/console.md).
//
// Fields that the node cannot know are missing.
//
// Thread rule: any thread. Tested by live_feed_test.cc.

#pragma once

#include <chrono>
#include <deque>
#include <string>

#include "server/http/console/live_feed.h"

namespace weir {

std::string live_json(const NodeView& view, const LivePicture& picture,
                      const std::deque<LiveEvent>& events);

// The last so many seconds: of all, with the rules that denied most; and of one rule.
std::string history_json(const NodeView& view, const LivePicture& picture,
                         const TrafficHistory& history, std::chrono::seconds span);
std::string history_json(const LivePicture& picture, const TrafficHistory& history,
                         std::chrono::seconds span, RuleNumber rule);

}  // namespace weir
