#include "rules/time/schedule.h"

#include <algorithm>

#include "base/decimal.h"
#include "rules/time/time_zone.h"

namespace weir {
namespace {

std::optional<unsigned> day_of(std::string_view name) {
  const auto found = std::ranges::find(kWeekdays, name);
  if (found == kWeekdays.end()) return std::nullopt;
  return static_cast<unsigned>(found - kWeekdays.begin());
}

std::optional<int> two_digits(std::string_view text) {
  const bool right = text.size() == 2 && text.front() >= '0' && text.front() <= '9';
  return right ? read_decimal<int>(text) : std::nullopt;
}

}  // namespace

std::optional<std::uint8_t> parse_days(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = day_of(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : day_of(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  unsigned days = 1U << *last;
  for (unsigned day = *first; day != *last; day = (day + 1) % 7) days |= 1U << day;
  return static_cast<std::uint8_t>(days);
}

std::optional<std::chrono::minutes> parse_time_of_day(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const auto hours = two_digits(text.substr(0, 2));
  const auto minutes = two_digits(text.substr(3));
  if (!hours || !minutes || *minutes > 59) return std::nullopt;
  const auto time = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return time <= std::chrono::hours(24) ? std::optional(time) : std::nullopt;
}

Schedule::Schedule(const Spec& spec, const TimeZone* zone) : spec_(spec), zone_(zone) {}

std::optional<Schedule> Schedule::make(const Spec& spec) {
  const TimeZone* const zone = find_zone(spec.zone);
  if (zone == nullptr) return std::nullopt;
  return Schedule(spec, zone);
}

std::optional<Instant> Schedule::next(Instant now) const {
  const auto utc = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  const auto today = std::chrono::floor<std::chrono::days>(utc + offset_at(*zone_, utc));
  for (std::chrono::days ahead{0}; ahead <= std::chrono::days(14); ++ahead) {
    const std::chrono::seconds local = today + ahead + spec_.from;
    const Instant begin(local - offset_at(*zone_, local - offset_at(*zone_, local)));
    if (begin > now && holds(begin)) return begin;
  }
  return std::nullopt;
}

bool Schedule::holds(Instant now) const {
  const auto utc = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  const auto local = utc + offset_at(*zone_, utc);
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const auto time = local - day;
  constexpr std::int64_t kThursday = 3;  // 1970-01-01
  const auto weekday = static_cast<unsigned>(((day.count() + kThursday) % 7 + 7) % 7);
  const auto begins_on = [&](unsigned a_day) { return (spec_.days >> a_day & 1U) != 0; };
  const bool today = begins_on(weekday);
  if (spec_.from < spec_.to) return today && time >= spec_.from && time < spec_.to;
  const bool yesterday = begins_on((weekday + 6) % 7);
  return (today && time >= spec_.from) || (yesterday && time < spec_.to);
}

}  // namespace weir
