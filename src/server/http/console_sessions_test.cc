#include "server/http/console_sessions.h"

#include <set>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(784'111'777'000'000);

// A new number each time.
ConsoleSessions::Chance counter() {
  return [next = std::size_t{0}]() mutable {
    std::array<std::byte, 32> bytes{};
    bytes[0] = static_cast<std::byte>(next % 256);
    bytes[31] = static_cast<std::byte>(next++ / 256);
    return bytes;
  };
}

TEST(ConsoleSessions, AreKnownByTheirNamesAlone) {
  ConsoleSessions sessions(counter());
  const std::string one = sessions.open(kStart);
  const std::string other = sessions.open(kStart);
  EXPECT_EQ(one.size(), 64u);
  EXPECT_NE(one, other);
  EXPECT_TRUE(sessions.use(one, kStart));
  EXPECT_NE(sessions.use(one, kStart), sessions.use(other, kStart));
  for (const std::string& wrong : {std::string(), one.substr(1), one + "0", std::string(64, 'f')}) {
    EXPECT_FALSE(sessions.use(wrong, kStart)) << wrong;
  }
}

TEST(ConsoleSessions, EndWhenNobodyUsesThem) {
  ConsoleSessions sessions(counter());
  const std::string used = sessions.open(kStart);
  const std::string idle = sessions.open(kStart);
  const Instant later = kStart + ConsoleSessions::kIdleMax - 1s;
  EXPECT_TRUE(sessions.use(used, later));
  EXPECT_FALSE(sessions.use(idle, later + 1s));
  EXPECT_TRUE(sessions.use(used, later + 1s));
  EXPECT_EQ(sessions.size(), 1u);
}

TEST(ConsoleSessions, EndThoughTheyAreUsed) {
  ConsoleSessions sessions(counter());
  const std::string name = sessions.open(kStart);
  Instant now = kStart;
  for (; now < kStart + ConsoleSessions::kAgeMax; now += 10min) {
    EXPECT_TRUE(sessions.use(name, now));
  }
  EXPECT_FALSE(sessions.use(name, now));
}

TEST(ConsoleSessions, AreBoundedAndTheIdlestGoes) {
  ConsoleSessions sessions(counter());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ConsoleSessions::kSessionsMax; ++i) {
    names.push_back(sessions.open(kStart + i * 1s));
  }
  const Instant now = kStart + 100s;
  EXPECT_TRUE(sessions.use(names[0], now));
  names.push_back(sessions.open(now));
  EXPECT_EQ(sessions.size(), ConsoleSessions::kSessionsMax);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(sessions.use(names[i], now).has_value(), i != 1) << i;
  }
}

TEST(ConsoleSessions, EndForThoseWhoHaveTheirHash) {
  ConsoleSessions sessions(counter());
  const std::string name = sessions.open(kStart);
  const auto hash = sessions.use(name, kStart);
  ASSERT_TRUE(hash);
  EXPECT_TRUE(sessions.use(*hash, kStart + 29min));
  EXPECT_TRUE(sessions.use(*hash, kStart + 58min)) << "it was in use";
  sessions.close(name);
  EXPECT_FALSE(sessions.use(*hash, kStart + 58min));
  EXPECT_FALSE(sessions.use(name, kStart + 58min));
  sessions.close(name);
}

}  // namespace
}  // namespace weir
