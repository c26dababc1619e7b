// Signals: the signals that a program handles, waited for in one thread.
//
// No code runs in a signal handler, so none needs to be safe there.
//
// Thread rule: make it before any thread starts; wait in one thread.
// Tested by signals_test.cc.

#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/unique_fd.h"
#include "net/loop/gate.h"
#include "weir/time.h"

namespace weir {

class Signals {
 public:
  // Blocks the signals in this thread, and in those it starts from now on.
  // Throws std::system_error if the process is out of descriptors.
  explicit Signals(std::initializer_list<int> signals);

  // Why a wait ended.
  enum class Event : std::uint8_t { kGateOpen, kSignal, kReadable, kTime };
  struct Awaited {
    Event event;
    int signal = 0;  // of kSignal
  };

  // Waits for one of the signals, for the gate, or for `fd` to become readable (-1: none), and no
  // longer than `patience`.
  Awaited wait(const Gate& gate, int fd, Duration patience) const;

 private:
  UniqueFd signal_fd_;
};

}  // namespace weir
