#include "proto/http2/http2_session.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/ascii.h"
#include "base/assert.h"

namespace weir {
namespace {

constexpr std::array kPlainText = {Http2Field{.name = "content-type", .value = "text/plain"}};

}  // namespace

Http2Session::Http2Session(Http2Door& door, const Peer& peer, Instant closes_at, Instant now)
    : door_(door),
      peer_(peer),
      nghttp2_(door.make_nghttp2_session(this)),
      now_(now),
      decoded_since_(now),
      idle_since_(now),
      taken_since_(now),
      closes_at_(closes_at) {
  if (nghttp2_ == nullptr) throw std::bad_alloc();
  const std::array settings = {
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kStreamsMax},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeadMax},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  };
  require(
      nghttp2_submit_settings(nghttp2_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size()));
  require(nghttp2_session_set_local_window_size(nghttp2_.get(), NGHTTP2_FLAG_NONE, 0,
                                                kConnectionWindow));
  if (failed_) throw std::bad_alloc();
}

Http2Session::~Http2Session() { give_up(); }

// The output is still sent. Frees nghttp2 here: the destructor would be too late for BlockPool.
void Http2Session::give_up() noexcept {
  finished_ = true;
  streams_.clear_and_dispose([this](Http2Stream* stream) { door_.streams().give_back(stream); });
  nghttp2_.reset();
}

std::span<char> Http2Session::input_space() {
  const bool is_full = !rest_.empty() || out_.size() >= kOutputMax;
  if (finished_ || peer_closed_ || is_full) return {};
  return door_.read_buffer();
}

void Http2Session::received(std::size_t size, Instant now) {
  if (finished_) return;
  now_ = now;
  const auto passed_us = std::min(now_ - decoded_since_, Duration(std::chrono::seconds(1))).count();
  const auto earned =
      kDecodedASecond * passed_us / 1'000'000 + kWireFree * static_cast<std::int64_t>(size);
  decoded_left_ = std::min(decoded_left_ + earned, kDecodedASecond);
  decoded_since_ = now_;
  feed({door_.read_buffer().data(), size});
  if (!finished_) pump();
}

// nghttp2 handles all bytes that it gets, so it gets few at a time.
void Http2Session::feed(std::string_view bytes) {
  constexpr std::size_t kPiece = 1 << 10;
  turn_heads_ = 0;
  turn_decoded_ = 0;
  const bool is_alone = waker_ == nullptr;
  const auto is_turn_over = [&] {
    return !is_alone && (turn_heads_ >= kTurnHeads || turn_decoded_ >= kTurnDecoded);
  };
  while (!bytes.empty() && !is_turn_over()) {
    const auto piece = bytes.substr(0, kPiece);
    const auto* const at = reinterpret_cast<const std::uint8_t*>(piece.data());
    const ssize_t taken = nghttp2_session_mem_recv(nghttp2_.get(), at, piece.size());
    // nghttp2 answers a peer's mistake with GOAWAY. An error here means that it is not HTTP/2 at
    // all, or a flood: not worth nghttp2's reply.
    is_flooded_ = is_flooded_ || taken == NGHTTP2_ERR_FLOODED;
    if (taken < 0) return is_flooded_ ? end_flood() : give_up();
    bytes.remove_prefix(piece.size());
  }
  rest_.assign(bytes);
  if (!rest_.empty()) waker_->yield();
}

// Writes GOAWAY by hand: if nghttp2 is stopped within a frame, it writes nothing any more.
void Http2Session::end_flood() {
  const auto last =
      static_cast<std::uint32_t>(nghttp2_session_get_last_proc_stream_id(nghttp2_.get()));
  std::array<char, 17> goaway = {0, 0, 8, NGHTTP2_GOAWAY};
  for (std::size_t i = 0; i < 4; ++i) goaway[9 + i] = static_cast<char>(last >> (24 - 8 * i));
  goaway.back() = NGHTTP2_ENHANCE_YOUR_CALM;
  out_.append({goaway.data(), goaway.size()});
  give_up();
}

