// PipelinedSession: the common part of sessions that answer requests in the order they came, many
// to one read (HTTP/1.1, the Redis protocol).
//
// Each complete request that has arrived is handled at once, and all answers to one read leave in
// one piece. A reply whose answer comes later is parked. Requests behind it are still handled, and
// their replies wait. Three requests, where the second asks a distant store:
//
//   received   1 handled, its reply is output    2 asks, parked    3 handled, its reply waits
//   woken      2 is written to the output, then 3
//
// While a reply is parked nothing more is read, so that the texts of requests stay where they
// arrived.
//
// Bounds: replies of `output_max` bytes may wait; then nothing more is read or handled until the
// peer takes some. After kTurnRequests, or kTurnBytes of replies, other connections get their turn.
// There are times for how long a peer may be idle, may take to send a request, or may take nothing
// of what waits for it. After `warm_max` without a request the session releases its buffers: an
// idle connection is just the session's object.
//
// `Output` is OutputBuffer or has the same functions. Late replies are written to `Sink`, by
// default the same.
//
// Thread rule: the core that accepted the connection. Tested by
// src/server/http/http_session_test.cc, src/server/http/http_wait_test.cc,
// src/server/resp/resp_session_test.cc and src/server/resp/resp_wait_test.cc.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/late_reply.h"
#include "proto/input_buffer.h"
#include "proto/session.h"

namespace weir {

struct PipelineLimits {
  std::size_t output_max;
  Duration idle_max;     // between requests
  Duration request_max;  // for a request to arrive
  Duration stalled_max;  // for the peer to take some output
  Duration warm_max;
};

template <typename Output, typename Sink = Output>
// check:allow(methods): twelve are a Session's, and heirs add to the same line of replies
class PipelinedSession : public Session {
 public:
  PipelinedSession(const PipelineLimits& limits, Instant now)
      : limits_(limits), idle_since_(now), taken_since_(now) {}

  void attach(Waker& waker) final { waker_ = &waker; }

  void woken(Instant now) final {
    if (!waits() && !yields_) return;
    const bool was_empty = out_.empty();
    if (waits()) write_due(now);
    if (was_empty) taken_since_ = now;
    // Handles requests that had to wait for it, or for the others' turn.
    if (!waits() || yields_) handle_requests(now);
  }

  std::span<char> input_space() final {
    if (is_closing_ || peer_closed_ || held_back_ || yields_ || waits()) return {};
    return in_.space();
  }

  void received(std::size_t size, Instant now) final {
    if (is_closing_) return;
    in_.received(size);
    handle_requests(now);
  }

  void peer_closed(Instant now) final {
    peer_closed_ = true;
    if (!is_closing_) handle_requests(now);
  }

  std::string_view output() const final { return out_.view(); }

  void sent(std::size_t size, Instant now) final {
    out_.consume(size);
    taken_since_ = now;
    if (held_back_ && !is_closing_) handle_requests(now);
  }

  std::size_t held() const final {
    std::size_t bytes = in_.capacity() + out_.capacity() + held_besides();
    for (const Parked& parked : line_) bytes += kParkedBytes + parked.output.capacity();
    return bytes;
  }

  std::size_t input_waiting() const final { return in_.size(); }

  Instant deadline() const final {
    // A late reply has its own deadline.
    const Instant due = waits() ? line_.front().late->due_at() : Instant::max();
    if (!out_.empty()) return std::min(due, taken_since_ + limits_.stalled_max);
    if (waits()) return due;
    if (request_since_) return *request_since_ + limits_.request_max;
    return idle_since_ + (is_warm() ? limits_.warm_max : limits_.idle_max);
  }

  void expired(Instant now) final {
    if (now < deadline()) return;
    if (waits() && now >= line_.front().late->due_at()) {
      line_.front().late->time_has_come();
      return woken(now);
    }
    if (out_.empty() && request_since_ && !is_closing_) {
      taken_since_ = now;
      refuse_slow(now);
      is_closing_ = true;
      return;
    }
    if (out_.empty() && now < idle_since_ + limits_.idle_max && !is_closing_) {
      in_.release();
      out_.release();
      return;
    }
    line_.clear();
    out_.consume(out_.size());
    is_closing_ = true;
  }

  void drain() final {
    is_draining_ = true;
    if (in_.empty()) is_closing_ = true;
  }

  bool finished() const final { return is_closing_ && !waits(); }

  // A turn: more than clients pipeline, and some tens of microseconds of work.
  static constexpr int kTurnRequests = 256;
  static constexpr std::size_t kTurnBytes = std::size_t{64} << 10;

