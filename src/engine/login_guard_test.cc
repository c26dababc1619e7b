#include "engine/login_guard.h"

#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(784'111'777'000'000);

class LoginGuardTest : public ::testing::Test {
 protected:
  // How many wrong guesses in a row are compared.
  int guess(const std::optional<IpAddress>& client, int times, Instant now) {
    int compared = 0;
    for (int i = 0; i < times; ++i) {
      if (guard_.wait(client, now) > Duration::zero()) continue;
      ++compared;
      guard_.failed(client, now);
    }
    return compared;
  }

  KeyHasher hasher_{HashSecret()};
  LoginGuard guard_{hasher_};
};

TEST_F(LoginGuardTest, ANetworkHasABurstAndThenOneGuessAPause) {
  const auto client = IpAddress::parse("192.0.2.1");
  EXPECT_EQ(guess(client, 1000, kNow), LoginGuard::kBurst);
  EXPECT_EQ(guard_.wait(client, kNow), LoginGuard::kPause);
  EXPECT_EQ(guess(client, 1000, kNow + LoginGuard::kPause - 1us), 0);
  EXPECT_EQ(guess(client, 1000, kNow + LoginGuard::kPause), 1);
  EXPECT_EQ(guess(client, 1000, kNow + 1h), LoginGuard::kBurst);  // and never more
}

TEST_F(LoginGuardTest, OtherNetworksAreNotRefused) {
  guess(IpAddress::parse("192.0.2.1"), 1000, kNow);
  EXPECT_EQ(guard_.wait(IpAddress::parse("192.0.2.2"), kNow), 0us);
  EXPECT_EQ(guard_.wait(std::nullopt, kNow), 0us);
}

TEST_F(LoginGuardTest, TheAddressesOfAnIPv6NetworkShareTheirGuesses) {
  for (int i = 0; i < LoginGuard::kBurst; ++i) {
    guess(IpAddress::parse("2001:db8::" + std::to_string(i)), 1, kNow);
  }
  EXPECT_GT(guard_.wait(IpAddress::parse("2001:db8::ffff"), kNow), 0us);
  EXPECT_EQ(guard_.wait(IpAddress::parse("2001:db8:0:1::"), kNow), 0us);
}

TEST_F(LoginGuardTest, AnyNumberOfAddressesHasBoundedGuesses) {
  int compared = 0;
  for (unsigned i = 0; i < 200'000; ++i) {
    const std::array<std::uint8_t, 4> bytes = {10, static_cast<std::uint8_t>(i >> 16),
                                               static_cast<std::uint8_t>(i >> 8),
                                               static_cast<std::uint8_t>(i)};
    compared += guess(IpAddress::v4(bytes), 1, kNow);
  }
  EXPECT_LE(compared, LoginGuard::kBurst * static_cast<int>(LoginGuard::kCounters));
  EXPECT_EQ(guard_.figures().failed, static_cast<std::uint64_t>(compared));
  EXPECT_EQ(guard_.figures().refused, 200'000u - static_cast<std::uint64_t>(compared));
}

class FloodedGuardTest : public LoginGuardTest {
 protected:
  // From so many addresses that every counter is used up.
  void flood() {
    for (unsigned i = 0; i < 200'000; ++i) {
      const std::array<std::uint8_t, 4> bytes = {10, static_cast<std::uint8_t>(i >> 16),
                                                 static_cast<std::uint8_t>(i >> 8),
                                                 static_cast<std::uint8_t>(i)};
      guess(IpAddress::v4(bytes), 1, kNow);
    }
  }

  const std::optional<IpAddress> owner_ = IpAddress::parse("192.0.2.1");
  const std::optional<IpAddress> stranger_ = IpAddress::parse("192.0.2.2");
};

// Thousands of addresses refused everybody's password.
TEST_F(FloodedGuardTest, WhoHasLoggedInBeforeStillDoes) {
  guard_.succeeded(owner_, kNow - 1h);
  flood();
  EXPECT_GT(guard_.wait(stranger_, kNow), 0us);
  EXPECT_EQ(guard_.wait(owner_, kNow), 0us);
  EXPECT_EQ(guess(owner_, 1'000, kNow), LoginGuard::kBurst) << "and may not guess more";
}

TEST_F(FloodedGuardTest, LoggingInBringsNoGuesses) {
  flood();
  guard_.succeeded(owner_, kNow);
  guard_.succeeded(owner_, kNow);
  EXPECT_EQ(guess(owner_, 1'000, kNow), 0);
  EXPECT_EQ(guess(owner_, 1'000, kNow + LoginGuard::kPause), 1);
  guard_.succeeded(owner_, kNow + LoginGuard::kPause);
  EXPECT_EQ(guess(owner_, 1'000, kNow + LoginGuard::kPause), 0);
}

TEST_F(FloodedGuardTest, TheNetworksThatLoggedInLastAreKnown) {
  guard_.succeeded(owner_, kNow - 1h);
  const auto other = [](std::size_t number) {
    return IpAddress::parse("198.51.100." + std::to_string(number));
  };
  for (std::size_t i = 0; i < LoginGuard::kKnown; ++i) guard_.succeeded(other(i), kNow - 30min);
  flood();
  EXPECT_GT(guard_.wait(owner_, kNow), 0us);
  EXPECT_EQ(guard_.wait(other(0), kNow), 0us);
}

}  // namespace
}  // namespace weir
