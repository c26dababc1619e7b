#include "proto/text_writer.h"

#include <array>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

template <typename Write>
std::string written(Write write) {
  std::array<char, 128> memory{};
  TextWriter writer(memory.data(), memory.size());
  write(writer);
  return {memory.data(), writer.end()};
}

std::string seconds(Duration duration) {
  return written([&](TextWriter& writer) { writer.seconds(duration); });
}

TEST(TextWriter, PutsOneAfterTheOther) {
  EXPECT_EQ(written([](TextWriter& writer) {
              writer.put("a: ").text("b").text("").character(',').number(-7).number(7u);
            }),
            "a: b,-77");
}

TEST(TextWriter, PutsANumberAgainByItsDigits) {
  for (const std::int64_t number : {std::int64_t{7}, std::numeric_limits<std::int64_t>::min()}) {
    const std::string text = std::to_string(number);
    EXPECT_EQ(written([&](TextWriter& writer) {
                const char* const begin = writer.at();
                const std::string_view digits(begin, writer.number(number).at());
                writer.character(';').digits(digits).character(';').digits(digits);
              }),
              text + ";" + text + ";" + text);
  }
}

TEST(TextWriter, NumbersFitTheirBound) {
  const auto longest =
      written([](TextWriter& writer) { writer.number(std::numeric_limits<std::int64_t>::min()); });
  EXPECT_EQ(longest, "-9223372036854775808");
  EXPECT_EQ(longest.size(), kNumberTextMax);
}

TEST(TextWriter, SecondsHaveNoDecimalsToSpare) {
  EXPECT_EQ(seconds(0s), "0");
  EXPECT_EQ(seconds(60s), "60");
  EXPECT_EQ(seconds(250ms), "0.25");
  EXPECT_EQ(seconds(1500ms), "1.5");
  EXPECT_EQ(seconds(1us), "0.000001");
  EXPECT_EQ(seconds(10s + 10us), "10.00001");
  EXPECT_EQ(seconds(999'999us), "0.999999");
  EXPECT_EQ(seconds(7s + 100'200us), "7.1002");
  EXPECT_EQ(seconds(Duration::max()), "9223372036854.775807");
}

TEST(TextWriterDeathTest, EndsTheProgramWhereABoundWasTooSmall) {
  std::array<char, 8> memory{};
  TextWriter writer(memory.data(), 3);
  EXPECT_DEATH(writer.put("four").end(), "limit_");
}

}  // namespace
}  // namespace weir
