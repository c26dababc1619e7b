#include "net/sockets/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/unique_fd.h"

namespace weir {

void notify_service_manager(ServiceState state) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  const auto name = std::string_view(path);
  auto address = sockaddr_un{.sun_family = AF_UNIX, .sun_path = {}};
  if (name.empty() || name.size() > sizeof(address.sun_path)) return;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name.front() == '@') address.sun_path[0] = '\0';  // a name that is no file

  const auto socket = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto said = std::string_view(state == ServiceState::kReady ? "READY=1" : "STOPPING=1");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  ::sendto(socket.get(), said.data(), said.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace weir
