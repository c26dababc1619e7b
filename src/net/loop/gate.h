// Gate: shut at first, opened once, for good. A descriptor, so that one may wait for it
// and for other things at the same time.
//
// Thread rule: any thread. Tested by signals_test.cc.

#pragma once

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>

#include "base/unique_fd.h"

namespace weir {

class Gate {
 public:
  // Throws std::system_error if the process is out of descriptors.
  Gate() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!event_.is_open()) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  void open() { ::eventfd_write(event_.get(), 1); }

  // Readable when open; nobody reads from it, so it stays so.
  int fd() const { return event_.get(); }

  void wait() const {
    auto waiting = pollfd{.fd = fd(), .events = POLLIN, .revents = 0};
    while (::poll(&waiting, 1, -1) != 1) {
    }
  }

 private:
  UniqueFd event_;
};

}  // namespace weir
