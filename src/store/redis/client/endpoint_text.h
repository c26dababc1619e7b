// What servers say of each other's addresses.
//
// Thread rule: pure. Tested by cluster_map_test.cc.

#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

inline std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || parsed != end || port == 0) return {};
  return port;
}

// "MOVED 3999 10.0.0.6:7001" or "ASK 3999 :7001"
struct Redirection {
  std::string_view host;  // empty: that of who says so
  std::uint16_t port = 0;
};

inline std::optional<Redirection> parse_redirection(std::string_view error) {
  const auto space = error.rfind(' ');
  const auto colon = error.rfind(':');  // IPv6 comes without brackets
  if (space == std::string_view::npos || colon == std::string_view::npos || colon < space) {
    return {};
  }
  const auto host = error.substr(space + 1, colon - space - 1);
  const auto port = parse_port(error.substr(colon + 1));
  if (!port || host == "?") return {};
  return Redirection{.host = host, .port = *port};
}

}  // namespace weir
