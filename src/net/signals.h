// Signals: the signals a program handles, as things to wait for in one thread.
//
// No code runs in a signal handler, so none needs to be safe there.
//
// Thread rule: make it before any thread starts; wait in one thread.
// Tested by signals_test.cc.

#pragma once

#include <initializer_list>

#include "net/gate.h"
#include "net/unique_fd.h"

namespace weir {

class Signals {
 public:
  // Blocks the signals in this thread, and in those it starts from now on.
  // Throws std::system_error if the process is out of descriptors.
  explicit Signals(std::initializer_list<int> signals);

  // Waits for one of the signals and returns it, or 0 as soon as the gate is open.
  int wait(const Gate& gate) const;

 private:
  UniqueFd signal_fd_;
};

}  // namespace weir
