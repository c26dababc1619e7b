// Time zones: how far their clocks are from UTC, by the system's tzdata.
//
// A zone's file lists its changes up to 2037 at most. Its last line is a rule for all later years,
// which is used, too.
//
// Thread rule: any thread. Tested by schedule_test.cc and calendar_reference_test.cc.

#pragma once

#include <chrono>
#include <string>

namespace weir {

class TimeZone;

// Null if there is no such zone. The zone lives as long as the program.
const TimeZone* find_zone(const std::string& name);

// The seconds to add to UTC; `utc` is in seconds since 1970.
std::chrono::seconds offset_at(const TimeZone& zone, std::chrono::seconds utc);

}  // namespace weir
