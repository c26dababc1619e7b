#include "config/listen_address.h"

// check:allow(outside): inet_pton only reads a text.
#include <arpa/inet.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/decimal.h"

namespace weir {
namespace {

constexpr std::string_view kUnixScheme = "unix:";

// inet_pton wants a C string, which a NUL would end too early.
bool is_address(int family, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return false;
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(family, std::string(text).c_str(), bytes) == 1;
}

bool is_socket_path(std::string_view path) {
  return path.starts_with('/') && !path.ends_with('/') && path.size() <= kUnixPathMax &&
         path.find('\0') == std::string_view::npos;
}

}  // namespace

bool is_listen_address(std::string_view text) {
  if (text.starts_with(kUnixScheme)) return is_socket_path(text.substr(kUnixScheme.size()));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !read_port(text.substr(colon + 1))) return false;

  const std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    return is_address(AF_INET6, host.substr(1, host.size() - 2));
  }
  return host == "localhost" || is_address(AF_INET, host);
}

}  // namespace weir
