// Target: the address a load run is aimed at.
//
// Loopback only, unless the user says otherwise: a load generator pointed at a host by mistake
// attacks it. The address counts, not the name that led to it.
//
// Thread rule: values. Tested by target_test.cc.

#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weir::load {

// Why a run cannot begin: one sentence for its user.
class LoadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Target {
  sockaddr_storage address{};
  socklen_t address_size = 0;
  std::string authority;  // host:port as written, for the Host header

  const sockaddr* socket_address() const {
    return reinterpret_cast<const sockaddr*>(&address);  // the type that socket calls take
  }
};

enum class Reach : std::uint8_t { kLoopbackOnly, kAnywhere };

// `url` is http://HOST:PORT, redis://HOST:PORT or HOST:PORT, IPv6 addresses in brackets;
// the port is 80 if there is none. Looks names up. Throws LoadError.
Target resolve_target(std::string_view url, Reach reach);

}  // namespace weir::load
