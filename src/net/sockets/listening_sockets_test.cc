#include "net/sockets/listening_sockets.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <fstream>
#include <thread>

#include "net/net_testing.h"

namespace weir {
namespace {

constexpr auto kPorts = "/proc/sys/net/ipv4/ip_local_port_range";

// A network of the calling thread's own, whose system gives out one port. False if the kernel
// allows no such network.
bool enter_network_of_one_port() {
  if (::unshare(CLONE_NEWNET) != 0) return false;
  std::ofstream ports(kPorts);
  ports << "40000 40000" << std::flush;
  return ports.good();
}

// Once the message said that port 0 was in use, and that another program should be stopped.
TEST(ListeningSockets, SayThatTheSystemHasNoPortLeft) {
  bool has_network = false;
  std::thread([&] {
    has_network = enter_network_of_one_port();
    if (!has_network) return;
    const auto anywhere = address_of("0.0.0.0:0");
    const auto last = listen_on(anywhere, 1);
    ASSERT_TRUE(last.has_value());
    EXPECT_EQ(last->address.port(), 40000);
    const auto none = listen_on(anywhere, 1);
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error().message,
              "0.0.0.0:0: the system has no port left to choose from; free some, widen "
              "net.ipv4.ip_local_port_range, or name a port");
  }).join();
  if (!has_network) GTEST_SKIP() << "no network of one's own here";
}

}  // namespace
}  // namespace weir
