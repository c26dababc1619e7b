// CL.THROTTLE against a model of redis-cell's arithmetic. testdata/throttle.txt has real answers.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// The numbers of the reply "*5\r\n:1\r\n" and so on: "1 5 0 1 5".
std::string shown(const std::string& reply) {
  std::string text;
  for (std::size_t at = 4; at < reply.size();) {
    const auto end = reply.find("\r\n", at);
    text += (text.empty() ? "" : " ") + reply.substr(at + 1, end - at - 1);
    at = end + 2;
  }
  return text;
}

std::string throttle(RespTestDoor& door, const std::string& arguments) {
  return shown(door.ask("CL.THROTTLE " + arguments + "\r\n"));
}

// The arithmetic of redis-cell 0.5, in nanoseconds.
struct CellModel {
  std::map<std::string, std::int64_t> tat_ns;

  static std::int64_t seconds(std::int64_t ns) {
    return ns / 1'000'000'000 + (ns % 1'000'000'000 >= 1'000'000 ? 1 : 0);
  }

  std::array<std::int64_t, 5> ask(const std::string& key, std::int64_t max_burst,
                                  std::int64_t count, std::int64_t period_s, std::int64_t quantity,
                                  std::int64_t now_ns) {
    const auto interval =
        static_cast<std::int64_t>(static_cast<double>(period_s) * 1e9 / static_cast<double>(count));
    const std::int64_t tolerance = interval * (max_burst + 1);
    const auto stored = tat_ns.find(key);
    const std::int64_t tat = stored == tat_ns.end() ? now_ns : stored->second;
    const std::int64_t next = std::max(tat, now_ns) + interval * quantity;
    const std::int64_t spare = now_ns - (next - tolerance);
    const bool limited = spare < 0;
    if (!limited) tat_ns[key] = next;
    const std::int64_t wait = std::max<std::int64_t>(0, (limited ? tat : next) - now_ns);
    const bool can_ever = interval * quantity <= tolerance;
    const std::int64_t left = tolerance - wait > -interval ? (tolerance - wait) / interval : 0;
    return {limited ? 1 : 0, max_burst + 1, left, limited && can_ever ? seconds(-spare) : -1,
            seconds(wait)};
  }
};

struct ThrottleCase {
  std::string key;
  std::int64_t max_burst, count, period_s;
};

// Asks the door and the model 20,000 times, at random times, and compares the replies.
template <typename Compare>
void compare_with_model(const std::vector<ThrottleCase>& cases, const Compare& compare) {
  std::mt19937 random(7);
  RespTestDoor door;
  CellModel model;
  for (int i = 0; i < 20'000 && !testing::Test::HasFailure(); ++i) {
    const ThrottleCase& c = cases[random() % cases.size()];
    const auto quantity = static_cast<std::int64_t>(random() % 4);
    door.now += std::chrono::milliseconds(random() % 10 == 0 ? random() % 5000 : random() % 200);
    const auto expected =
        model.ask(c.key, c.max_burst, c.count, c.period_s, quantity, epoch_us(door.now) * 1000);
    std::istringstream reply(
        throttle(door, c.key + " " + std::to_string(c.max_burst) + " " + std::to_string(c.count) +
                           " " + std::to_string(c.period_s) + " " + std::to_string(quantity)));
    std::array<std::int64_t, 5> answered{};
    for (auto& number : answered) reply >> number;
    SCOPED_TRACE(c.key + ", question " + std::to_string(i));
    compare(answered, expected);
  }
}

TEST(ClThrottle, AgreesWithAModelOfRedisCell) {
  const std::vector<ThrottleCase> cases = {
      {"a", 15, 30, 60}, {"b", 4, 1, 1}, {"c", 0, 1, 2}, {"d", 99, 1000, 1}, {"e", 9, 8, 60}};
  compare_with_model(
      cases, [](const auto& answered, const auto& expected) { EXPECT_EQ(answered, expected); });
}

// If a unit takes no whole number of nanoseconds, redis-cell's clock gains some with each. Ours
// does not, so a duration may round to a second more.
TEST(ClThrottle, DoesNotDriftAsRedisCellDoes) {
  const std::vector<ThrottleCase> cases = {{"a", 2, 3, 1}, {"b", 6, 7, 60}, {"c", 30, 365, 86400}};
  compare_with_model(cases, [](const auto& answered, const auto& expected) {
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(answered[i], expected[i]);
    for (std::size_t i = 3; i < 5; ++i) EXPECT_LE(std::abs(answered[i] - expected[i]), 1);
  });
}

// A command with the bytes of one of the last two, except for its key, is not read. No other
// command is taken for one.
TEST(ClThrottle, ACommandLikeTheLastOneIsAnsweredAsOneThatIsRead) {
  const std::string first = command({"CL.THROTTLE", "a", "9", "1", "60"});
  const std::string other = command({"CL.THROTTLE", "a", "9", "2", "60"});
  const std::string begin = "*5\r\n$11\r\nCL.THROTTLE\r\n";
  const std::string end = "\r\n$1\r\n9\r\n$1\r\n1\r\n$2\r\n60\r\n";
  for (const std::string& next :
       {first, begin + "$1\r\nb" + end, begin + "$0\r\n" + end, begin + "$10\r\n0123456789" + end,
        begin + "$2\r\n\r\n" + end, begin + "$01\r\nb" + end, begin + "$1\r\nbb" + end,
        begin + "$2\r\nb" + end, begin + "$\r\nb" + end, begin + "$-1\r\n" + end,
        begin + "$100\r\n" + std::string(100, 'k') + end,
        begin + "$1\r\nb\r\n$1\r\n8" + end.substr(8), "PING\r\n" + first,
        command({"cl.throttle", "b", "9", "1", "60"}),
        command({"CL.THROTTLE", "b", "9", "1", "60", "2"}),
        std::string("CL.THROTTLE b 9 1 60\r\n")}) {
    for (std::size_t split = 0; split < next.size(); ++split) {
      const std::string before = split % 2 == 0 ? other + first : first + other;
      RespTestDoor read;
      read.ask(before + "PING\r\n");
      RespTestDoor repeated;
      repeated.ask(before);
      const std::string parts[] = {next.substr(0, split), next.substr(split)};
      EXPECT_EQ(repeated.ask(parts[0]) + repeated.ask(parts[1]),
                read.ask(parts[0]) + read.ask(parts[1]))
          << next;
    }
  }
}

TEST(ClThrottle, AKeyIsAnyBytes) {
  RespTestDoor door;
  const std::string binary("\0\r\n\xff", 4);
  const auto ask = [&](std::string_view key) {
    return shown(door.ask(command({"cl.throttle", key, "0", "1", "60"})));
  };
  EXPECT_EQ(ask(binary), "0 1 0 -1 60");
  EXPECT_EQ(ask(binary), "1 1 0 60 60");
  EXPECT_EQ(ask(binary.substr(0, 3)), "0 1 0 -1 60");
  EXPECT_EQ(ask(""), "0 1 0 -1 60");
  EXPECT_EQ(ask(std::string(64 << 10, 'k')), "0 1 0 -1 60");
}

}  // namespace
}  // namespace weir
