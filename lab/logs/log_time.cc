#include "logs/log_time.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>

namespace weir::lab {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

// Reads a text from its front. After a failure every read fails.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool good() const { return good_; }
  bool at_end() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }

  void skip(char c) {
    if (peek() != c) return fail();
    rest_.remove_prefix(1);
  }
  bool skips(char c) {
    const bool found = peek() == c;
    if (found) rest_.remove_prefix(1);
    return found;
  }
  std::string_view take(std::size_t size) {
    if (rest_.size() < size) {
      fail();
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  int number(std::size_t digits) {
    int value = 0;
    for (const char c : take(digits)) {
      if (c < '0' || c > '9') fail();
      value = value * 10 + (c - '0');
    }
    return value;
  }
  // A fraction of a second, behind its point. Digits beyond microseconds are dropped.
  microseconds fraction() {
    std::int64_t value = 0;
    std::int64_t unit = 1'000'000;
    while (peek() >= '0' && peek() <= '9') {
      unit /= 10;
      value += (peek() - '0') * unit;
      rest_.remove_prefix(1);
    }
    return microseconds(value);
  }
  // "Z", "+0200", "-07:00"; no text means UTC.
  seconds zone() {
    if (at_end() || skips('Z')) return seconds(0);
    const bool is_west = peek() == '-';
    if (!is_west && peek() != '+') fail();
    take(1);
    const int hours = number(2);
    skips(':');
    const int minutes = number(2);
    const seconds offset(hours * 3600 + minutes * 60);
    return is_west ? -offset : offset;
  }

 private:
  void fail() { good_ = false; }

  std::string_view rest_;
  bool good_ = true;
};

// 0 if it is no month.
int month_of(std::string_view name) {
  constexpr std::string_view kMonths = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
  const auto at = name.size() == 3 ? kMonths.find(name) : std::string_view::npos;
  return at < kMonths.size() && at % 4 == 0 ? static_cast<int>(at) / 4 + 1 : 0;
}

struct Date {
  int year = 0;
  int month = 0;
  int day = 0;
};

// The rest of the text has the time of day, a fraction and a zone.
std::optional<LogTime> finish(const Date& date, Cursor& cursor) {
  const int hour = cursor.number(2);
  cursor.skip(':');
  const int minute = cursor.number(2);
  cursor.skip(':');
  const int second = cursor.number(2);
  LogTime time{.is_exact = cursor.skips('.') || cursor.skips(',')};
  const microseconds fraction = time.is_exact ? cursor.fraction() : microseconds(0);
  cursor.skips(' ');
  const seconds zone = cursor.zone();
  const std::chrono::year_month_day day(std::chrono::year(date.year),
                                        std::chrono::month(static_cast<unsigned>(date.month)),
                                        std::chrono::day(static_cast<unsigned>(date.day)));
  const bool is_time = hour < 24 && minute < 60 && second <= 60;
  if (!cursor.good() || !cursor.at_end() || !day.ok() || !is_time || date.year < 1970) {
    return std::nullopt;
  }
  const auto since_1970 = std::chrono::sys_days(day).time_since_epoch() +
                          seconds(hour * 3600 + minute * 60 + second) - zone + fraction;
  time.at = instant_from_epoch_us(std::chrono::duration_cast<microseconds>(since_1970).count());
  return time;
}

std::optional<LogTime> parse_clf(std::string_view text) {
  Cursor cursor(text);
  Date date;
  date.day = cursor.number(2);
  cursor.skip('/');
  date.month = month_of(cursor.take(3));
  cursor.skip('/');
  date.year = cursor.number(4);
  cursor.skip(':');
  return finish(date, cursor);
}

std::optional<LogTime> parse_iso(std::string_view text) {
  Cursor cursor(text);
  Date date;
  date.year = cursor.number(4);
  cursor.skip('-');
  date.month = cursor.number(2);
  cursor.skip('-');
  date.day = cursor.number(2);
  if (!cursor.skips('T')) cursor.skip(' ');
  return finish(date, cursor);
}

// Seconds have ten digits until 2286, and each finer unit three more.
std::optional<LogTime> parse_number(std::string_view text) {
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error != std::errc() || whole < 0) return std::nullopt;
  Cursor rest(text.substr(static_cast<std::size_t>(end - text.data())));
  LogTime time{.is_exact = true};
  if (whole < 100'000'000'000) {
    time.is_exact = rest.skips('.');
    const microseconds fraction = time.is_exact ? rest.fraction() : microseconds(0);
    time.at = instant_from_epoch_us(whole * 1'000'000 + fraction.count());
  } else {
    if (rest.skips('.')) rest.fraction();
    const bool is_ms = whole < 100'000'000'000'000;
    const bool is_us = whole < 100'000'000'000'000'000;
    time.at = instant_from_epoch_us(is_ms ? whole * 1'000 : is_us ? whole : whole / 1'000);
  }
  if (!rest.good() || !rest.at_end()) return std::nullopt;
  return time;
}

}  // namespace

std::optional<LogTime> parse_log_time(std::string_view text) {
  if (text.size() > 2 && text[2] == '/') return parse_clf(text);
  if (text.size() > 4 && text[4] == '-') return parse_iso(text);
  return parse_number(text);
}

}  // namespace weir::lab
