#include "base/duration_text.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/decimal.h"

namespace weir {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t us;
};

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kDayUs = 24 * 3'600 * kSecondUs;
constexpr std::int64_t kWeekUs = 7 * kDayUs;

constexpr std::array<Unit, 7> kUnits = {{
    {"w", kWeekUs},
    {"d", kDayUs},
    {"h", 3'600 * kSecondUs},
    {"m", 60 * kSecondUs},
    {"s", kSecondUs},
    {"ms", 1'000},
    {"us", 1},
}};

constexpr std::size_t kDecimalsMax = 6;  // a microsecond

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the digits (kDigits) or the other characters (kOthers) at the front of `text`.
enum class Take { kDigits, kOthers };
std::string_view take(std::string_view& text, Take what) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length]) == (what == Take::kDigits)) ++length;
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

// Returns nothing if there are no digits, or the number times `scale` does not fit.
std::optional<std::int64_t> scaled_number(std::string_view digits, std::int64_t scale) {
  auto number = read_decimal<std::int64_t>(digits);
  if (number && __builtin_mul_overflow(*number, scale, &*number)) return std::nullopt;
  return number;
}

// Reads the decimals of a number of seconds: "25" is 250,000 us.
std::optional<std::int64_t> decimals_us(std::string_view digits) {
  if (digits.size() > kDecimalsMax) return std::nullopt;
  std::int64_t scale = 1;
  for (std::size_t i = digits.size(); i < kDecimalsMax; ++i) scale *= 10;
  return scaled_number(digits, scale);
}

std::optional<Duration> parse_seconds(std::string_view whole, std::string_view rest) {
  const auto seconds_us = scaled_number(whole, kSecondUs);
  if (!seconds_us) return std::nullopt;
  if (rest.empty()) return Duration{*seconds_us};

  rest.remove_prefix(1);  // the point
  const std::string_view decimals = take(rest, Take::kDigits);
  const auto fraction_us = decimals_us(decimals);
  std::int64_t sum = 0;
  if (!rest.empty() || !fraction_us) return std::nullopt;
  if (__builtin_add_overflow(*seconds_us, *fraction_us, &sum)) return std::nullopt;
  return Duration{sum};
}

std::optional<Duration> parse_units(std::string_view text) {
  std::int64_t sum = 0;
  for (auto unit = kUnits.begin(); !text.empty(); ++unit) {
    const std::string_view digits = take(text, Take::kDigits);
    const std::string_view name = take(text, Take::kOthers);
    while (unit != kUnits.end() && unit->name != name) ++unit;
    // True also for a known unit that came before, or in the wrong order.
    if (unit == kUnits.end()) return std::nullopt;

    const auto part = scaled_number(digits, unit->us);
    if (!part || __builtin_add_overflow(sum, *part, &sum)) return std::nullopt;
  }
  return Duration{sum};
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) noexcept {
  std::string_view rest = text;
  const std::string_view digits = take(rest, Take::kDigits);
  if (digits.empty()) return std::nullopt;
  if (rest.empty() || rest.front() == '.') return parse_seconds(digits, rest);
  return parse_units(text);
}

std::string format_duration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  const bool negative = duration < Duration::zero();
  // Unsigned, because the lowest Duration has no positive counterpart.
  auto left = static_cast<std::uint64_t>(duration.count());
  if (negative) left = std::uint64_t{0} - left;

  std::string text = negative ? "-" : "";
  for (const Unit& unit : kUnits) {
    const auto unit_us = static_cast<std::uint64_t>(unit.us);
    if (unit.us == kWeekUs && left % unit_us != 0) continue;
    if (left < unit_us) continue;
    text += std::to_string(left / unit_us);
    text += unit.name;
    left %= unit_us;
  }
  return text;
}

std::string rounded_duration(Duration duration) {
  using std::chrono::ceil, std::chrono::milliseconds, std::chrono::seconds;
  if (duration < seconds(1)) return format_duration(ceil<milliseconds>(duration));
  return format_duration(ceil<seconds>(duration));
}

std::optional<Duration> duration_from_seconds(double seconds) noexcept {
  constexpr double kLimitUs = 9'223'372'036'854'775'808.0;  // 2^63: one too many
  // Written so that NaN fails it, too.
  if (!(seconds >= 0.0)) return std::nullopt;
  const double us = std::round(seconds * static_cast<double>(kSecondUs));
  if (!(us < kLimitUs)) return std::nullopt;
  return Duration{static_cast<std::int64_t>(us)};
}

}  // namespace weir
