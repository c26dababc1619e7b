#include "rules/host_port.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace weir {
namespace {

constexpr std::size_t kHostNameMax = 253;  // RFC 1035, section 2.3.4, as text
constexpr std::size_t kLabelMax = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return port;
}

// inet_pton wants a C string. What has a NUL inside is no address.
bool is_address(int family, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return false;
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(family, std::string(text).c_str(), bytes) == 1;
}

bool is_label(std::string_view text) {
  if (text.empty() || text.size() > kLabelMax || text.front() == '-' || text.back() == '-') {
    return false;
  }
  // '_' is not for host names, but container networks use it.
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '_';
  });
}

bool is_host_name(std::string_view text) {
  if (text.size() > kHostNameMax) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) break;
    text.remove_prefix(dot + 1);
  }
  // A last label of digits only is a mistyped IPv4 address (256.0.0.1) or a port.
  return !std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

std::optional<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return std::nullopt;

  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (!is_address(AF_INET6, host)) return std::nullopt;
  } else if (!is_address(AF_INET, host) && !is_host_name(host)) {
    return std::nullopt;
  }
  return HostPort{std::string(host), *port};
}

}  // namespace weir
