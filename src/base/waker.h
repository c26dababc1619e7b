// Waker: wakes a connection when something else than bytes from its peer has come.
//
// Thread rule: one core. Implemented by net/connection.h.

#pragma once

namespace weir {

class Waker {
 public:
  // The event loop calls the connection once at the end of its round, however often it was
  // woken: one call does the work of all.
  virtual void wake() noexcept = 0;
  // The event loop calls the connection again when others have had their turn: it has more to
  // do than one may do in a turn. By default no others are there.
  virtual void yield() noexcept { wake(); }

 protected:
  ~Waker() = default;
};

}  // namespace weir
