#include "base/listen_address.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ListenAddress, IsAnAddressAndAPort) {
  for (const std::string_view text :
       {"127.0.0.1:8080", "0.0.0.0:0", "255.255.255.255:65535", "localhost:8080", "[::1]:8080",
        "[::]:0", "[2001:db8::1]:443", "[::ffff:127.0.0.1]:80", "unix:/run/weir.sock",
        "unix:/a b"}) {
    EXPECT_TRUE(ListenAddress::parse(text).has_value()) << text;
  }
}

TEST(ListenAddress, IsNothingElse) {
  constexpr std::string_view kTexts[] = {
      "", ":", "8080", ":8080", "127.0.0.1", "127.0.0.1:",
      // Ports.
      "127.0.0.1:65536", "127.0.0.1:080", "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1: 1",
      "127.0.0.1:80 ", "127.0.0.1:http", "127.0.0.1:0x50", "127.0.0.1:80/",
      // Hosts.
      " 127.0.0.1:80", "256.0.0.1:80", "127.0.0:80", "127.1:80", "1:80", "*:80", "example.com:80",
      "LOCALHOST:80", "localhost.:80", "http://127.0.0.1:80",
      // Brackets.
      "::1:8080", "[::1]", "[::1]:", "[]:80", "[:80", "]:80", "[127.0.0.1]:80", "[::1:80",
      "[fe80::1%eth0]:80",
      // Paths.
      "unix:", "unix:/", "unix:run/weir.sock", "unix:/run/", "unix://", "/run/weir.sock",
      "UNIX:/run/weir.sock"};
  for (const std::string_view text : kTexts)
    EXPECT_FALSE(ListenAddress::parse(text).has_value()) << text;
  EXPECT_FALSE(ListenAddress::parse(std::string_view("127.0.0.1\0:80", 13)).has_value());
  EXPECT_FALSE(ListenAddress::parse(std::string_view("127.0.0.1:80\0", 13)).has_value());
  EXPECT_FALSE(ListenAddress::parse(std::string_view("unix:/a\0b", 9)).has_value());
}

}  // namespace
}  // namespace weir
