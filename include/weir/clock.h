// Clock: the source of time of a program that links libweir.
//
// Only Limiter, Reservation and Slot read the clock, once a call. Everything below them takes `now`
// as an argument. Tests pass a clock of their own and move it by hand.
//
// Tested by src/net/clock_test.cc.

#pragma once

#include <memory>

#include "weir/time.h"

namespace weir {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const noexcept = 0;
};

// The machine's time, which never steps: SystemClock reads the wall clock once, at construction,
// and the monotonic clock carries it on. Setting the machine's date neither frees nor blocks a key.
// Thread rule: any thread; share one. Cost: about 5 ns where the processor's tick counter
// can be trusted, else one clock_gettime, about 20 ns. Construction reads a file.
class SystemClock final : public Clock {
 public:
  SystemClock();
  ~SystemClock() override;
  SystemClock(const SystemClock&) = delete;
  SystemClock& operator=(const SystemClock&) = delete;

  Instant now() const noexcept override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
