// is_host: whether a text may name a host, perhaps with a port. All versions of HTTP use this rule,
// and so does what proxies say about requests that they hold. take_host: the host of a whole URL.
//
// Thread rule: pure. Tested by http1_head_test.cc and src/proto/http2/http2_session_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/byte_search.h"

namespace weir {

inline constexpr auto kIsNeverOfHost = [] {
  std::array<bool, 256> is{};
  for (const char c : std::string_view(" \t\"#,/<>?@\\^`{|}"))
    is[static_cast<unsigned char>(c)] = true;
  return is;
}();

// RFC 9110, 7.2. Names outside ASCII, as some clients send them, pass. An empty text is right if
// there is no host. A comma shows that a proxy has joined two hosts.
inline bool is_host(std::string_view text) {
  // Nearly all characters are letters, digits and the marks between them.
  const bool is_odd = has_byte(text, [](ByteGroup bytes) {
    const ByteGroup letters = (bytes | 0x20) - 'a';
    return (letters >= 26) & (bytes - '0' >= 11) & (bytes != '.') & (bytes != '-');
  });
  return !is_odd || std::ranges::none_of(
                        text, [](char c) { return kIsNeverOfHost[static_cast<unsigned char>(c)]; });
}

// A client may send a whole URL as the target; its host then counts (RFC 9112, 3.2.2). Cuts it down
// to path and query, and returns the host. Nothing if the target is no URL.
inline std::optional<std::string_view> take_host(std::string_view& target) {
  const std::string_view rest =
      target.substr(std::min(target.find_first_of(":/?#"), target.size()));
  if (!rest.starts_with("://")) return std::nullopt;
  target = rest.substr(3);
  const std::string_view host = target.substr(0, target.find_first_of("/?#"));
  target.remove_prefix(host.size());
  return host;
}

}  // namespace weir
