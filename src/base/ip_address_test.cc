#include "base/ip_address.h"

#include <arpa/inet.h>

#include <random>

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string canonical(std::string_view text) {
  const auto address = IpAddress::parse(text);
  return address ? address->to_string() : "none";
}

TEST(IpAddress, OneHostIsOneValueHoweverItIsWritten) {
  EXPECT_EQ(canonical("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(canonical("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(canonical("::ffff:c000:201"), "192.0.2.1");
  EXPECT_EQ(canonical("64:ff9b::192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(canonical("2001:DB8:0:0::1"), "2001:db8::1");
  EXPECT_EQ(canonical("fe80::1%eth0"), "fe80::1");
  EXPECT_EQ(canonical("2001:db8:1111:2222:3333:4444:5555:6666"),
            "2001:db8:1111:2222:3333:4444:5555:6666");
}

TEST(IpAddress, RefusesWhatIsNone) {
  for (const auto* text : {"", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4:80", "[::1]",
                           "::1::", "unknown", "01.2.3.4", "1.2.3.4 ", "%eth0",
                           "12345::", "1111:2222:3333:4444:5555:6666:255.255.255.2551"}) {
    EXPECT_EQ(canonical(text), "none") << text;
  }
}

std::string as_inet_ntop_writes(const std::array<std::uint8_t, 4>& bytes) {
  std::array<char, INET_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET, bytes.data(), text.data(), text.size());
}

std::string as_inet_ntop_writes(const IpAddress::Bytes& bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
}

// Zeros in each place, and groups of each length.
TEST(IpAddress, WritesIpv6AsInetNtopDoes) {
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    IpAddress::Bytes bytes{};
    const unsigned zeros = static_cast<unsigned>(i) % 256;
    for (std::size_t group = 0; group < 8; ++group) {
      if ((zeros >> group & 1) != 0) continue;
      const auto value = static_cast<unsigned>((random() & 0xffff) >> random() % 16);
      bytes[2 * group] = static_cast<std::uint8_t>(value >> 8);
      bytes[2 * group + 1] = static_cast<std::uint8_t>(value);
    }
    const IpAddress address = IpAddress::v6(bytes);
    if (address.is_v4()) continue;
    ASSERT_EQ(address.to_string(), as_inet_ntop_writes(bytes));
  }
}

TEST(IpAddress, WritesIpv4AsInetNtopDoes) {
  std::mt19937 random(1);
  const auto byte = [&random] { return static_cast<std::uint8_t>(random()); };
  for (int i = 0; i < 100'000; ++i) {
    const std::array<std::uint8_t, 4> bytes = {byte(), byte(), byte(), byte()};
    ASSERT_EQ(IpAddress::v4(bytes).to_string(), as_inet_ntop_writes(bytes));
  }
  constexpr std::array<std::uint8_t, 8> kEdges = {0, 1, 9, 10, 99, 100, 199, 255};
  for (const auto a : kEdges) {
    for (const auto b : kEdges) {
      for (const auto c : kEdges) {
        for (const auto d : kEdges) {
          const std::array<std::uint8_t, 4> bytes = {a, b, c, d};
          ASSERT_EQ(IpAddress::v4(bytes).to_string(), as_inet_ntop_writes(bytes));
        }
      }
    }
  }
}

TEST(IpAddress, NetworkKeepsTheFirstBitsAndNoOther) {
  IpAddress::Bytes ones;
  ones.fill(0xff);
  for (unsigned bits = 0; bits <= 128; ++bits) {
    const IpAddress network = IpAddress::v6(ones).network(bits);
    for (unsigned bit = 0; bit < 128; ++bit) {
      const bool is_set = (network.bytes()[bit / 8] >> (7 - bit % 8) & 1) == 1;
      ASSERT_EQ(is_set, bit < bits) << bits << ": " << bit;
    }
  }
}

TEST(IpAddress, NetworkCountsBitsInItsOwnFamily) {
  EXPECT_EQ(IpAddress::parse("192.0.2.77")->network(24).to_string(), "192.0.2.0");
  EXPECT_EQ(IpAddress::parse("192.0.2.77")->network(0).to_string(), "0.0.0.0");
  EXPECT_EQ(IpAddress::parse("192.0.2.77")->network(31).to_string(), "192.0.2.76");
  EXPECT_EQ(IpAddress::parse("192.0.2.77")->network(32).to_string(), "192.0.2.77");
  EXPECT_EQ(IpAddress::parse("2001:db8:1:2:3::4")->network(64).to_string(), "2001:db8:1:2::");
  EXPECT_EQ(IpAddress::parse("2001:db8:1:2ff::4")->network(57).to_string(), "2001:db8:1:280::");
  EXPECT_EQ(IpAddress::parse("2001:db8::4")->network(0).to_string(), "::");
}

TEST(IpAddress, KnowsLoopback) {
  EXPECT_TRUE(IpAddress::parse("127.3.2.1")->is_loopback());
  EXPECT_TRUE(IpAddress::parse("::1")->is_loopback());
  EXPECT_TRUE(IpAddress::parse("::ffff:127.0.0.1")->is_loopback());
  EXPECT_FALSE(IpAddress::parse("::")->is_loopback());
  EXPECT_FALSE(IpAddress::parse("128.0.0.1")->is_loopback());
}

bool contains(std::string_view prefix, std::string_view address) {
  return IpPrefix::parse(prefix)->contains(*IpAddress::parse(address));
}

TEST(IpPrefix, ContainsItsOwnFamilyOnly) {
  EXPECT_TRUE(contains("10.0.0.0/8", "10.255.1.2"));
  EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(contains("10.0.0.0/8", "::ffff:10.1.2.3"));
  EXPECT_TRUE(contains("0.0.0.0/0", "203.0.113.9"));
  EXPECT_FALSE(contains("0.0.0.0/0", "2001:db8::1"));
  EXPECT_FALSE(contains("::/0", "203.0.113.9"));
  EXPECT_TRUE(contains("2001:db8::/32", "2001:db8:ffff::1"));
  EXPECT_TRUE(contains("192.0.2.1", "192.0.2.1"));
  EXPECT_FALSE(contains("192.0.2.1", "192.0.2.2"));
}

TEST(IpPrefix, RefusesSlips) {
  for (const auto* text : {"10.1.2.3/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "::/129",
                           "10.0.0.0/-1", "ten/8", "fe80::%eth0/64", "/8", ""}) {
    EXPECT_FALSE(IpPrefix::parse(text)) << text;
  }
  EXPECT_EQ(IpPrefix::parse("10.0.0.0/8")->to_string(), "10.0.0.0/8");
}

}  // namespace
}  // namespace weir
