// Clock: where a program that links libweir gets its time from.
//
// Only the outermost face reads a clock: Limiter reads the one it holds, once a
// call, and everything below takes `now` as an argument. Tests pass a clock of
// their own and move it by hand.
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

// The machine's time, which never steps: the wall clock is read once, at
// construction, and carried on by the monotonic clock. Setting the date of the
// machine neither frees nor blocks a key.
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
