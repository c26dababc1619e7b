// Http2Session: one HTTP/2 connection, without its socket. nghttp2 speaks the protocol; an
// Http2Service answers requests.
//
// All answers to one read leave in one piece.
//
// Bounds: kStreamsMax streams at once; heads of kHeadMax; bodies as the service says. A connection
// holds kBufferedMax of bodies and answers; then it refuses new streams. At most kOutputMax may
// wait; then nothing is read until the peer takes some. A request must arrive within kRequestMax,
// and a frame within kIdleMax. Within kStalledMax the peer must take output that waits for it,
// here, or on a stream without a window. A turn handles about kTurnHeads requests, or decodes about
// kTurnDecoded; the rest waits until others had their turn.
//
// A peer only makes work if it resets kResetsMax streams more than it takes answers (CVE-2023-44487
// and its kin). So does a peer that sends kLongHeadsMax heads which are too long. So does a peer
// whose references to earlier fields (HPACK) decode to more than kHeadBomb in one head, or than
// kDecodedASecond. Of the latter, kHeadFree a head and kWireFree times the received bytes are free.
// No real request needs that much. All end with GOAWAY and ENHANCE_YOUR_CALM. nghttp2 refuses
// acknowledgements that pile up and endless CONTINUATION frames; tests here check it.
//
// After malformed bytes: GOAWAY with the reason, and the connection closes. Without memory for
// nghttp2 or a stream, the connection closes. An answer's head beyond what nghttp2 sends (64 KiB)
// resets its stream. Closing in peace (drain, age, idleness): a GOAWAY that forbids nothing; after
// a round trip measured by a PING, the GOAWAY that names the last stream; streams finish.
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

// check:allow(methods): calls of a Session and callbacks of nghttp2 change the same streams
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
  static constexpr std::int64_t kDecodedASecond = 16 << 20;  // bytes, and the most at once
  static constexpr std::int64_t kHeadFree = 2 << 10;
  static constexpr std::int64_t kWireFree = 2;
  static constexpr std::int64_t kHeadBomb = 128 << 10;     // bytes of one head
  static constexpr std::int64_t kTurnDecoded = 256 << 10;  // bytes
  // About what a stream takes, apart from the texts of its request and answer.
  static constexpr std::size_t kStreamBytes = 3 << 10;
  static constexpr Duration kRequestMax = std::chrono::seconds(10);
  static constexpr Duration kStalledMax = std::chrono::seconds(30);
  static constexpr Duration kIdleMax = std::chrono::minutes(5);
  static constexpr Duration kNoticeMax = std::chrono::seconds(1);  // if the PING is ignored

  // `door` must outlive the session. It begins to close at `closes_at`.
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

  // nghttp2 calls these.
  void begin_head(const nghttp2_frame& frame);
  // Returns false if the connection must end.
  bool add_field(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  // Takes a field with a forbidden character. nghttp2 would go on without it, and so would rules.
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
  // Checks the result of a call of nghttp2. On failure the connection ends: there is no memory, or
  // Weir made a mistake, for which only this peer pays.
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
  std::string rest_;                             // input for the next turn
  boost::intrusive::list<Http2Stream> streams_;  // open streams
  Http2Stream* current_ = nullptr;               // the stream whose head is arriving
  Http2Stream* recent_ = nullptr;                // found last; usually the next one, too
  std::size_t buffered_ = 0;                     // bytes of bodies and answers
  std::size_t arriving_ = 0;                     // bytes of incomplete bodies
  std::size_t answered_early_ = 0;  // streams answered before their request was complete
  int resets_left_ = kResetsMax;
  int long_heads_left_ = kLongHeadsMax;
  int turn_heads_ = 0;
  std::int64_t turn_decoded_ = 0;                // bytes
  std::int64_t head_decoded_ = 0;                // bytes
  std::int64_t decoded_left_ = kDecodedASecond;  // bytes to which heads may still be decoded
  Waker* waker_ = nullptr;
  bool peer_closed_ = false;
  bool failed_ = false;
  bool finished_ = false;
  bool is_flooded_ = false;
  Closing closing_ = Closing::kNo;
  Instant now_;            // the time of the current call
  Instant decoded_since_;  // when decoded_left_ was updated
  Instant idle_since_;     // when the last frame came
  Instant taken_since_;    // when the peer last took output, or there was none
  Instant closes_at_;
  Instant earliest_ = Instant::max();     // no stream has an earlier deadline
  Instant next_expiry_ = Instant::max();  // no stream expires earlier
  Instant look_at_ = Instant::max();      // the time that the waker knows
  std::optional<Instant> noticed_at_;     // empty until a call brings the time
};

}  // namespace weir