void Http2Session::peer_closed(Instant now) {
  now_ = now;
  peer_closed_ = true;
  if (!finished_) pump();
}

void Http2Session::woken(Instant now) {
  if (finished_) return;
  now_ = now;
  for (Http2Stream& stream : streams_) {
    const bool is_due = stream.late_ != nullptr && stream.late_->is_due();
    if (is_due && stream.late_->write(stream, now_)) stream.late_.reset();
  }
  if (!rest_.empty() && out_.size() < kOutputMax) feed(std::exchange(rest_, {}));
  if (!finished_) pump();
}

void Http2Session::sent(std::size_t size, Instant now) {
  now_ = now;
  out_.consume(size);
  taken_since_ = now;
  if (finished_) return;
  pump();
  if (!rest_.empty()) waker_->yield();
}

void Http2Session::pump() {
  if (out_.empty()) taken_since_ = now_;
  bool has_more = true;
  while (has_more && !failed_ && out_.size() < kOutputMax) {
    const std::uint8_t* frame = nullptr;
    const ssize_t size = nghttp2_session_mem_send(nghttp2_.get(), &frame);
    has_more = size > 0;
    if (has_more) {
      out_.append({reinterpret_cast<const char*>(frame), static_cast<std::size_t>(size)});
    } else {
      require(static_cast<int>(size));
    }
  }
  if (failed_) return give_up();
  if (waker_ != nullptr && next_expiry_ < look_at_) waker_->look_at(look_at_ = next_expiry_);
  const bool is_over = nghttp2_session_want_read(nghttp2_.get()) == 0 &&
                       nghttp2_session_want_write(nghttp2_.get()) == 0;
  if (is_over || (peer_closed_ && !has_more && rest_.empty() && !any_waits())) finished_ = true;
}

bool Http2Session::any_waits() const {
  return std::ranges::any_of(streams_, [](const auto& stream) {
    return stream.late_ != nullptr && !stream.is_kept_open_;
  });
}

Instant Http2Session::deadline() const {
  Instant due = std::min(earliest_, closing_ == Closing::kNo ? closes_at_ : Instant::max());
  if (!out_.empty()) due = std::min(due, taken_since_ + kStalledMax);
  if (streams_.empty()) due = std::min(due, idle_since_ + kIdleMax);
  if (closing_ == Closing::kNoticed) {
    due = std::min(due, noticed_at_ ? *noticed_at_ + kNoticeMax : Instant::min());
  }
  return due;
}

void Http2Session::expired(Instant now) {
  if (now < deadline() || finished_) return;
  now_ = now;
  const bool is_stalled = !out_.empty() && now >= taken_since_ + kStalledMax;
  const bool is_idle = streams_.empty() && now >= idle_since_ + kIdleMax;
  if (is_stalled || (is_idle && closing_ != Closing::kNo)) {
    out_.consume(out_.size());
    finished_ = true;
    return;
  }
  cut_late_streams();
  if (closing_ == Closing::kNoticed) {
    if (!noticed_at_) noticed_at_ = now;
    if (now >= *noticed_at_ + kNoticeMax) name_last_stream();
  } else if (closing_ == Closing::kNo && (is_idle || now >= closes_at_)) {
    idle_since_ = now;
    begin_closing();
  }
  pump();
}

void Http2Session::drain() {
  if (finished_ || closing_ != Closing::kNo) return;
  begin_closing();
  pump();
}

void Http2Session::begin_closing() {
  closing_ = Closing::kNoticed;
  for (Http2Stream& stream : streams_) {
    if (stream.service_ != nullptr && !stream.is_finished_) stream.service_->closing(stream);
  }
  require(nghttp2_submit_shutdown_notice(nghttp2_.get()));
  require(nghttp2_submit_ping(nghttp2_.get(), NGHTTP2_FLAG_NONE, nullptr));
}

