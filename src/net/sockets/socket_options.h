// Options of sockets. Failure is harmless in each use and so not reported.
//
// Thread rule: none. Tested by src/net/server_test.cc.

#pragma once

#include <sys/socket.h>

namespace weir {

inline void switch_on(int socket, int level, int option) {
  const int on = 1;
  ::setsockopt(socket, level, option, &on, sizeof(on));
}

// Bounds the kernel's buffer of output that the peer has not taken. Without a bound it takes
// megabytes for each connection, and as much copying.
inline void bound_send_buffer(int socket) {
  const int bytes = 128 << 10;  // the kernel doubles it, for its own records
  ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

// Closing will throw away unsent output, and tell the peer by a reset.
inline void reset_on_close(int socket) {
  const auto abort = linger{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
}

}  // namespace weir
