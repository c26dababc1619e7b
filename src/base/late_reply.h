// LateReply: a reply whose answer is not there yet, and all that is needed to write it.
//
//   request handled ──> parked in its place ──due()──> woken ──write()──> reply
//
// The connection keeps the reply in its place among the others. When the answer comes, due() wakes
// the connection, which calls write() when it is the reply's turn. If the reply is destroyed
// before, it gives up its request: nobody wants the reply any more.
//
// `Out` is where the replies of a protocol go.
//
// Thread rule: one core. Tested by src/server/http/http_wait_test.cc,
// src/server/resp/resp_wait_test.cc and src/server/grpc/grpc_wait_test.cc.

#pragma once

#include "weir/time.h"

namespace weir {

// Waker: wakes a connection for a reason other than bytes from its peer.
//
// Thread rule: one core. Implemented by net/connection.h.
class Waker {
 public:
  // The event loop calls the connection once at the end of its round, however often it was woken.
  virtual void wake() noexcept = 0;
  // The event loop calls the connection again after the others' turns, because it has more to do
  // than one turn allows. By default there are no others.
  virtual void yield() noexcept { wake(); }

  // Asks the loop to check the session's deadline at `when`, to the millisecond. Without it the
  // loop checks all connections about once a second. Of several calls the earliest counts. A waker
  // without a loop need not do it.
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

  // Sets the waker that is woken when the answer has come. The waker outlives this.
  void attach(Waker& waker) { waker_ = &waker; }
  bool is_due() const { return is_due_; }

  // When the reply is due without an answer: the connection then calls time_has_come().
  virtual Instant due_at() const { return Instant::max(); }
  void time_has_come() noexcept { is_due_ = true; }

  // Writes the reply. False: it needs a further answer, and due() says when that is there.
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
