// Waker: how somebody who waits makes itself heard when nothing has come from outside.
//
// Thread rule: one core. Implemented by net/connection.h.

#pragma once

#include "weir/time.h"

namespace weir {

class Waker {
 public:
  // Asks to be called at the end of the event loop's round, once, however often this was
  // asked: what many have asked for in one round is done together.
  virtual void wake() noexcept = 0;

  // Asks that somebody look at the session's deadline when `when` has come, to the millisecond,
  // and not at the next look at all connections, which may be a second later. Of several the
  // earliest counts. A waker without a loop need not.
  virtual void look_at(Instant) {}

 protected:
  ~Waker() = default;
};

}  // namespace weir
