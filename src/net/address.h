// Address: where a server listens, as an operator writes it.
//
//   127.0.0.1:8080   0.0.0.0:8080   [::1]:8080   localhost:8080   127.0.0.1:0
//
// Names other than localhost are refused: which address of a name would be listened
// on is the resolver's choice, and may be another one tomorrow. Port 0 lets the
// system choose. [::] serves IPv4 as well.
//
// Thread rule: values. Tested by address_test.cc.

#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace weir {

// What was wrong with a start, in a sentence for the operator.
struct StartError {
  std::string message;
};

class Address {
 public:
  // HOST:PORT as above.
  static std::variant<Address, StartError> parse(std::string_view text);

  // The address that `socket` is bound to. REQUIRES: it is a bound TCP socket.
  static Address of_socket(int socket);

  std::uint16_t port() const;
  bool is_loopback() const;
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
  } storage_{.v6 = {}};
};

}  // namespace weir
