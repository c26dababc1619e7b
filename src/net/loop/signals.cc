#include "net/loop/signals.h"

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

Signals::Awaited Signals::wait(const Gate& gate, int fd, Duration patience) const {
  auto waiting = std::array{pollfd{.fd = gate.fd(), .events = POLLIN, .revents = 0},
                            pollfd{.fd = signal_fd_.get(), .events = POLLIN, .revents = 0},
                            pollfd{.fd = fd, .events = POLLIN, .revents = 0}};
  const auto timeout_ms = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  for (;;) {
    const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(timeout_ms));
    if (ready < 0) continue;  // EINTR
    if (ready == 0) return {.event = Event::kTime};
    if (waiting[0].revents != 0) return {.event = Event::kGateOpen};
    auto info = signalfd_siginfo{};
    if (::read(signal_fd_.get(), &info, sizeof(info)) == sizeof(info)) {
      return {.event = Event::kSignal, .signal = static_cast<int>(info.ssi_signo)};
    }
    if (waiting[2].revents != 0) return {.event = Event::kReadable};
  }
}

}  // namespace weir
