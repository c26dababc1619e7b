#include "base/duration_text.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(ParseDuration, ReadsWhatPeopleWrite) {
  struct Case {
    std::string_view text;
    Duration duration;
  };
  for (const Case& c : {
           Case{"0", 0s},
           Case{"60", 60s},
           Case{"0.25", 250ms},
           Case{"1.5", 1500ms},
           Case{"0.000001", 1us},
           Case{"007", 7s},
           Case{"0s", 0s},
           Case{"1us", 1us},
           Case{"500ms", 500ms},
           Case{"1s", 1s},
           Case{"1m", 1min},
           Case{"90m", 90min},
           Case{"1h", 1h},
           Case{"1d", 24h},
           Case{"1w", 168h},
           Case{"1h30m", 90min},
           Case{"1s500ms", 1500ms},
           Case{"2w1d3h4m5s6ms7us", 15 * 24h + 3h + 4min + 5s + 6ms + 7us},
           Case{"9223372036854775807us", Duration::max()},
           Case{"9223372036854.775807", Duration::max()},
       }) {
    EXPECT_EQ(parse_duration(c.text), c.duration) << c.text;
  }
}

TEST(ParseDuration, RefusesTheRest) {
  constexpr std::string_view kTexts[] = {
      "", " ", "s", "1 s", " 1s", "1s ", "-1", "+1", "-1s", "1.", ".5", "1.5s", "1.5h", "1..5",
      "1.5.5", "1e3", "1_000", "0x10", "1M", "1H", "1min", "1sec", "1 minute", "1month", "1y",
      "30m1h", "1m1m", "1s1", "1h30", "1\xC2\xB5s", "nan", "inf", "1.0000001",
      // More than a Duration holds.
      "9223372036854775808us", "9223372036854.775808", "15250284452472w", "99999999999999999999",
      "1h99999999999999999999us"};
  for (const std::string_view text : kTexts) EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  EXPECT_EQ(parse_duration(std::string_view("1s\0", 3)), std::nullopt);
}

TEST(FormatDuration, IsShort) {
  struct Case {
    Duration duration;
    std::string_view text;
  };
  for (const Case& c : {
           Case{0s, "0s"},
           Case{1us, "1us"},
           Case{500ms, "500ms"},
           Case{1500ms, "1s500ms"},
           Case{60s, "1m"},
           Case{90s, "1m30s"},
           Case{90min, "1h30m"},
           Case{24h, "1d"},
           Case{168h, "1w"},
           Case{192h, "8d"},
           Case{169h, "7d1h"},
           Case{366 * 24h, "366d"},
           Case{-90s, "-1m30s"},
           Case{Duration::min(), "-106751991d4h54s775ms808us"},
       }) {
    EXPECT_EQ(format_duration(c.duration), c.text);
  }
}

// A refused reservation said "for 29s944ms469us more".
TEST(FormatDuration, IsRoundedUpForPeople) {
  EXPECT_EQ(rounded_duration(29'944'469us), "30s");
  EXPECT_EQ(rounded_duration(90s), "1m30s");
  EXPECT_EQ(rounded_duration(234'375us), "235ms");
  EXPECT_EQ(rounded_duration(1us), "1ms");
  EXPECT_EQ(rounded_duration(0s), "0s");
}

TEST(FormatDuration, IsReadBackExactly) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    // Every magnitude is equally likely, not only the largest.
    const auto us = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    const Duration duration{us};
    ASSERT_EQ(parse_duration(format_duration(duration)), duration) << us;
  }
  EXPECT_EQ(parse_duration(format_duration(Duration::max())), Duration::max());
}

TEST(DurationFromSeconds, RoundsToAMicrosecond) {
  EXPECT_EQ(duration_from_seconds(0.0), 0s);
  EXPECT_EQ(duration_from_seconds(-0.0), 0s);
  EXPECT_EQ(duration_from_seconds(0.1), 100ms);
  EXPECT_EQ(duration_from_seconds(1.1), 1100ms);
  EXPECT_EQ(duration_from_seconds(4e-7), 0us);
  EXPECT_EQ(duration_from_seconds(6e-7), 1us);
  EXPECT_EQ(duration_from_seconds(31'622'400.000001), 366 * 24h + 1us);
}

TEST(DurationFromSeconds, RefusesWhatIsNoDuration) {
  EXPECT_EQ(duration_from_seconds(-1e-9), std::nullopt);
  EXPECT_EQ(duration_from_seconds(std::nan("")), std::nullopt);
  EXPECT_EQ(duration_from_seconds(std::numeric_limits<double>::infinity()), std::nullopt);
  EXPECT_EQ(duration_from_seconds(-std::numeric_limits<double>::infinity()), std::nullopt);
  EXPECT_EQ(duration_from_seconds(9.3e12), std::nullopt);
  EXPECT_EQ(duration_from_seconds(std::numeric_limits<double>::max()), std::nullopt);
  EXPECT_TRUE(duration_from_seconds(9.2e12).has_value());
}

}  // namespace
}  // namespace weir
