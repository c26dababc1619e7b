#include "net/sockets/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

std::string parsed(std::string_view text) {
  const auto address = Address::parse(text);
  if (const auto* error = std::get_if<StartError>(&address)) return error->message;
  return std::get<Address>(address).to_string();
}

bool is_local(std::string_view text) { return std::get<Address>(Address::parse(text)).is_local(); }

TEST(Address, ReadsWhatItWrites) {
  for (const auto* text : {"127.0.0.1:8080", "0.0.0.0:80", "[::1]:8080", "[::]:0",
                           "[2001:db8::1]:65535", "10.1.2.3:1", "unix:/run/weir.sock"}) {
    EXPECT_EQ(parsed(text), text);
  }
  EXPECT_EQ(parsed("localhost:8080"), "127.0.0.1:8080");
}

TEST(Address, RefusesEverythingElseAndShowsAnExample) {
  for (const auto* text : {"",
                           ":",
                           "8080",
                           ":8080",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "127.0.0.1:x",
                           "127.0.0.1:8080x",
                           "127.0.0.1:65536",
                           "127.0.0.1:080",
                           "127.0.0.1:-1",
                           "127.0.0.1: 80",
                           "::1:8080",
                           "[::1]",
                           "[]:1",
                           "[:1",
                           "[127.0.0.1]:1",
                           "example.com:80",
                           "256.0.0.1:80",
                           "http://127.0.0.1:80"}) {
    EXPECT_THAT(parsed(text), testing::HasSubstr("write HOST:PORT")) << text;
  }
}

TEST(Address, RefusesPathsThatAreNone) {
  for (const auto* text : {"unix:", "unix:/", "unix:run/weir.sock", "unix:/run/"}) {
    EXPECT_THAT(parsed(text), testing::HasSubstr("unix:/absolute/path")) << text;
  }
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
