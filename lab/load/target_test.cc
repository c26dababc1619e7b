#include "load/target.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>
#include <string>

namespace weir::load {
namespace {

int port_of(const Target& target) {
  sockaddr_in address{};
  std::memcpy(&address, &target.address, sizeof address);
  return ntohs(address.sin_port);  // at the same place in IPv6
}

// No test looks up a name on a network: only addresses and "localhost".
TEST(Target, ReadsAddresses) {
  const Target target = resolve_target("http://127.0.0.1:8080", Reach::kLoopbackOnly);
  EXPECT_EQ(target.authority, "127.0.0.1:8080");
  EXPECT_EQ(target.address.ss_family, AF_INET);
  EXPECT_EQ(port_of(target), 8080);

  EXPECT_EQ(port_of(resolve_target("127.9.9.9:1", Reach::kLoopbackOnly)), 1);
  EXPECT_EQ(port_of(resolve_target("http://127.0.0.1/", Reach::kLoopbackOnly)), 80);
  EXPECT_EQ(port_of(resolve_target("localhost:7", Reach::kLoopbackOnly)), 7);

  const Target v6 = resolve_target("http://[::1]:9", Reach::kLoopbackOnly);
  EXPECT_EQ(v6.authority, "[::1]:9");
  EXPECT_EQ(v6.address.ss_family, AF_INET6);
  EXPECT_EQ(port_of(v6), 9);
}

TEST(Target, RefusesOtherMachines) {
  for (const std::string url : {"http://192.0.2.1:80", "http://0.0.0.0:80", "[2001:db8::1]:80"}) {
    EXPECT_THROW(resolve_target(url, Reach::kLoopbackOnly), LoadError) << url;
    EXPECT_NO_THROW(resolve_target(url, Reach::kAnywhere)) << url;
  }
}

TEST(Target, RefusesWhatItCannotRead) {
  for (const std::string url :
       {"", "http://", ":80", "127.0.0.1:", "127.0.0.1:http:80", "http://127.0.0.1:80/check",
        "[::1", "[::1]80", "127.0.0.1:x", "127.0.0.1:0", "127.0.0.1:65616"}) {
    EXPECT_THROW(resolve_target(url, Reach::kAnywhere), LoadError) << url;
  }
}

}  // namespace
}  // namespace weir::load
