// Compares windows of calendars, from 1970 to 2100, with Python's calendar and zoneinfo.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rules/time/calendar.h"
#include "rules/time/time_zone.h"

namespace weir {
namespace {

using std::chrono::seconds;

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  std::vector<char> piece(1 << 16);
  while (const auto size = std::fread(piece.data(), 1, piece.size(), pipe.get())) {
    output.append(piece.data(), size);
  }
  return output;
}

Instant at(std::int64_t since_1970) { return Instant(seconds(since_1970)); }

TEST(CalendarReference, WindowsBeginWhereverPythonSaysSo) {
  std::istringstream lines(output_of(WEIR_REFERENCE));
  int calendars = 0;
  int wrong = 0;
  for (std::string line; std::getline(lines, line); ++calendars) {
    std::istringstream words(line);
    std::string zone, unit;
    int minutes = 0, first_day = 0;
    words >> zone >> unit >> minutes >> first_day;
    std::vector<std::int64_t> begins;
    for (std::int64_t begin = 0; words >> begin;) begins.push_back(begin);
    ASSERT_GE(begins.size(), 130u) << zone;

    const auto name = std::ranges::find(kCalendarUnitNames, unit) - kCalendarUnitNames.begin();
    auto quota = *Quota::make(
        {Algorithm::kCalendarWindow, 5, kCalendarUnitLengths[static_cast<std::size_t>(name)]});
    quota.set_first_day(first_day);
    const CalendarClock clock{find_zone(zone), std::chrono::minutes(minutes)};
    ASSERT_NE(clock.zone, nullptr) << zone;
    const auto check = [&](std::size_t i, std::int64_t now) {
      const WindowEnds expected{at(begins[i]), at(begins[i + 1]), at(begins[i + 2])};
      if (window_ends(clock, quota, at(now)) == expected) return;
      const auto found = window_ends(clock, quota, at(now));
      ADD_FAILURE() << zone << " " << unit << " " << minutes << " " << first_day << " at " << now
                    << ": " << epoch_us(found.previous) / 1'000'000 << " "
                    << epoch_us(found.current) / 1'000'000 << " "
                    << epoch_us(found.next) / 1'000'000 << ", not " << begins[i] << " "
                    << begins[i + 1] << " " << begins[i + 2];
      ++wrong;
    };
    for (std::size_t i = 0; i + 3 < begins.size() && wrong < 10; ++i) {
      check(i, begins[i]);
      if (i % 5 == 0) check(i, begins[i + 1] - 1);
    }
  }
  EXPECT_GE(calendars, 20 * 10);
}

}  // namespace
}  // namespace weir
