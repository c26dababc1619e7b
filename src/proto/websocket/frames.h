// The server's end of a WebSocket's frames, by wslay. It checks and answers what the peer sends
// (pings, the closing handshake), and throws its messages away: the peers are browsers that listen.
//
// A peer that breaks the rules gets a close frame, and nothing more of it is read. The rules forbid
// a frame that is not masked, a reserved bit or opcode (1002), a text that is not UTF-8 (1007), a
// message over kMessageMax bytes (1009). wslay's close frame does not say why it refuses a length
// or a forbidden control frame.
//
// Thread rule: one thread. Tested by frames_test.cc and fuzz/live_session_fuzz.cc.

#pragma once

#include <wslay/wslay.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weir::websocket {

// Why a WebSocket is closed (RFC 6455, 7.4.1).
enum class CloseCode : std::uint16_t {
  kGoingAway = 1001,
  kPolicy = 1008,
};

// The text as one frame, in a server's form.
std::string text_frame(std::string_view text);

class Frames {
 public:
  static constexpr std::size_t kMessageMax = std::size_t{4} << 10;
  // About what wslay keeps for a connection.
  static constexpr std::size_t kBytes = std::size_t{5} << 10;

  Frames();
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  // The events in some received bytes.
  struct Heard {
    int frames = 0;  // frames that began
    int pongs = 0;
  };
  Heard read(std::string_view bytes);

  void ping();
  // From now on nothing is read, and after the close frame nothing is sent.
  void close(CloseCode code);
  // This side sent a close frame, its own or the answer to the peer's; or there was no memory.
  bool is_closed() const { return is_closed_; }

  // Whole control frames that wait to be sent.
  std::string_view output() const { return output_; }
  void sent(std::size_t size) { output_.erase(0, size); }

 private:
  struct Free {
    void operator()(wslay_event_context* context) const { ::wslay_event_context_free(context); }
  };

  static ssize_t give(wslay_event_context_ptr context, std::uint8_t* buffer, std::size_t size,
                      int flags, void* self);
  static ssize_t take(wslay_event_context_ptr context, const std::uint8_t* data, std::size_t size,
                      int flags, void* self);
  static void begun(wslay_event_context_ptr context,
                    const wslay_event_on_frame_recv_start_arg* frame, void* self);
  static void came(wslay_event_context_ptr context, const wslay_event_on_msg_recv_arg* message,
                   void* self);

  void write();
  void end_unless(int result);

  std::unique_ptr<wslay_event_context, Free> context_;
  std::string_view input_;  // during read()
  Heard heard_;
  std::string output_;
  bool is_closed_ = false;
};

}  // namespace weir::websocket
