#include "rules/time_zone.h"

#include <date/tz.h>

#include <stdexcept>

namespace weir {

const date::time_zone* find_zone(const std::string& name) {
  try {
    const date::time_zone* const zone = date::locate_zone(name);
    offset_at(*zone, {});  // reads the zone's file
    return zone;
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

std::chrono::seconds offset_at(const date::time_zone& zone, std::chrono::seconds utc) {
  return zone.get_info(date::sys_seconds(utc)).offset;
}

}  // namespace weir
