// Http2Session: one HTTP/2 connection, without its socket. The protocol is nghttp2's;
// requests are the business of an Http2Service.
//
// All streams' answers to one read leave in one piece.
//
// Bounds: kStreamsMax streams at once; heads of kHeadMax; bodies as the service says. A connection
// holds kBufferedMax of bodies and answers, beyond which new streams are refused. kOutputMax may
// wait, beyond which nothing is read until the peer takes some. kRequestMax for a request to
// arrive, kIdleMax without a frame. kStalledMax for the peer to take something that waits for it,
// here, or on a stream for want of a window. A turn handles about kTurnHeads requests, or decodes
// about kTurnDecoded; what came behind them waits until others have had theirs.
//
// A peer may reset kResetsMax streams more than it takes answers: beyond that it only
// makes work (CVE-2023-44487 and its kin). So does one that sends kLongHeadsMax heads which are too
// long. So does one whose references to fields it sent before (HPACK) decode to more than kHeadBomb
// in one head, or to kDecodedASecond. Of the latter, kHeadFree a head and kWireFree times what came
// are free. No request needs that much. Both end with GOAWAY and ENHANCE_YOUR_CALM.
// Acknowledgements that pile up and endless CONTINUATION frames are nghttp2's to refuse, and tested
// here.
//
// Malformed bytes: GOAWAY with the reason, and the connection closes. No memory for nghttp2
// or a stream: the connection closes. A head of ours beyond what nghttp2 sends (64 KiB): its
// stream is reset.
// Closing in peace (drain, age, idleness): GOAWAY that forbids nothing, then, after a
// round trip measured by a PING, the GOAWAY that names the last stream; streams finish.
//
// Thread rule: the core that accepted the connection. Tested by http2_session_test.cc,
// http2_abuse_test.cc and fuzz/http2_session_fuzz.cc.

#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proto/http2/http2_door.h"
#include "proto/http2/http2_stream.h"
#include "proto/output_buffer.h"
#include "proto/session.h"

namespace weir {

// check:allow(methods): one for each callback of nghttp2
class Http2Session final : public Session {
 public:
  static constexpr std::uint32_t kStreamsMax = 1000;
  static constexpr std::size_t kHeadMax = 32 << 10;
  static constexpr std::size_t kBufferedMax = 8 << 20;
  static constexpr std::size_t kOutputMax = 256 << 10;
  static constexpr int kTurnHeads = 128;
  static constexpr std::int32_t kConnectionWindow = 1 << 20;  // bytes
  static constexpr int kResetsMax = 1000;
  static constexpr int kLongHeadsMax = 8;
  static constexpr std::int64_t kDecodedASecond = 16 << 20;  // bytes, also at once
  static constexpr std::int64_t kHeadFree = 2 << 10;
  static constexpr std::int64_t kWireFree = 2;
  static constexpr std::int64_t kHeadBomb = 128 << 10;     // bytes of one head
  static constexpr std::int64_t kTurnDecoded = 256 << 10;  // bytes
  // About what a stream takes in addition to the texts of its request and answer.
  static constexpr std::size_t kStreamBytes = 3 << 10;
  static constexpr Duration kRequestMax = std::chrono::seconds(10);
  static constexpr Duration kStalledMax = std::chrono::seconds(30);
  static constexpr Duration kIdleMax = std::chrono::minutes(5);
  static constexpr Duration kNoticeMax = std::chrono::seconds(1);  // if the PING is ignored

