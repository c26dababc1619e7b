// An event of unusual traffic as JSON: for /admin/events, and for the webhook.
//
// Thread rule: pure. Tested by http_events_test.cc.

#pragma once

#include <cstdint>
#include <string>

#include "observe/unusual/traffic_events.h"
#include "proto/json_writer.h"

namespace weir {

// "2026-11-22T21:40:03Z", of seconds since 1970.
std::string utc_text(std::int64_t second);

// The fields, without the braces.
void write_event(JsonWriter& json, const TrafficEvent& event);

}  // namespace weir