void Http2Session::name_last_stream() {
  closing_ = Closing::kLast;
  const std::int32_t last = nghttp2_session_get_last_proc_stream_id(nghttp2_.get());
  require(
      nghttp2_submit_goaway(nghttp2_.get(), NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0));
}

void Http2Session::cut_late_streams() {
  if (look_at_ <= now_) look_at_ = Instant::max();
  earliest_ = next_expiry_ = Instant::max();
  for (Http2Stream& stream : streams_) {
    if (stream.expires_at_ <= now_) expire(stream);
    next_expiry_ = std::min(next_expiry_, stream.expires_at_);
    if (stream.deadline_ <= now_) {
      stream.deadline_ = Instant::max();  // only once
      reset(stream.id_, NGHTTP2_CANCEL);
    }
    earliest_ = std::min(earliest_, stream.deadline_);
  }
}

// The answer that then comes has its own time.
void Http2Session::expire(Http2Stream& stream) {
  stream.expires_at_ = Instant::max();
  stream.late_.reset();
  if (!stream.is_finished_ && stream.service_ != nullptr) stream.service_->expired(stream, now_);
}

void Http2Session::reset(std::int32_t stream, std::uint32_t error) {
  require(nghttp2_submit_rst_stream(nghttp2_.get(), NGHTTP2_FLAG_NONE, stream, error));
}

void Http2Session::begin_head(const nghttp2_frame& frame) {
  current_ = nullptr;  // trailers are ignored
  ++turn_heads_;
  decoded_left_ += kHeadFree;
  head_decoded_ = 0;
  if (frame.hd.type != NGHTTP2_HEADERS || frame.headers.cat != NGHTTP2_HCAT_REQUEST) return;
  if (buffered_ > kBufferedMax) return reset(frame.hd.stream_id, NGHTTP2_REFUSED_STREAM);
  current_ = door_.streams().take().release();
  current_->open(*this, frame.hd.stream_id);
  streams_.push_front(*current_);
  recent_ = current_;
  require(nghttp2_session_set_stream_user_data(nghttp2_.get(), frame.hd.stream_id, current_));
  set_deadline(*current_, now_ + kRequestMax);
}

bool Http2Session::add_field(const nghttp2_frame& frame, std::string_view name,
                             std::string_view value) {
  const auto decoded = static_cast<std::int64_t>(name.size() + value.size());
  decoded_left_ -= decoded;
  turn_decoded_ += decoded;
  head_decoded_ += decoded;
  is_flooded_ = is_flooded_ || decoded_left_ < 0 || head_decoded_ > kHeadBomb;
  if (is_flooded_) return false;
  if (current_ == nullptr || current_->id_ != frame.hd.stream_id) return true;
  current_->add_field(name, trim_blanks(value));
  return true;
}

bool Http2Session::add_bad_field(const nghttp2_frame& frame, std::string_view name,
                                 std::string_view value) {
  if (current_ != nullptr) current_->has_bad_field_ = true;
  return add_field(frame, name, value);
}

void Http2Session::frame_received(const nghttp2_frame& frame) {
  idle_since_ = now_;
  switch (frame.hd.type) {
    case NGHTTP2_PING:
      if (closing_ == Closing::kNoticed && (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0) {
        name_last_stream();
      }
      return;
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA: break;
    default: return;
  }
  Http2Stream* const stream = find(frame.hd.stream_id);
  if (stream == nullptr) return;
  if (stream == current_) {
    current_ = nullptr;
    head_complete(*stream, frame);
  }
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) complete(*stream);
}

void Http2Session::head_complete(Http2Stream& stream, const nghttp2_frame& frame) {
  stream.is_complete_ = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (stream.head_too_long_) {
    stream.answer(431, {}, {});
    if (--long_heads_left_ > 0) return;
    is_flooded_ = true;
    return require(nghttp2_session_terminate_session(nghttp2_.get(), NGHTTP2_ENHANCE_YOUR_CALM));
  }
  stream.close_head();
  if (stream.has_bad_field_) {
    return stream.answer_constant(400, kPlainText,
                                  "A header field has a character that no field has.");
  }
  if (!stream.names_one_host()) {
    return stream.answer_constant(400, kPlainText, "There is no host, or more than one.");
  }
  stream.service_ = &door_.router().route(stream);
  stream.service_->opened(stream, now_);
  end_if_closing(stream);
}

