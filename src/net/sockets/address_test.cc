#include "net/sockets/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

std::string parsed(std::string_view text) {
  const auto address = Address::parse(text);
  if (!address) return address.error().message;
  return address->to_string();
}

bool is_local(std::string_view text) { return Address::parse(text)->is_local(); }

TEST(Address, ReadsWhatItWrites) {
  for (const auto* text : {"127.0.0.1:8080", "0.0.0.0:80", "[::1]:8080", "[::]:0",
                           "[2001:db8::1]:65535", "10.1.2.3:1", "unix:/run/weir.sock"}) {
    EXPECT_EQ(parsed(text), text);
  }
  EXPECT_EQ(parsed("localhost:8080"), "127.0.0.1:8080");
  EXPECT_EQ(parsed("[::ffff:192.0.2.1]:80"), "192.0.2.1:80");  // the address that it reaches
}

// base/listen_address_test.cc has all texts that are no address.
TEST(Address, RefusesEverythingElseAndShowsAnExample) {
  for (const auto* text : {"", "127.0.0.1:65536", "example.com:80", "unix:run/weir.sock"}) {
    EXPECT_THAT(parsed(text), testing::AllOf(testing::HasSubstr("write HOST:PORT"),
                                             testing::HasSubstr("unix:/absolute/path")));
  }
}

TEST(Address, TakesAPathThatTheKernelHasRoomFor) {
  EXPECT_EQ(parsed("unix:/" + std::string(106, 'x')), "unix:/" + std::string(106, 'x'));
  EXPECT_THAT(parsed("unix:/" + std::string(107, 'x')),
              testing::HasSubstr("108 bytes long; the system takes at most 107"));
}

TEST(Address, KnowsWhatOnlyThisMachineReaches) {
  EXPECT_TRUE(is_local("unix:/run/weir.sock"));
  EXPECT_TRUE(is_local("127.0.0.1:80"));
  EXPECT_TRUE(is_local("127.1.2.3:80"));
  EXPECT_TRUE(is_local("[::1]:80"));
  EXPECT_FALSE(is_local("0.0.0.0:80"));
  EXPECT_FALSE(is_local("[::]:80"));
  EXPECT_FALSE(is_local("128.0.0.1:80"));
}

}  // namespace
}  // namespace weir
