#include "server/http/console/live_session.h"

#include <utility>

namespace weir {

using websocket::CloseCode;

LiveSession::LiveSession(LiveFeed::Seat seat, LiveConsoles& consoles, MayStay may_stay, Instant now)
    : feed_(std::move(seat)),
      may_stay_(std::move(may_stay)),
      message_(feed_->message()),
      writes_message_(true),
      heard_at_(now),
      ping_at_(now + kPingEvery),
      frames_since_(now) {
  consoles.add(*this);
}

void LiveSession::tell(const LiveMessagePtr& message, Instant now) {
  if (finished()) return;
  (message_ == nullptr ? message_ : next_) = message;
  if (now >= ping_at_) {
    ping_at_ = now + kPingEvery;
    if (may_stay_ && !may_stay_(now)) close(CloseCode::kPolicy);
    frames_.ping();
  }
  choose_next();
  if (waker_ != nullptr) waker_->yield();  // a thousand sessions take turns
}

std::span<char> LiveSession::input_space() {
  const bool answers_wait = frames_.output().size() >= kAnswersMax;
  return finished() || answers_wait ? std::span<char>() : std::span<char>(input_);
}

void LiveSession::received(std::size_t size, Instant now) {
  if (finished()) return;
  const auto heard = frames_.read({input_.data(), size});
  if (heard.pongs > 0) heard_at_ = now;
  count_frames(heard.frames, now);
  choose_next();
}

void LiveSession::count_frames(int frames, Instant now) {
  if (now - frames_since_ >= std::chrono::seconds(1)) {
    frames_since_ = now;
    frames_count_ = 0;
  }
  frames_count_ += frames;
  if (frames_count_ <= kFramesMax || frames_.is_closed()) return;
  was_flooded_ = true;
  feed_->count_dropped();
  close(CloseCode::kPolicy);
}

std::string_view LiveSession::output() const {
  if (is_over_) return {};
  return writes_message_ ? message_->frame().substr(sent_) : frames_.output();
}

void LiveSession::sent(std::size_t size, Instant) {
  if (is_over_) return;
  if (!writes_message_) {
    frames_.sent(size);
  } else if ((sent_ += size) == message_->frame().size()) {
    message_ = std::exchange(next_, nullptr);
    sent_ = 0;
    writes_message_ = false;
  }
  choose_next();
}

// Chooses whole frames; nothing follows a close frame.
void LiveSession::choose_next() {
  if (writes_message_) return;
  if (frames_.is_closed()) message_ = next_ = nullptr;
  writes_message_ = message_ != nullptr && frames_.output().empty();
}

void LiveSession::expired(Instant now) {
  if (now < deadline() || finished()) return;
  feed_->count_dropped();
  give_up();
}

void LiveSession::close(CloseCode code) {
  frames_.close(code);
  choose_next();
}

void LiveSession::give_up() {
  is_over_ = true;
  message_ = next_ = nullptr;
  writes_message_ = false;
}

std::size_t LiveSession::held() const {
  return sizeof(*this) + websocket::Frames::kBytes + frames_.output().size();
}

}  // namespace weir
