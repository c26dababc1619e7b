#include "engine/login_guard.h"

#include <array>
#include <new>
#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(784'111'777'000'000);

// One of many addresses, by its number.
IpAddress address(unsigned number) {
  const std::array<std::uint8_t, 4> bytes = {10, static_cast<std::uint8_t>(number >> 16),
                                             static_cast<std::uint8_t>(number >> 8),
                                             static_cast<std::uint8_t>(number)};
  return IpAddress::v4(bytes);
}

class LoginGuardTest : public ::testing::Test {
 protected:
  // How many of `times` wrong guesses are compared.
  int guess(const Caller& caller, int times, Instant now) {
    int compared = 0;
    for (int i = 0; i < times; ++i) {
      guard_.judge(
          caller, [&] { return ++compared == 0; }, now);
    }
    return compared;
  }
  LoginGuard::Verdict show_secret(const Caller& caller, Instant now) {
    return guard_.judge(
        caller, [] { return true; }, now);
  }
  bool gets_in(const Caller& caller, Instant now) { return show_secret(caller, now).is_right; }

  KeyHasher hasher_{HashSecret()};
  LoginGuard guard_{hasher_};
  const Caller owner_ = {.address = IpAddress::parse("192.0.2.1")};
  const Caller stranger_ = {.address = IpAddress::parse("192.0.2.2")};
  const Caller machine_ = {.address = IpAddress::parse("127.0.0.1")};
};

TEST_F(LoginGuardTest, ANetworkHasABurstAndThenOneGuessAPause) {
  EXPECT_EQ(guess(owner_, 1000, kNow), LoginGuard::kBurst);
  EXPECT_EQ(show_secret(owner_, kNow).wait, LoginGuard::kPause);
  EXPECT_FALSE(gets_in(owner_, kNow));
  EXPECT_EQ(guess(owner_, 1000, kNow + LoginGuard::kPause - 1us), 0);
  EXPECT_EQ(guess(owner_, 1000, kNow + LoginGuard::kPause), 1);
  EXPECT_EQ(guess(owner_, 1000, kNow + 1h), LoginGuard::kBurst);  // and never more
}

// A guess that another guess overtakes must not be free.
TEST_F(LoginGuardTest, AGuessCountsBeforeItIsCompared) {
  const auto breaks = [&] {
    return guard_.judge(
        owner_, []() -> bool { throw std::bad_alloc(); }, kNow);
  };
  for (int i = 0; i < LoginGuard::kBurst; ++i) EXPECT_THROW(breaks(), std::bad_alloc);
  EXPECT_FALSE(gets_in(owner_, kNow));
}

TEST_F(LoginGuardTest, ARightSecretCostsAndBringsNothing) {
  EXPECT_EQ(guess(owner_, LoginGuard::kBurst - 1, kNow), LoginGuard::kBurst - 1);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(gets_in(owner_, kNow));
  EXPECT_EQ(guess(owner_, 1000, kNow), 1);
  EXPECT_EQ(guard_.figures().failed, std::uint64_t{LoginGuard::kBurst});
}

TEST_F(LoginGuardTest, OtherNetworksAreNotRefused) {
  guess(owner_, 1000, kNow);
  EXPECT_TRUE(gets_in(stranger_, kNow));
  EXPECT_TRUE(gets_in({}, kNow));
}

TEST_F(LoginGuardTest, TheAddressesOfAnIPv6NetworkShareTheirGuesses) {
  for (int i = 0; i < LoginGuard::kBurst; ++i) {
    guess({.address = IpAddress::parse("2001:db8::" + std::to_string(i))}, 1, kNow);
  }
  EXPECT_FALSE(gets_in({.address = IpAddress::parse("2001:db8::ffff")}, kNow));
  EXPECT_TRUE(gets_in({.address = IpAddress::parse("2001:db8:0:1::")}, kNow));
}