 protected:
  enum class Step : std::uint8_t {
    kNeedMore,  // no request is complete, or it must wait for answers to all before it
    kGoOn,      // a request was handled, or bytes were skipped: there may be more
    kLast,      // nothing more is handled; the connection closes
  };

  // Handles the front of in_, and consumes it with take().
  virtual Step handle_one(Instant now) = 0;
  // Answers a request that did not arrive in time.
  virtual void refuse_slow(Instant now) = 0;
  // Decides the queued checks.
  virtual void flush(Instant now) = 0;

  // Bytes that it holds for the peer outside of its buffers.
  virtual std::size_t held_besides() const { return 0; }

  // How long the replies that are written next have waited.
  struct Turn {
    Duration waited{0};
    enum class Then : std::uint8_t { kGoOn, kClose } then = Then::kGoOn;
  };
  virtual void writing(const Turn&) {}

  InputBuffer& in() { return in_; }
  Output& out() { return out_; }

  // Where to write a reply that is there already. It waits behind parked replies.
  Output& end_of_line() {
    if (line_.empty()) return out_;
    if (line_.back().late != nullptr) {
      const Instant since = line_.back().since;
      line_.emplace_back();
      line_.back().since = since;
    }
    return line_.back().output;
  }
  // Parks a reply that comes later. Its texts may be in in().
  void park(std::unique_ptr<LateReply<Sink>> late, Instant now) {
    if (waker_ != nullptr) late->attach(*waker_);
    if (waker_ != nullptr && late->due_at() != Instant::max()) waker_->look_at(late->due_at());
    line_.emplace_back();
    line_.back().late = std::move(late);
    line_.back().since = now;
  }
  // Whether a reply is parked.
  bool waits() const { return !line_.empty(); }
  bool is_last_and_draining(std::size_t size) const {
    return is_draining_ && in_.text().size() == size;
  }
  // A request has been handled: drops its bytes, and the peer is not idle. The bytes stay in memory
  // until the next input_space().
  void take(std::size_t size, Instant now) {
    in_.consume(size);
    request_since_.reset();
    idle_since_ = now;
  }

 private:
  // A reply that comes later, or replies behind one: the first in line always comes later.
  struct Parked {
    std::unique_ptr<LateReply<Sink>> late{};
    Output output{};
    Instant since{};
  };

  // About what a parked reply takes.
  static constexpr std::size_t kParkedBytes = 512;

  bool is_warm() const { return in_.capacity() + out_.capacity() > 0; }

  // One read bounds how many replies are parked.
  void handle_requests(Instant now) {
    const bool was_empty = out_.empty();
    held_back_ = yields_ = false;
    const std::size_t turn_end = out_.size() + kTurnBytes;
    bool goes_on = !is_closing_;
    for (int handled = 0; goes_on; ++handled) {
      held_back_ = out_.size() >= limits_.output_max;
      yields_ = waker_ != nullptr && (handled == kTurnRequests || out_.size() >= turn_end);
      if (held_back_ || yields_) break;
      const Step step = handle_one(now);
      is_closing_ = step == Step::kLast;
      goes_on = step == Step::kGoOn;
    }
    flush(now);
    if (was_empty) taken_since_ = now;
    if (yields_) waker_->yield();

    const bool nothing_to_come = peer_closed_ || (is_draining_ && in_.empty());
    if (nothing_to_come && !held_back_ && !yields_ && !waits()) is_closing_ = true;
    if (in_.empty() || held_back_ || yields_ || waits()) {
      request_since_.reset();
    } else if (!request_since_) {
      request_since_ = now;
    }
  }

  // Writes the replies that are due, up to the first one that is not.
  void write_due(Instant now) {
    while (!line_.empty()) {
      Parked& first = line_.front();
      if (first.late != nullptr && !first.late->is_due()) break;
      const bool is_last = is_draining_ && in_.empty() && line_.size() == 1;
      writing(
          {.waited = now - first.since, .then = is_last ? Turn::Then::kClose : Turn::Then::kGoOn});
      if (first.late == nullptr) {
        out_.append(first.output);
      } else if (!first.late->write(out_, now)) {
        break;
      }
      line_.pop_front();
    }
    writing({});
  }

  const PipelineLimits& limits_;
  InputBuffer in_;
  Output out_;
  std::list<Parked> line_;  // in the order of their requests
  Waker* waker_ = nullptr;
  bool held_back_ = false;  // input waits until the peer takes output
  bool yields_ = false;     // input waits until others had their turn
  bool peer_closed_ = false;
  bool is_draining_ = false;
  bool is_closing_ = false;  // nothing more is handled
  Instant idle_since_;
  Instant taken_since_;
  std::optional<Instant> request_since_;
};

}  // namespace weir