void Http2Session::data_received(std::int32_t id, std::string_view bytes) {
  Http2Stream* const stream = find(id);
  if (stream == nullptr || stream->is_finished_ || stream->service_ == nullptr) return;
  if (stream->body().size() + bytes.size() > stream->service_->body_max()) {
    return stream->service_->too_long(*stream, now_);
  }
  stream->append_body(bytes);
  stream->service_->arrived(*stream, now_);
  end_if_closing(*stream);
}

// Tells a stream that would stay open that the connection will close. Also a stream that was opened
// after that notice, or got its request after it.
void Http2Session::end_if_closing(Http2Stream& stream) {
  if (closing_ == Closing::kNo || stream.is_finished_ || !stream.is_kept_open_) return;
  stream.service_->closing(stream);
}

void Http2Session::complete(Http2Stream& stream) {
  if (!stream.is_complete_) request_ends(stream);
  stream.is_complete_ = true;
  if (stream.is_finished_ || stream.service_ == nullptr) return;
  stream.service_->completed(stream, now_);
}

// The request is complete, or was cut off.
void Http2Session::request_ends(const Http2Stream& stream) {
  if (stream.is_begun_) --answered_early_;
  arriving_ -= stream.body_.size();
}

void Http2Session::frame_sent(const nghttp2_frame& frame) {
  if (answered_early_ == 0 || (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
  const Http2Stream* const stream = find(frame.hd.stream_id);
  if (stream == nullptr || stream->is_complete_) return;
  // The answer is complete: the client may keep the rest of the request.
  reset(frame.hd.stream_id, NGHTTP2_NO_ERROR);
}

// The head of an answer is too long for nghttp2, and the peer would wait for it. All other frames
// that nghttp2 does not send belong to a stream or connection that is ending.
void Http2Session::frame_not_sent(const nghttp2_frame& frame, int error) {
  if (error != NGHTTP2_ERR_FRAME_SIZE_ERROR || frame.hd.type != NGHTTP2_HEADERS) return;
  reset(frame.hd.stream_id, NGHTTP2_INTERNAL_ERROR);
}

void Http2Session::stream_closed(std::int32_t id, std::uint32_t error) {
  if (error == NGHTTP2_NO_ERROR) {
    resets_left_ = std::min(resets_left_ + 1, kResetsMax);
  } else if (--resets_left_ == 0) {
    is_flooded_ = true;
    require(nghttp2_session_terminate_session(nghttp2_.get(), NGHTTP2_ENHANCE_YOUR_CALM));
  }
  Http2Stream* const stream = find(id);
  if (stream == nullptr) return;
  if (stream == current_) current_ = nullptr;
  recent_ = nullptr;
  if (!stream->is_complete_) request_ends(*stream);
  unhold(*stream, stream->held_);
  streams_.erase(streams_.iterator_to(*stream));
  if (streams_.empty()) earliest_ = next_expiry_ = Instant::max();
  door_.streams().give_back(stream);
}

Http2Stream* Http2Session::find(std::int32_t id) {
  if (recent_ == nullptr || recent_->id_ != id) {
    recent_ = static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(nghttp2_.get(), id));
  }
  return recent_;
}

void Http2Session::hold(Http2Stream& stream, std::size_t size) {
  stream.held_ += size;
  buffered_ += size;
}

void Http2Session::unhold(Http2Stream& stream, std::size_t size) {
  WEIR_ASSERT(size <= stream.held_ && size <= buffered_);
  stream.held_ -= size;
  buffered_ -= size;
}

void Http2Session::set_deadline(Http2Stream& stream, Instant deadline) {
  stream.deadline_ = deadline;
  earliest_ = std::min(earliest_, deadline);
}

}  // namespace weir