TEST_F(LoginGuardTest, AnyNumberOfAddressesHasBoundedGuesses) {
  int compared = 0;
  for (unsigned i = 0; i < 200'000; ++i) compared += guess({.address = address(i)}, 1, kNow);
  EXPECT_LE(compared, LoginGuard::kBurst * static_cast<int>(LoginGuard::kCounters));
  EXPECT_EQ(guard_.figures().failed, static_cast<std::uint64_t>(compared));
  EXPECT_EQ(guard_.figures().refused, 200'000u - static_cast<std::uint64_t>(compared));
}

// Regression: wrong tokens behind a proxy locked out everybody behind it, and its machine.
TEST_F(LoginGuardTest, CallersThatAProxyNamesCountEachForItself) {
  const Caller guesser = {.address = IpAddress::parse("198.51.100.1"), .is_named = true};
  const Caller other = {.address = IpAddress::parse("198.51.100.2"), .is_named = true};
  EXPECT_EQ(guess(guesser, 1000, kNow), LoginGuard::kBurst);
  EXPECT_TRUE(gets_in(other, kNow));
  EXPECT_TRUE(gets_in(machine_, kNow));
  const Caller liar = {.address = machine_.address, .is_named = true};
  EXPECT_EQ(guess(liar, 1000, kNow), LoginGuard::kBurst);
  EXPECT_TRUE(gets_in(machine_, kNow)) << "somebody has claimed to be the machine itself";
}

TEST_F(LoginGuardTest, AGuesserThatInventsCallersIsBoundedAndLocksOutNobodyElse) {
  const Caller owner = {.address = owner_.address, .is_named = true};
  ASSERT_TRUE(gets_in(owner, kNow - 1h));
  int compared = 0;
  for (unsigned i = 0; i < 60'000; ++i) {  // a thousand a second
    const Instant now = kNow + i * 1ms;
    compared += guess({.address = address(i), .is_named = true}, 1, now);
    if (i % 1'000 != 999) continue;
    EXPECT_TRUE(gets_in(machine_, now)) << i;
    EXPECT_TRUE(gets_in(stranger_, now)) << i;
    EXPECT_TRUE(gets_in(owner, now)) << "logged in before";
  }
  const auto allowed = LoginGuard::kNamedBurst + 60s / LoginGuard::kNamedPause;
  EXPECT_LE(compared, allowed);
  EXPECT_GE(compared, allowed * 9 / 10);
}

class FloodedGuardTest : public LoginGuardTest {
 protected:
  // Guesses from so many addresses that every counter is used up.
  void flood() {
    for (unsigned i = 0; i < 200'000; ++i) guess({.address = address(i)}, 1, kNow);
  }
};

// Regression: guesses from thousands of addresses made the guard refuse everybody's password.
TEST_F(FloodedGuardTest, WhoHasLoggedInBeforeStillDoes) {
  EXPECT_TRUE(gets_in(owner_, kNow - 1h));
  flood();
  EXPECT_FALSE(gets_in(stranger_, kNow));
  EXPECT_TRUE(gets_in(owner_, kNow));
  EXPECT_EQ(guess(owner_, 1'000, kNow), LoginGuard::kBurst) << "and may not guess more";
}

// Logging in brings no guesses, either, if the counter has some left.
TEST_F(FloodedGuardTest, LoggingInBringsNoGuesses) {
  guess(owner_, LoginGuard::kBurst - 1, kNow);
  EXPECT_TRUE(gets_in(owner_, kNow));
  EXPECT_TRUE(gets_in(owner_, kNow));
  flood();
  EXPECT_EQ(guess(owner_, 1'000, kNow), 0);
  EXPECT_EQ(guess(owner_, 1'000, kNow + LoginGuard::kPause), 1);
  EXPECT_TRUE(gets_in(owner_, kNow + 2 * LoginGuard::kPause));
  EXPECT_EQ(guess(owner_, 1'000, kNow + 2 * LoginGuard::kPause), 1);
}

TEST_F(FloodedGuardTest, TheNetworksThatLoggedInLastAreKnown) {
  EXPECT_TRUE(gets_in(owner_, kNow - 1h));
  const auto other = [](std::size_t number) {
    return Caller{.address = IpAddress::parse("198.51.100." + std::to_string(number))};
  };
  for (std::size_t i = 0; i < LoginGuard::kKnown; ++i) {
    EXPECT_TRUE(gets_in(other(i), kNow - 30min));
  }
  flood();
  EXPECT_FALSE(gets_in(owner_, kNow));
  EXPECT_TRUE(gets_in(other(0), kNow));
}

}  // namespace
}  // namespace weir
