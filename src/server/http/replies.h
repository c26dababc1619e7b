// Replies: the HTTP/1.1 responses of one connection that wait to be written.
//
// Every response says in X-Process-Time how long it took. The time is known only when the response
// is about to be written, so stamp() fills in a field of fixed width.
//
// Thread rule: one connection, so one core. Tested by http_session_test.cc.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "proto/output_buffer.h"
#include "server/http/reply.h"
#include "weir/time.h"

namespace weir {

class Replies final : public ReplySink {
 public:
  void add(const Reply& reply, const ReplyTerms& terms) override;

  // Replies of the same connection that had to wait for others.
  void append(const Replies& waiting);

  // Replies from now on have waited so long for an answer, and may be the last.
  struct Turn {
    Duration waited{0};
    bool closes = false;
  };
  void begin_turn(const Turn& turn) { turn_ = turn; }
  bool closes() const override { return turn_.closes; }

  // "100 Continue": go on and send the body.
  void add_continue();

  // Fills in X-Process-Time of the replies added since the last call: the time that each
  // has waited, and `elapsed`.
  void stamp(Duration elapsed);

  std::string_view view() const { return out_.view(); }
  std::size_t size() const { return out_.size(); }
  bool empty() const { return out_.empty(); }

  // `size` bytes have been written; fields without a stamp stay "0.000000".
  void consume(std::size_t size);

  // Frees the memory, if nothing waits.
  void release();
  std::size_t capacity() const { return out_.capacity(); }

 private:
  struct Unstamped {
    std::size_t position;  // in out_
    Duration waited;
  };

  OutputBuffer out_;
  std::vector<Unstamped> unstamped_;
  Turn turn_;
};

}  // namespace weir
