#include "load/target.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>

#include "base/decimal.h"

namespace weir::load {
namespace {

struct HostPort {
  std::string host;
  std::string port;
};

HostPort split(std::string_view authority) {
  HostPort result{.host = {}, .port = "80"};
  std::string_view rest;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) throw LoadError("no ']' after the address");
    result.host = authority.substr(1, close - 1);
    rest = authority.substr(close + 1);
  } else {
    const std::size_t colon = authority.find(':');
    result.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) rest = authority.substr(colon);
  }
  if (rest.starts_with(':')) {
    result.port = rest.substr(1);
  } else if (!rest.empty()) {
    throw LoadError("only ':PORT' may follow the address");
  }
  // To getaddrinfo an empty host means this machine, and port 65616 is port 80.
  if (result.host.empty() || read_decimal<std::uint16_t>(result.port).value_or(0) == 0) {
    throw LoadError("'" + std::string(authority) + "' is not HOST:PORT");
  }
  return result;
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
  }
  return false;
}

void look_up(const HostPort& name, Target& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.host.c_str(), name.port.c_str(), &hints, &found);
  if (error != 0) throw LoadError("cannot resolve " + name.host + ": " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::memcpy(&target.address, found->ai_addr, found->ai_addrlen);
  target.address_size = found->ai_addrlen;
}

}  // namespace

Target resolve_target(std::string_view url, Reach reach) {
  std::string_view authority = url;
  for (const std::string_view scheme : {"http://", "redis://"}) {
    if (authority.starts_with(scheme)) authority.remove_prefix(scheme.size());
  }
  if (authority.ends_with('/')) authority.remove_suffix(1);
  if (authority.find('/') != std::string_view::npos) {
    throw LoadError("'" + std::string(url) +
                    "' is not http://HOST:PORT; give a path by its option");
  }
  Target target;
  target.authority = authority;
  look_up(split(authority), target);
  if (reach == Reach::kLoopbackOnly && !is_loopback(target.address)) {
    throw LoadError(target.authority + " is not this machine; --allow-remote, if you own it");
  }
  return target;
}

}  // namespace weir::load
