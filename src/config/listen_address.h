// The text of an address to listen on: HOST:PORT, or the path of a Unix socket.
//
//   127.0.0.1:8080    [::1]:8080    localhost:8080    0.0.0.0:0 (any free port)
//   unix:/run/weir/http.sock
//
// The listener reads the same text into a socket address; this layer only sees to it
// that a mistake is found with the file's others. Names other than localhost are refused:
// which of a name's addresses would be listened on is the resolver's choice.
//
// Thread rule: pure. Tested by listen_address_test.cc.

#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

// What the kernel has room for, less one for the end of the text.
inline constexpr std::size_t kUnixPathMax = 107;

// An IPv4 address, a bracketed IPv6 address or "localhost"; a colon; and a port of 0 to
// 65535 without leading zeros. Or "unix:" and an absolute path of at most kUnixPathMax.
bool is_listen_address(std::string_view text);

}  // namespace weir
