// Waker: wakes a connection when something else than bytes from its peer has come.
//
// Thread rule: one core. Implemented by net/connection.h.

#pragma once

#include "weir/time.h"

namespace weir {

class Waker {
 public:
  // The event loop calls the connection once at the end of its round, however often it was
  // woken: one call does the work of all.
  virtual void wake() noexcept = 0;
  // The event loop calls the connection again when others have had their turn: it has more to
  // do than one may do in a turn. By default no others are there.
  virtual void yield() noexcept { wake(); }

  // Asks that somebody look at the session's deadline when `when` has come, to the millisecond,
  // and not at the next look at all connections, which may be a second later. The earliest
  // of several counts. A waker without a loop need not.
  virtual void look_at(Instant) {}

 protected:
  ~Waker() = default;
};

}  // namespace weir
