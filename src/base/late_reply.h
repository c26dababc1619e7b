// LateReply: a reply whose answer is not there yet, and whatever is needed to write it.
//
//   request handled ──> parked in its place ──due()──> woken ──write()──> reply
//
// The connection keeps it in the place that the reply has among the others. When the answer
// comes, due() wakes the connection, which calls write() when the reply's turn has come.
// Destroyed before that, it gives up its request: nobody wants the reply any more.
//
// `Out` is where the replies of a protocol go.
//
// Thread rule: one core. Tested by src/server/http/http_wait_test.cc,
// src/server/resp/resp_wait_test.cc and src/server/grpc/grpc_wait_test.cc.

#pragma once

#include "weir/time.h"

namespace weir {

// Waker: wakes a connection when something else than bytes from its peer has come.
//
// Thread rule: one core. Implemented by net/connection.h.
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

template <typename Out>
class LateReply {
 public:
  LateReply() = default;
  virtual ~LateReply() = default;
  LateReply(const LateReply&) = delete;
  LateReply& operator=(const LateReply&) = delete;

  // Whom to wake when the answer has come. The waker outlives this.
  void attach(Waker& waker) { waker_ = &waker; }
  bool is_due() const { return is_due_; }

  // When it is due by itself: the connection says then that the time has come.
  virtual Instant due_at() const { return Instant::max(); }
  void time_has_come() noexcept { is_due_ = true; }

  // Writes the reply. False: a further answer is needed, and due() will say when it is there.
  // REQUIRES: is_due()
  bool write(Out& out, Instant now) {
    is_due_ = false;
    return try_write(out, now);
  }

 protected:
  virtual bool try_write(Out& out, Instant now) = 0;

  void due() noexcept {
    is_due_ = true;
    if (waker_ != nullptr) waker_->wake();
  }

 private:
  Waker* waker_ = nullptr;
  bool is_due_ = false;
};

}  // namespace weir
