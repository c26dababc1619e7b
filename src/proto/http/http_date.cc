#include "proto/http/http_date.h"

#include <string_view>

#include "proto/text_writer.h"

namespace weir {
namespace {

constexpr std::string_view kWeekdays = "SunMonTueWedThuFriSat";
constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

// The name at `index` of names of three letters each.
std::string_view name(std::string_view names, unsigned index) { return names.substr(index * 3, 3); }

void two_digits(TextWriter& writer, std::int64_t number) {
  writer.character(static_cast<char>('0' + number / 10));
  writer.character(static_cast<char>('0' + number % 10));
}

}  // namespace

HttpDate http_date(Instant instant) {
  using std::chrono::days;
  using std::chrono::sys_days;
  const auto day = std::chrono::floor<days>(instant.time_since_epoch());
  const sys_days date{day};
  const std::chrono::year_month_day civil{date};
  const std::chrono::hh_mm_ss time{
      std::chrono::floor<std::chrono::seconds>(instant.time_since_epoch() - day)};

  HttpDate text;
  TextWriter writer(text.data(), text.size());
  writer.text(name(kWeekdays, std::chrono::weekday{date}.c_encoding())).put(", ");
  two_digits(writer, static_cast<unsigned>(civil.day()));
  writer.put(" ").text(name(kMonths, static_cast<unsigned>(civil.month()) - 1)).put(" ");
  writer.number(static_cast<int>(civil.year())).put(" ");
  two_digits(writer, time.hours().count());
  writer.put(":");
  two_digits(writer, time.minutes().count());
  writer.put(":");
  two_digits(writer, time.seconds().count());
  writer.put(" GMT");
  return text;
}

}  // namespace weir
