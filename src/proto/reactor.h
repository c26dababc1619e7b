// Reactor: what code without sockets and clocks needs from its event loop. So a client of some
// protocol is tested like a server's session, by giving it bytes and times.
//
// Thread rule: the core of the loop. Implemented by net/loop/event_loop.h.

#pragma once

#include <functional>
#include <memory>

#include "weir/time.h"

namespace weir {

// Calls a function when its time comes. After it is destroyed, it never rings.
class Alarm {
 public:
  virtual ~Alarm() = default;

  // Rings once, soon after `when`, instead of at the time set before. Instant::max(): never.
  virtual void set(Instant when) = 0;
};

class Reactor {
 public:
  // `ring` may set the alarm again, and may destroy it. The alarm must not outlive the reactor.
  virtual std::unique_ptr<Alarm> make_alarm(std::function<void(Instant now)> ring) = 0;

 protected:
  ~Reactor() = default;
};

}  // namespace weir