  // `door` must outlive the session, which begins to close at `closes_at`.
  Http2Session(Http2Door& door, const Peer& peer, Instant closes_at, Instant now);
  ~Http2Session() override;
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  void attach(Waker& waker) override { waker_ = &waker; }
  void woken(Instant now) override;
  std::span<char> input_space() override;
  void received(std::size_t size, Instant now) override;
  void peer_closed(Instant now) override;
  std::string_view output() const override { return out_.view(); }
  void sent(std::size_t size, Instant now) override;
  void stamp(Duration elapsed) override { door_.router().stamp(elapsed); }
  Instant deadline() const override;
  void expired(Instant now) override;
  void drain() override;
  bool finished() const override { return finished_; }
  bool was_flooded() const override { return is_flooded_; }
  std::size_t held() const override {
    return out_.capacity() + rest_.capacity() + buffered_ + streams_.size() * kStreamBytes;
  }
  std::size_t input_waiting() const override { return arriving_; }

  // What nghttp2 calls.
  void begin_head(const nghttp2_frame& frame);
  // False: the connection is to end.
  bool add_field(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  // One with a character that no field has. nghttp2 would go on without it, and so would rules.
  bool add_bad_field(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  void frame_received(const nghttp2_frame& frame);
  void data_received(std::int32_t stream, std::string_view bytes);
  void frame_sent(const nghttp2_frame& frame);
  void frame_not_sent(const nghttp2_frame& frame, int error);
  void stream_closed(std::int32_t stream, std::uint32_t error);

 private:
  friend class Http2Stream;

  enum class Closing : std::uint8_t { kNo, kNoticed, kLast };

  struct Deleter {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };

  Http2Stream* find(std::int32_t id);
  void head_complete(Http2Stream& stream, const nghttp2_frame& frame);
  void end_if_closing(Http2Stream& stream);
  void complete(Http2Stream& stream);
  void request_ends(const Http2Stream& stream);
  void reset(std::int32_t stream, std::uint32_t error);
  void hold(Http2Stream& stream, std::size_t size);
  void unhold(Http2Stream& stream, std::size_t size);
  void set_deadline(Http2Stream& stream, Instant deadline);
  void cut_late_streams();
  void expire(Http2Stream& stream);
  void begin_closing();
  void name_last_stream();
  // Checks the result of a call of nghttp2. The connection ends if it did not take
  // it: there is no memory, or we made a mistake, which costs this peer only.
  void require(int result) { failed_ = failed_ || result != 0; }
  void feed(std::string_view bytes);
  void end_flood();
  void pump();
  void give_up() noexcept;
  bool any_waits() const;

  Http2Door& door_;
  const Peer peer_;
  std::unique_ptr<nghttp2_session, Deleter> nghttp2_;
  OutputBuffer out_;
  std::string rest_;                             // input that waits for the next turn
  boost::intrusive::list<Http2Stream> streams_;  // the open ones
  Http2Stream* current_ = nullptr;               // whose head is arriving
  Http2Stream* recent_ = nullptr;                // found last: mostly the next one, too
  std::size_t buffered_ = 0;                     // bytes of bodies and answers
  std::size_t arriving_ = 0;                     // bytes of bodies that are not complete
  std::size_t answered_early_ = 0;  // streams answered before their request was complete
  int resets_left_ = kResetsMax;
  int long_heads_left_ = kLongHeadsMax;
  int turn_heads_ = 0;
  std::int64_t turn_decoded_ = 0;                // bytes
  std::int64_t head_decoded_ = 0;                // bytes
  std::int64_t decoded_left_ = kDecodedASecond;  // bytes that heads may still be decoded to
  Waker* waker_ = nullptr;
  bool peer_closed_ = false;
  bool failed_ = false;
  bool finished_ = false;
  bool is_flooded_ = false;
  Closing closing_ = Closing::kNo;
  Instant now_;            // of the call under way
  Instant decoded_since_;  // when decoded_left_ was brought up to date
  Instant idle_since_;     // the last frame
  Instant taken_since_;    // the peer took output, or there was none to take
  Instant closes_at_;
  Instant earliest_ = Instant::max();     // no stream's deadline is before it
  Instant next_expiry_ = Instant::max();  // nor is what expire_at() set
  Instant look_at_ = Instant::max();      // as the waker knows it
  std::optional<Instant> noticed_at_;     // unset: the clock is not known yet
};

}  // namespace weir
