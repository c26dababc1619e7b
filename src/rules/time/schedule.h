// Schedule: the hours of the week in which a rule is in force.
//
// Days and hours are those of clocks in a time zone, by the system's tzdata: summer time
// comes and goes as it does there. A span over midnight (22:00 to 06:00) belongs to the
// day on which it begins.
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
    std::uint8_t days = 0x7f;  // a bit a day, Monday's is the lowest
    std::chrono::minutes from{0};
    std::chrono::minutes to{std::chrono::hours(24)};
    std::string zone = "UTC";
  };

  // Nothing if there is no such zone.
  static std::optional<Schedule> make(const Spec& spec);

  bool holds(Instant now) const;
  // When it next begins to; nothing if not within two weeks.
  std::optional<Instant> next(Instant now) const;

  const Spec& spec() const { return spec_; }

 private:
  Schedule(const Spec& spec, const TimeZone* zone);

  Spec spec_;
  const TimeZone* zone_;  // lives as long as the program
};

inline constexpr std::array<std::string_view, 7> kWeekdays = {"mon", "tue", "wed", "thu",
                                                              "fri", "sat", "sun"};

// "mon", or "mon-fri": the bits of Spec::days.
std::optional<std::uint8_t> parse_days(std::string_view text);

// "08:00", up to "24:00".
std::optional<std::chrono::minutes> parse_time_of_day(std::string_view text);

}  // namespace weir
