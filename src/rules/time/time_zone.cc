#include "rules/time/time_zone.h"

#include <date/tz.h>
#include <re2/re2.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "base/decimal.h"

namespace weir {
namespace {

using std::chrono::seconds;

// "M10.5.0/3": a day of the week in a month, where 5 is the last one, and the time of day.
struct YearlyChange {
  unsigned month = 1;
  unsigned week = 1;
  unsigned weekday = 0;  // 0 is Sunday
  seconds time = std::chrono::hours(2);

  // When it is in that year, for clocks that are `offset` ahead of UTC.
  seconds in(std::chrono::year year, seconds offset) const {
    const auto of_month = year / std::chrono::month(month);
    const std::chrono::weekday day(weekday);
    const auto date = week < 5 ? std::chrono::sys_days(of_month / day[week])
                               : std::chrono::sys_days(of_month / day[std::chrono::last]);
    return date.time_since_epoch() + time - offset;
  }
};

// The summer time of a zone in the years after the last change that its file lists.
struct YearlyRule {
  seconds standard{0};
  seconds summer{0};  // may be less, as in Dublin
  std::optional<YearlyChange> begins{};
  YearlyChange ends{};

  seconds offset_at(seconds utc) const {
    if (!begins) return standard;
    const std::chrono::sys_days day(std::chrono::floor<std::chrono::days>(utc + standard));
    const auto year = std::chrono::year_month_day(day).year();
    const seconds begin = begins->in(year, standard);
    const seconds end = ends.in(year, summer);
    const bool is_summer = begin < end ? begin <= utc && utc < end : utc < end || begin <= utc;
    return is_summer ? summer : standard;
  }
};

// Adds hours, minutes and seconds, as "2", "-1" or "3:30:15", times `sign`. False if not so.
bool add_time(const std::string& text, int sign, seconds& time) {
  static const RE2 kForm("([-+]?)(\\d+)(?::(\\d+))?(?::(\\d+))?");
  std::string minus, hours, minutes, rest;
  if (!RE2::FullMatch(text, kForm, &minus, &hours, &minutes, &rest)) return false;
  const auto number = [](const std::string& digits) {
    return read_decimal<std::int64_t>(digits).value_or(0);
  };
  if (minus == "-") sign = -sign;
  time += sign * seconds((number(hours) * 60 + number(minutes)) * 60 + number(rest));
  return true;
}

std::optional<YearlyChange> read_change(const std::string& text) {
  static const RE2 kForm("M(\\d+)\\.([1-5])\\.([0-6])(?:/(.+))?");
  YearlyChange change;
  std::string time;
  if (!RE2::FullMatch(text, kForm, &change.month, &change.week, &change.weekday, &time)) return {};
  if (!time.empty()) change.time = seconds(0);
  return time.empty() || add_time(time, 1, change.time) ? std::optional(change) : std::nullopt;
}

// Reads "CET-1CEST,M3.5.0,M10.5.0/3", where offsets point west. Nothing for other forms, which no
// zone of tzdata has.
std::optional<YearlyRule> read_rule(const std::string& text) {
  static const RE2 kForm(
      "(?:[A-Za-z]+|<[^>]+>)([-+0-9:]+)(?:(?:[A-Za-z]+|<[^>]+>)([-+0-9:]*),([^,]+),([^,]+))?");
  YearlyRule rule;
  std::string standard, summer, begins, ends;
  if (!RE2::FullMatch(text, kForm, &standard, &summer, &begins, &ends)) return std::nullopt;
  if (!add_time(standard, -1, rule.standard)) return std::nullopt;
  if (begins.empty()) return rule;
  rule.begins = read_change(begins);
  const auto end = read_change(ends);
  if (!rule.begins || !end) return std::nullopt;
  rule.ends = *end;
  if (summer.empty()) rule.summer = rule.standard + std::chrono::hours(1);
  return summer.empty() || add_time(summer, -1, rule.summer) ? std::optional(rule) : std::nullopt;
}

std::string last_line_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  const auto end = all.rfind('\n');
  const auto begin = end == std::string::npos || end == 0 ? end : all.rfind('\n', end - 1);
  return begin == std::string::npos ? "" : all.substr(begin + 1, end - begin - 1);
}

}  // namespace

class TimeZone {
 public:
  // Throws if there is no such zone.
  explicit TimeZone(const std::string& name) : listed_(date::locate_zone(name)) {
    offset_at(seconds(0));  // reads the zone's file
    afterwards_ = read_rule(last_line_of("/usr/share/zoneinfo/" + name));
  }

  seconds offset_at(seconds utc) const {
    const auto info = listed_->get_info(date::sys_seconds(utc));
    constexpr date::sys_days kEver = date::year(9999) / date::January / 1;
    return afterwards_ && info.end > kEver ? afterwards_->offset_at(utc) : info.offset;
  }

 private:
  const date::time_zone* listed_;
  std::optional<YearlyRule> afterwards_;
};

const TimeZone* find_zone(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, TimeZone> zones;
  const std::lock_guard lock(mutex);
  try {
    return &zones.try_emplace(name, name).first->second;
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

seconds offset_at(const TimeZone& zone, seconds utc) { return zone.offset_at(utc); }

}  // namespace weir
