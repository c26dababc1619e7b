// Waker: how somebody who waits makes itself heard when nothing has come from outside.
//
// Thread rule: one core. Implemented by net/connection.h.

#pragma once

namespace weir {

class Waker {
 public:
  // Asks to be called at the end of the event loop's round, once, however often this was
  // asked: what many have asked for in one round is done together.
  virtual void wake() noexcept = 0;
  // Asks to be called again when others have had their turn: there is more to do at once than
  // one may do in a turn. By default no others are there.
  virtual void yield() noexcept { wake(); }

 protected:
  ~Waker() = default;
};

}  // namespace weir
