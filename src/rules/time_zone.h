// Time zones: how far their clocks are from UTC, by the system's tzdata.
//
// Thread rule: any thread. Tested by schedule_test.cc.

#pragma once

#include <chrono>
#include <string>

namespace date {
class time_zone;
}

namespace weir {

// Null if there is no such zone. Lives as long as the program.
const date::time_zone* find_zone(const std::string& name);

// The seconds to be added to the time in UTC, which is in seconds since 1970.
std::chrono::seconds offset_at(const date::time_zone& zone, std::chrono::seconds utc);

}  // namespace weir
