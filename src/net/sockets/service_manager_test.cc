#include "net/sockets/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/unique_fd.h"

namespace weir {
namespace {

// Waits at NOTIFY_SOCKET, under a name that is no file, and so needs no folder.
class Manager {
 public:
  Manager() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    const auto name = "@weir-service-manager-test-" + std::to_string(::getpid());
    auto address = sockaddr_un{.sun_family = AF_UNIX, .sun_path = {}};
    std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Manager() { ::unsetenv("NOTIFY_SOCKET"); }

  // The next datagram; empty if there is none.
  std::string heard() const {
    auto buffer = std::array<char, 64>();
    const auto size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    return size < 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(size));
  }

 private:
  UniqueFd socket_;
};

TEST(ServiceManager, HearsOfTheStartAndTheEnd) {
  const auto manager = Manager();
  notify_service_manager(ServiceState::kReady);
  EXPECT_EQ(manager.heard(), "READY=1");
  notify_service_manager(ServiceState::kStopping);
  EXPECT_EQ(manager.heard(), "STOPPING=1");
  EXPECT_EQ(manager.heard(), "");
}

TEST(ServiceManager, NeedNotBeThere) {
  ::unsetenv("NOTIFY_SOCKET");
  notify_service_manager(ServiceState::kReady);
  for (const auto& path :
       {std::string(), std::string("/no/such/folder/socket"), std::string(1000, 'x')}) {
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    notify_service_manager(ServiceState::kReady);
  }
  ::unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace weir
