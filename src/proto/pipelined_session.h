// PipelinedSession: what sessions have in common whose requests are answered in the order
// they came, many to one read (HTTP/1.1, the Redis protocol).
//
// Every complete request among what has arrived is handled at once, and all answers to one
// read leave in one piece. Bounds: replies of `output_max` bytes waiting, beyond which
// nothing more is read or handled until the peer takes some; how long a peer may be idle,
// take to send a request, or take nothing of what waits for it. After `warm_max` without a
// request the buffers are given back: an idle connection is the session's object and no more.
//
// An answer may have to be waited for. Then what was handled since everything was last
// answered is undone, input and output, and handled again when the session is woken:
// settle() says when that was, begin_turn() and end_turn() frame it.
//
// `Output` is OutputBuffer or something with the same functions.
//
// Thread rule: the core that accepted the connection. Tested by
// src/server/http/http_session_test.cc, src/server/http/http_wait_test.cc,
// src/server/resp/resp_session_test.cc and src/server/resp/resp_wait_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "proto/input_buffer.h"
#include "proto/session.h"

namespace weir {

struct PipelineLimits {
  std::size_t output_max;
  Duration idle_max;     // between requests
  Duration request_max;  // for a request to arrive
  Duration stalled_max;  // for the peer to take something
  Duration warm_max;
};

template <typename Output>
class PipelinedSession : public Session {
 public:
  PipelinedSession(const PipelineLimits& limits, Instant now)
      : limits_(limits), idle_since_(now), taken_since_(now) {}

  void attach(Waker& waker) final { waker_ = &waker; }
  void woken(Instant now) final {
    if (!waits_) return;
    waits_ = false;
    handle_requests(now);
  }

  std::span<char> input_space() final {
    if (finished_ || peer_closed_ || held_back_ || waits_) return {};
    return in_.space();
  }

  void received(std::size_t size, Instant now) final {
    if (finished_) return;
    in_.received(size);
    handle_requests(now);
  }

  void peer_closed(Instant now) final {
    peer_closed_ = true;
    if (!finished_ && !waits_) handle_requests(now);
  }

  std::string_view output() const final { return out_.view(); }

  void sent(std::size_t size, Instant now) final {
    out_.consume(size);
    taken_since_ = now;
    if (held_back_ && !finished_ && !waits_) handle_requests(now);
  }

  Instant deadline() const final {
    if (!out_.empty()) return taken_since_ + limits_.stalled_max;
    if (waits_) return Instant::max();  // whoever is waited for has a deadline
    if (request_since_) return *request_since_ + limits_.request_max;
    return idle_since_ + (is_warm() ? limits_.warm_max : limits_.idle_max);
  }

  void expired(Instant now) final {
    if (now < deadline()) return;
    if (out_.empty() && request_since_ && !finished_) {
      taken_since_ = now;
      refuse_slow(now);
      finished_ = true;
      return;
    }
    if (out_.empty() && now < idle_since_ + limits_.idle_max && !finished_) {
      in_.release();
      out_.release();
      return;
    }
    out_.consume(out_.size());
    finished_ = true;
  }

  void drain() final {
    draining_ = true;
    if (in_.empty()) finished_ = true;
  }

  bool finished() const final { return finished_; }

 protected:
  enum class Step : std::uint8_t {
    kNeedMore,  // no request is complete
    kGoOn,      // one was handled, or something skipped: there may be more
    kLast,      // nothing behind it is handled; the connection closes
  };

  // Handles what is at the front of in_, and consumes it with take().
  virtual Step handle_one(Instant now) = 0;
  // Answers a request that did not arrive in time.
  virtual void refuse_slow(Instant now) = 0;
  // Requests are about to be handled: from the beginning, or again.
  virtual void begin_turn(Instant now) = 0;
  // Whether all that was handled is answered for good, and nothing queued: then it is
  // forgotten what had to be asked for it.
  virtual bool settle() = 0;
  // Answers what is queued. True if that has to be waited for: waker() will be woken.
  virtual bool end_turn(Instant now) = 0;

  InputBuffer& in() { return in_; }
  Output& out() { return out_; }
  Waker& waker() { return *waker_; }
  bool is_last_and_draining(std::size_t size) const {
    return draining_ && in_.text().size() == size;
  }
  // A request has been handled: its bytes go, and the peer is not idle. They stay in
  // place until input_space() is asked for.
  void take(std::size_t size, Instant now) {
    skip(size);
    request_since_.reset();
    idle_since_ = now;
  }
  // For a request that must not be undone together with those before it.
  void mark_if_settled() {
    if (settle()) mark();
  }
  // Bytes between requests: neither a request nor a sign of life.
  void skip(std::size_t size) {
    in_.consume(size);
    taken_ += size;
  }

 private:
  bool is_warm() const { return in_.holds_memory() || out_.holds_memory(); }

  void handle_requests(Instant now) {
    const bool was_empty = out_.empty();
    held_back_ = false;
    begin_turn(now);
    mark();
    bool goes_on = !finished_;
    while (goes_on) {
      held_back_ = out_.size() >= limits_.output_max;
      if (held_back_) break;
      const Step step = handle_one(now);
      finished_ = step == Step::kLast;
      goes_on = step == Step::kGoOn;
      mark_if_settled();
    }
    waits_ = end_turn(now);
    if (was_empty) taken_since_ = now;
    if (waits_) return undo();

    const bool nothing_to_come = peer_closed_ || (draining_ && in_.empty());
    if (nothing_to_come && !held_back_) finished_ = true;
    if (in_.empty() || held_back_) {
      request_since_.reset();
    } else if (!request_since_) {
      request_since_ = now;
    }
  }

  void mark() {
    taken_ = 0;
    settled_output_ = out_.position();
  }

  void undo() {
    in_.restore(taken_);
    out_.cut(settled_output_);
    finished_ = false;
    held_back_ = false;
    request_since_.reset();
  }

  const PipelineLimits& limits_;
  InputBuffer in_;
  Output out_;
  Waker* waker_ = nullptr;
  std::size_t taken_ = 0;           // bytes handled since all was settled
  std::size_t settled_output_ = 0;  // position in out_ at that time
  bool held_back_ = false;          // input waits until the peer takes output
  bool waits_ = false;              // for an answer
  bool peer_closed_ = false;
  bool draining_ = false;
  bool finished_ = false;
  Instant idle_since_;                    // the last request, or the beginning
  std::optional<Instant> request_since_;  // the first bytes of a request not complete yet
  Instant taken_since_;                   // the peer took output, or there was none to take
};

}  // namespace weir
