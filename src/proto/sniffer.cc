#include "proto/sniffer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace weir {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class SniffingSession final : public Session {
 public:
  SniffingSession(std::unique_ptr<Session> http1, SessionFactory& http2, const Peer& peer)
      : session_(std::move(http1)), http2_(http2), peer_(peer) {}

  void attach(Waker& waker) override {
    waker_ = &waker;
    session_->attach(waker);
  }
  void woken(Instant now) override { session_->woken(now); }
  std::span<char> input_space() override;
  void received(std::size_t size, Instant now) override {
    if (decided_) {
      session_->received(size, now);
    } else {
      sniff(size, now);
    }
  }
  void peer_closed(Instant now) override;
  std::string_view output() const override { return session_->output(); }
  void sent(std::size_t size, Instant now) override { session_->sent(size, now); }
  void stamp(Duration elapsed) override { session_->stamp(elapsed); }
  Instant deadline() const override { return session_->deadline(); }
  // If a preface does not go on, it is an idle HTTP/1.1 connection, with its deadline.
  void expired(Instant now) override { session_->expired(now); }
  void drain() override;
  bool finished() const override { return session_->finished(); }
  std::unique_ptr<Session> successor(Instant now) override { return session_->successor(now); }
  bool was_flooded() const override { return session_->was_flooded(); }
  std::size_t held() const override { return session_->held(); }
  std::size_t input_waiting() const override { return session_->input_waiting(); }

 private:
  void sniff(std::size_t size, Instant now);
  void deliver(std::string_view input, Instant now);

  std::unique_ptr<Session> session_;  // HTTP/1.1 until HTTP/2 is recognized
  SessionFactory& http2_;
  const Peer peer_;
  Waker* waker_ = nullptr;
  bool decided_ = false;
  bool draining_ = false;  // session_ drains when it has the first bytes
  std::uint8_t kept_ = 0;  // bytes of the preface that session_ has not got
  std::span<char> space_;  // while !decided_: session_'s, with these bytes at its front
};

std::span<char> SniffingSession::input_space() {
  const auto space = session_->input_space();
  if (decided_ || space.empty()) return space;
  WEIR_ASSERT(space.size() > kPreface.size());
  space_ = space;
  std::ranges::copy(kPreface.substr(0, kept_), space.begin());
  return space.subspan(kept_);
}

void SniffingSession::sniff(std::size_t size, Instant now) {
  const auto input = std::string_view(space_.data(), kept_ + size);
  if (input.size() < kPreface.size() && kPreface.starts_with(input)) {
    kept_ = static_cast<std::uint8_t>(input.size());
    return;
  }
  decided_ = true;
  if (!input.starts_with(kPreface)) {
    if (draining_) return deliver(std::string(input), now);
    return session_->received(input.size(), now);
  }
  const auto http1 = std::exchange(session_, http2_.make_session(peer_, now));  // keeps the input
  if (waker_ != nullptr) session_->attach(*waker_);
  deliver(input, now);
}

// Gives the session bytes that are not in its space. A session that drains first gets one byte, so
// that it knows of a request: else it would finish before that.
void SniffingSession::deliver(std::string_view input, Instant now) {
  while (!input.empty()) {
    const std::size_t size = feed_piece(*session_, draining_ ? input.substr(0, 1) : input, now);
    if (size == 0) return;  // it is finished
    input.remove_prefix(size);
    if (std::exchange(draining_, false)) session_->drain();
  }
}

void SniffingSession::peer_closed(Instant now) {
  if (!std::exchange(decided_, true)) deliver(kPreface.substr(0, kept_), now);
  session_->peer_closed(now);
}

void SniffingSession::drain() {
  if (!decided_ && kept_ > 0) {
    draining_ = true;
  } else {
    session_->drain();
  }
}

}  // namespace

std::unique_ptr<Session> SniffingFactory::make_session(const Peer& peer, Instant now) {
  return std::make_unique<SniffingSession>(http1_.make_session(peer, now), http2_, peer);
}

}  // namespace weir
