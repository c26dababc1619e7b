#include "proto/http2/http2_peer_testing.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.h"

namespace weir {
namespace {

std::string text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

nghttp2_nv to_nv(const std::pair<std::string, std::string>& field) {
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {.name = bytes(field.first),
          .value = bytes(field.second),
          .namelen = field.first.size(),
          .valuelen = field.second.size(),
          .flags = NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

struct Http2PeerCallbacks {
  static Http2Peer& peer(void* user_data) { return *static_cast<Http2Peer*>(user_data); }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user_data) {
    Http2Reply& reply = peer(user_data).replies_[frame->hd.stream_id];
    const std::string key = text_of(name, name_size);
    if (key == ":status") {
      reply.status = text_of(value, value_size);
    } else {
      const bool is_trailer = frame->headers.cat == NGHTTP2_HCAT_HEADERS;
      (is_trailer ? reply.trailers : reply.fields)[key] = text_of(value, value_size);
    }
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    Http2Peer& self = peer(user_data);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      self.goaway = frame->goaway.error_code;
      self.goaway_stream = frame->goaway.last_stream_id;
      return 0;
    }
    if (frame->hd.stream_id == 0) return 0;
    Http2Reply& reply = self.replies_[frame->hd.stream_id];
    if (frame->hd.type == NGHTTP2_RST_STREAM) reply.reset_by_them = frame->rst_stream.error_code;
    const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (may_end && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) reply.ended = true;
    return 0;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                     std::size_t size, void* user_data) {
    peer(user_data).replies_[stream].body += text_of(bytes, size);
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t stream, std::uint32_t error, void* user_data) {
    peer(user_data).replies_[stream].closed = error;
    return 0;
  }

  static ssize_t read(nghttp2_session*, std::int32_t stream, std::uint8_t* space, std::size_t size,
                      std::uint32_t* flags, nghttp2_data_source*, void* user_data) {
    Http2Peer::Sending& sending = peer(user_data).sending_[stream];
    const std::size_t given = std::min(size, sending.text.size());
    std::memcpy(space, sending.text.data(), given);
    sending.text.erase(0, given);
    if (sending.text.empty() && sending.ends) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (given > 0 || sending.ends) return static_cast<ssize_t>(given);
    sending.deferred = true;
    return NGHTTP2_ERR_DEFERRED;
  }
};

Http2Peer::Http2Peer(SessionFactory& door, Instant now) : session_(door.make_session({}, now)) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Http2PeerCallbacks::on_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Http2PeerCallbacks::on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Http2PeerCallbacks::on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Http2PeerCallbacks::on_close);
  nghttp2_session_client_new(&client_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
}

Http2Peer::~Http2Peer() { nghttp2_session_del(client_); }

void Http2Peer::start() {
  if (std::exchange(started_, true)) return;
  nghttp2_settings_entry entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                               static_cast<std::uint32_t>(window)};
  nghttp2_submit_settings(client_, NGHTTP2_FLAG_NONE, &entry, window == 0 ? 0 : 1);
}

std::int32_t Http2Peer::ask(const Http2Question& question) {
  start();
  TestFields fields = {{":method", question.method},
                       {":scheme", "http"},
                       {":path", question.path},
                       {":authority", question.authority}};
  fields.insert(fields.end(), question.fields.begin(), question.fields.end());
  std::vector<nghttp2_nv> head;
  for (const auto& field : fields) head.push_back(to_nv(field));
  nghttp2_data_provider body{};
  body.read_callback = Http2PeerCallbacks::read;
  const bool has_body = !question.body.empty() || !question.ends;
  const std::int32_t stream = nghttp2_submit_request(client_, nullptr, head.data(), head.size(),
                                                     has_body ? &body : nullptr, nullptr);
  sending_[stream] = {.text = question.body, .ends = question.ends};
  return stream;
}

void Http2Peer::send(std::int32_t stream, std::string_view bytes) {
  Sending& sending = sending_[stream];
  sending.text += bytes;
  if (std::exchange(sending.deferred, false)) nghttp2_session_resume_data(client_, stream);
}

void Http2Peer::end(std::int32_t stream) {
  sending_[stream].ends = true;
  send(stream, {});
}

void Http2Peer::reset(std::int32_t stream) {
  nghttp2_submit_rst_stream(client_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
}

void Http2Peer::take_output(Instant now) {
  while (reads && !session_->output().empty()) {
    ++writes;
    const std::string output(session_->output());
    session_->sent(output.size(), now);
    nghttp2_session_mem_recv(client_, reinterpret_cast<const std::uint8_t*>(output.data()),
                             output.size());
  }
}

void Http2Peer::talk(Instant now) {
  start();
  for (;;) {
    std::string bytes;
    const std::uint8_t* piece = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(client_, &piece)) > 0;) {
      bytes.append(reinterpret_cast<const char*>(piece), static_cast<std::size_t>(size));
    }
    feed(*session_, bytes, now);
    const bool heard = reads && !session_->output().empty();
    take_output(now);
    if (bytes.empty() && !heard) return;
  }
}

void Http2Peer::say(std::string_view raw, Instant now) {
  feed(*session_, raw, now);
  // The client would not understand answers to questions that it has not asked. Their heads are
  // enough.
  std::string output;
  while (reads && !session_->output().empty()) {
    output += session_->output();
    session_->sent(session_->output().size(), now);
  }
  for (std::size_t at = 0; at + 9 <= output.size();) {
    const auto byte = [&](std::size_t index) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(output[at + index]));
    };
    const std::uint32_t size = byte(0) << 16 | byte(1) << 8 | byte(2);
    if (byte(3) == NGHTTP2_GOAWAY && at + 17 <= output.size()) {
      goaway = byte(13) << 24 | byte(14) << 16 | byte(15) << 8 | byte(16);
    }
    at += 9 + size;
  }
}

std::string http2_frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                        std::string_view payload) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  const std::array<std::uint32_t, 9> head = {size >> 16,   size >> 8,    size,        type,  flags,
                                             stream >> 24, stream >> 16, stream >> 8, stream};
  std::string frame;
  for (const std::uint32_t byte : head) frame += static_cast<char>(byte & 0xff);
  return frame.append(payload);
}

std::string http2_preface() {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2_frame(NGHTTP2_SETTINGS, 0, 0, {});
}

}  // namespace weir
