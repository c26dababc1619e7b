// Schedule: the hours of the week in which a rule is in force.
//
// Days and hours are those of clocks in a time zone, by the system's tzdata, with its summer time.
// A span over midnight (22:00 to 06:00) belongs to the day on which it begins.
//
// Thread rule: an immutable value. Cost: a search among the zone's changes of its clocks.
// Tested by schedule_test.cc.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/time.h"

namespace weir {

class TimeZone;

class Schedule {
 public:
  struct Spec {
    std::uint8_t days = 0x7f;  // one bit a day, Monday's is the lowest
    std::chrono::minutes from{0};
    std::chrono::minutes to{std::chrono::hours(24)};
    std::string zone = "UTC";
  };

  // Returns nothing if there is no such zone.
  static std::optional<Schedule> make(const Spec& spec);

  bool holds(Instant now) const;
  // When it next comes into force; nothing if not within two weeks.
  std::optional<Instant> next(Instant now) const;

  const Spec& spec() const { return spec_; }

 private:
  Schedule(const Spec& spec, const TimeZone* zone);

  Spec spec_;
  const TimeZone* zone_;  // lives as long as the program
};

inline constexpr std::array<std::string_view, 7> kWeekdays = {"mon", "tue", "wed", "thu",
                                                              "fri", "sat", "sun"};

// Reads "mon", or "mon-fri", as bits of Spec::days.
std::optional<std::uint8_t> parse_days(std::string_view text);

// Reads "08:00", up to "24:00".
std::optional<std::chrono::minutes> parse_time_of_day(std::string_view text);

}  // namespace weir
