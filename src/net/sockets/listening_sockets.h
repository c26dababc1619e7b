// ListeningSockets: the sockets that listen on one address, one for each core.
//
// TCP: every core has its own, with SO_REUSEPORT: the kernel spreads the connections over them and
// no core waits for another. With that option alone, a second weir on the port would go unnoticed.
// So before the first socket of an address, one without the option is opened, which then fails.
//
// Unix: the kernel has no such option, so all cores share one socket, and the quickest core
// accepts. Its file has mode 0660: the owner and the group may connect. A file that a dead server
// left behind is replaced; one that a server listens on is not.
//
// Thread rule: opened on one thread, then each socket belongs to its core.
// Tested by listening_sockets_test.cc, src/net/server_test.cc and src/net/unix_socket_test.cc.

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/fault.h"
#include "base/unique_fd.h"
#include "net/sockets/address.h"
#include "weir/result.h"

namespace weir {

// The file of a Unix socket. It is removed with this object.
class SocketFile {
 public:
  SocketFile() = default;  // none
  explicit SocketFile(std::string path) : path_(std::move(path)) {}
  SocketFile(SocketFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  SocketFile& operator=(SocketFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~SocketFile();

 private:
  std::string path_;
};

struct ListeningSockets {
  Address address;  // with port 0, the port that the system chose
  std::vector<UniqueFd> sockets;
  SocketFile file;
};

// REQUIRES: count > 0. The error names the address and what to do.
Result<ListeningSockets, Fault> listen_on(const Address& address, std::size_t count);

}  // namespace weir
