#include "net/signals.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace weir {

Signals::Signals(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal_fd_ = UniqueFd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signal_fd_.is_open()) throw std::system_error(errno, std::generic_category(), "signalfd");
}

int Signals::wait(const Gate& gate) const {
  auto waiting = std::array{pollfd{.fd = gate.fd(), .events = POLLIN, .revents = 0},
                            pollfd{.fd = signal_fd_.get(), .events = POLLIN, .revents = 0}};
  for (;;) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;  // EINTR
    if (waiting[0].revents != 0) return 0;
    auto info = signalfd_siginfo{};
    if (::read(signal_fd_.get(), &info, sizeof(info)) == sizeof(info)) {
      return static_cast<int>(info.ssi_signo);
    }
  }
}

}  // namespace weir
