// is_host: whether a text may name a host, and a port behind it: the rule of every version of HTTP,
// and of what proxies say of the requests that they hold.
//
// Thread rule: pure. Tested by http1_head_test.cc and src/proto/http2/http2_session_test.cc.

#pragma once

#include <string_view>

namespace weir {

// RFC 9110, 7.2. Names outside ASCII, as some clients send them, pass; empty is right where there
// is no host. A comma is where a proxy has joined two hosts.
inline bool is_host(std::string_view text) {
  constexpr std::string_view kNever = " \t\"#,/<>?@\\^`{|}";
  return text.find_first_of(kNever) == std::string_view::npos;
}

}  // namespace weir
