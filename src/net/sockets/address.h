// Address: where a server listens, as an operator writes it.
//
//   127.0.0.1:8080   0.0.0.0:8080   [::1]:8080   localhost:8080   127.0.0.1:0
//   unix:/run/weir/http.sock
//
// Names other than localhost are refused: the resolver would choose the address of a name, and may
// choose another one tomorrow. Port 0 lets the system choose. [::] serves IPv4 as well. A path is
// absolute, so that it does not depend on the folder in which a server is started.
//
// Thread rule: values. Tested by address_test.cc.

#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fault.h"
#include "base/ip_address.h"
#include "weir/result.h"

namespace weir {

// nullopt for a Unix socket.
std::optional<IpAddress> ip_address_of(const sockaddr* place);

class Address {
 public:
  // HOST:PORT or unix:PATH as above.
  static Result<Address, Fault> parse(std::string_view text);

  // The address that `socket` is bound to. REQUIRES: it is a bound TCP or Unix socket.
  static Address of_socket(int socket);

  bool is_unix() const { return family() == AF_UNIX; }
  std::uint16_t port() const;  // REQUIRES: not is_unix()
  std::string path() const;    // REQUIRES: is_unix()
  // Only programs of this machine reach it.
  bool is_local() const;
  bool is_any() const;            // 0.0.0.0 or [::]: all addresses of this machine
  std::string to_string() const;  // as parse() reads it

  int family() const { return storage_.generic.sa_family; }
  const sockaddr* data() const { return &storage_.generic; }
  socklen_t size() const;

 private:
  Address() = default;

  union {
    sockaddr generic;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_un unix_path;
  } storage_{.unix_path = {}};
};

}  // namespace weir
