#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weir/key.h"

namespace weir {

// getrandom() and not a file: it needs no descriptor, works in an empty chroot, and
// early after boot waits until the kernel has gathered enough.
HashSecret HashSecret::random() {
  auto secret = HashSecret();
  std::size_t filled = 0;
  while (filled < secret.bytes.size()) {
    const auto got = ::getrandom(secret.bytes.data() + filled, secret.bytes.size() - filled, 0);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      // Going on with predictable hashes would let a client aim at another's counter.
      std::fprintf(stderr, "weir: the system has no random source: %s\n", std::strerror(errno));
      std::abort();
    }
  }
  return secret;
}

}  // namespace weir
