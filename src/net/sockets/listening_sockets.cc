#include "net/sockets/listening_sockets.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "net/sockets/socket_options.h"

namespace weir {
namespace {

// Connections that the kernel completes before we accept. It cuts this to net.core.somaxconn.
constexpr int kBacklog = 4'096;

constexpr mode_t kSocketFileMode = 0660;

Fault listen_error(const Address& address, int error) {
  const auto where = address.to_string();
  const bool is_any_port = !address.is_unix() && address.port() == 0;
  switch (error) {
    case EADDRINUSE:
      if (is_any_port) {
        return {where +
                ": the system has no port left to choose from; free some, widen "
                "net.ipv4.ip_local_port_range, or name a port"};
      }
      return {where + " is in use; stop the program that listens there or choose another " +
              (address.is_unix() ? "path" : "port")};
    case EADDRNOTAVAIL: return {where + " is not an address of this machine"};
    case EACCES:
      return {where + (address.is_unix() ? ": the folder does not let this user make a file in it"
                                         : " needs privileges; choose a port from 1024 up")};
    case ENOENT: return {where + ": there is no such folder"};
    default: return {"cannot listen on " + where + ": " + std::strerror(error)};
  }
}

UniqueFd make_socket(const Address& address) {
  constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  auto socket = UniqueFd(::socket(address.family(), kType, 0));
  // Allows a restart while connections of the last run are in TIME_WAIT.
  if (socket.is_open()) switch_on(socket.get(), SOL_SOCKET, SO_REUSEADDR);
  return socket;
}

bool bind_to(const UniqueFd& socket, const Address& address) {
  return socket.is_open() && ::bind(socket.get(), address.data(), address.size()) == 0;
}

Result<UniqueFd, Fault> listen_tcp(const Address& address) {
  auto socket = make_socket(address);
  if (socket.is_open()) {
    switch_on(socket.get(), SOL_SOCKET, SO_REUSEPORT);
    switch_on(socket.get(), IPPROTO_TCP, TCP_NODELAY);  // accepted sockets inherit it,
    bound_send_buffer(socket.get());                    // and this, too
  }
  if (!bind_to(socket, address) || ::listen(socket.get(), kBacklog) != 0) {
    return listen_error(address, errno);
  }
  return socket;
}

Result<ListeningSockets, Fault> listen_on_port(const Address& address, std::size_t count) {
  if (address.port() != 0) {
    const auto probe = make_socket(address);
    if (!bind_to(probe, address)) return listen_error(address, errno);
  }
  auto listening = ListeningSockets{.address = address, .sockets = {}, .file = {}};
  for (std::size_t i = 0; i < count; ++i) {
    auto opened = listen_tcp(listening.address);
    if (!opened) return std::move(opened.error());
    auto& socket = listening.sockets.emplace_back(std::move(*opened));
    listening.address = Address::of_socket(socket.get());  // which the other sockets share
  }
  return listening;
}

// Makes room for a socket file at the path of `address`.
std::optional<Fault> remove_stale_file(const Address& address) {
  struct stat file {};
  if (::lstat(address.path().c_str(), &file) != 0) return std::nullopt;
  if (!S_ISSOCK(file.st_mode)) {
    return Fault{address.to_string() + ": there is a file of another kind; move it away"};
  }
  const auto probe = make_socket(address);
  const bool is_dead = probe.is_open() &&
                       ::connect(probe.get(), address.data(), address.size()) != 0 &&
                       errno == ECONNREFUSED;
  if (!is_dead) return listen_error(address, EADDRINUSE);
  ::unlink(address.path().c_str());
  return std::nullopt;
}

Result<ListeningSockets, Fault> listen_on_path(const Address& address, std::size_t count) {
  if (auto error = remove_stale_file(address)) return std::move(*error);
  auto first = make_socket(address);
  // The file has this mode from the start: never one that lets others in. The process's mask may
  // take the group away, which the second step gives back.
  if (first.is_open()) ::fchmod(first.get(), kSocketFileMode);
  if (!bind_to(first, address)) return listen_error(address, errno);
  auto listening =
      ListeningSockets{.address = address, .sockets = {}, .file = SocketFile(address.path())};
  if (::chmod(address.path().c_str(), kSocketFileMode) != 0 ||
      ::listen(first.get(), kBacklog) != 0) {
    return listen_error(address, errno);
  }
  for (std::size_t i = 1; i < count; ++i) {
    auto again = UniqueFd(::fcntl(first.get(), F_DUPFD_CLOEXEC, 0));
    if (!again.is_open()) return listen_error(address, errno);
    listening.sockets.push_back(std::move(again));
  }
  listening.sockets.push_back(std::move(first));
  return listening;
}

}  // namespace

SocketFile::~SocketFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<ListeningSockets, Fault> listen_on(const Address& address, std::size_t count) {
  return address.is_unix() ? listen_on_path(address, count) : listen_on_port(address, count);
}

}  // namespace weir
