// For tests: an HTTP/2 client in memory, nghttp2's, and raw frames that this would never send.
//
//   Http2Peer peer(door, now);
//   const int stream = peer.ask({.path = "/check", .body = "{}"});
//   peer.talk(now);
//   EXPECT_EQ(peer.reply(stream).status, "200");
//
// Thread rule: one thread.

#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/session.h"

namespace weir {

using TestFields = std::vector<std::pair<std::string, std::string>>;

struct Http2Question {
  std::string method = "POST";
  std::string path = "/";
  std::string authority = "test";
  TestFields fields{};
  std::string body{};
  bool ends = true;
};

struct Http2Reply {
  std::string status{};
  std::map<std::string, std::string> fields{};
  std::map<std::string, std::string> trailers{};
  std::string body{};
  bool ended = false;                            // END_STREAM
  std::optional<std::uint32_t> closed{};         // with this error code
  std::optional<std::uint32_t> reset_by_them{};  // RST_STREAM from the server
};

class Http2Peer {
 public:
  Http2Peer(SessionFactory& door, Instant now);
  ~Http2Peer();
  Http2Peer(const Http2Peer&) = delete;
  Http2Peer& operator=(const Http2Peer&) = delete;

  // Returns the stream's number. Nothing is sent before talk().
  std::int32_t ask(const Http2Question& question);
  void send(std::int32_t stream, std::string_view bytes);
  void end(std::int32_t stream);
  void reset(std::int32_t stream);

  // Moves bytes both ways until both are silent.
  void talk(Instant now);
  // The same, after the raw bytes. The client must not talk in between.
  void say(std::string_view raw, Instant now);

  Http2Reply& reply(std::int32_t stream) { return replies_[stream]; }
  // The error of the last GOAWAY and the last stream it names.
  std::optional<std::uint32_t> goaway;
  std::int32_t goaway_stream = 0;

  Session& session() { return *session_; }
  std::size_t writes = 0;   // pieces of output
  bool reads = true;        // takes output
  std::int32_t window = 0;  // unless 0: the window of each stream at first

 private:
  friend struct Http2PeerCallbacks;
  struct Sending {
    std::string text;
    bool ends = false;
    bool deferred = false;
  };

  void start();
  void take_output(Instant now);

  std::unique_ptr<Session> session_;
  nghttp2_session* client_ = nullptr;
  bool started_ = false;
  std::map<std::int32_t, Sending> sending_;
  std::map<std::int32_t, Http2Reply> replies_;
};

// A frame of any kind.
std::string http2_frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                        std::string_view payload);
// The beginning of a connection: the preface, and empty SETTINGS.
std::string http2_preface();

}  // namespace weir
