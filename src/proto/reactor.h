// Reactor: what code without sockets and clocks asks of the event loop it lives on. So a client of
// some protocol is tested as a server's sessions are, by handing it bytes and times.
//
// Thread rule: the core of the loop. Implemented by net/loop/event_loop.h.

#pragma once

#include <functional>
#include <memory>

#include "weir/time.h"

namespace weir {

// Somebody to be called at a time. Destroyed, it never rings.
class Alarm {
 public:
  virtual ~Alarm() = default;

  // To ring once, soon after `when`, in place of what was set before. Instant::max(): never.
  virtual void set(Instant when) = 0;
};

class Reactor {
 public:
  // `ring` may set the alarm again, and may destroy it. Must not outlive the reactor.
  virtual std::unique_ptr<Alarm> make_alarm(std::function<void(Instant now)> ring) = 0;

 protected:
  ~Reactor() = default;
};

}  // namespace weir
