#include "proto/http2/http2_door.h"

#include <new>

#include "base/if_memory.h"
#include "proto/http2/http2_session.h"

namespace weir {
namespace {

Http2Session& session_of(void* user_data) { return *static_cast<Http2Session*>(user_data); }

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

struct CallbacksDeleter {
  void operator()(nghttp2_session_callbacks* callbacks) const {
    nghttp2_session_callbacks_del(callbacks);
  }
};
using Callbacks = std::unique_ptr<nghttp2_session_callbacks, CallbacksDeleter>;

// No exception may pass through nghttp2, which is C. If memory is short, the connection ends.
template <typename Call>
int guarded(Call call) {
  return has_memory_for(call) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

template <bool (Http2Session::*kAdd)(const nghttp2_frame&, std::string_view, std::string_view)>
int take_field(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
               std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
               std::uint8_t, void* user_data) {
  bool goes_on = false;
  const int outcome = guarded([&] {
    goes_on =
        (session_of(user_data).*kAdd)(*frame, text_of(name, name_size), text_of(value, value_size));
  });
  return goes_on ? outcome : NGHTTP2_ERR_CALLBACK_FAILURE;
}

void set_receiving_callbacks(nghttp2_session_callbacks* callbacks) {
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
        return guarded([&] { session_of(user_data).begin_head(*frame); });
      });
  nghttp2_session_callbacks_set_on_header_callback(callbacks, take_field<&Http2Session::add_field>);
  nghttp2_session_callbacks_set_on_invalid_header_callback(
      callbacks, take_field<&Http2Session::add_bad_field>);
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
        return guarded([&] { session_of(user_data).frame_received(*frame); });
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                    std::size_t size, void* user_data) {
        return guarded([&] { session_of(user_data).data_received(stream, text_of(bytes, size)); });
      });
}

void set_sending_callbacks(nghttp2_session_callbacks* callbacks) {
  nghttp2_session_callbacks_set_on_frame_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
        return guarded([&] { session_of(user_data).frame_sent(*frame); });
      });
  nghttp2_session_callbacks_set_on_frame_not_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, int error, void* user_data) {
        return guarded([&] { session_of(user_data).frame_not_sent(*frame, error); });
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, std::int32_t stream, std::uint32_t error, void* user_data) {
        return guarded([&] { session_of(user_data).stream_closed(stream, error); });
      });
}

Callbacks make_callbacks() {
  nghttp2_session_callbacks* made = nullptr;
  if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
  set_receiving_callbacks(made);
  set_sending_callbacks(made);
  return Callbacks(made);
}

nghttp2_option* make_option() {
  nghttp2_option* option = nullptr;
  if (nghttp2_option_new(&option) != 0) throw std::bad_alloc();
  nghttp2_option_set_no_closed_streams(option, 1);
  // Blanks around a value are allowed, as in HTTP/1.1: the session removes them.
  nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, 1);
  return option;
}

}  // namespace

Http2Door::Http2Door(Http2Router& router, const Http2Options& options)
    : router_(router),
      age_max_(options.age_max),
      random_(options.seed),
      option_(make_option()),
      read_buffer_(std::make_unique<char[]>(kReadMax)) {}

nghttp2_session* Http2Door::make_nghttp2_session(void* user_data) {
  static const Callbacks kCallbacks = make_callbacks();
  nghttp2_session* session = nullptr;
  nghttp2_session_server_new3(&session, kCallbacks.get(), user_data, option_.get(),
                              pool_.functions());
  return session;
}

std::unique_ptr<Session> Http2Door::make_session(const Peer& peer, Instant now) {
  return std::make_unique<Http2Session>(*this, peer, closing_time(now), now);
}

Instant Http2Door::closing_time(Instant now) {
  if (age_max_ <= Duration::zero()) return Instant::max();
  const auto jitter = static_cast<std::uint64_t>(age_max_.count() / 5);
  const auto chosen = jitter == 0 ? 0 : random_.next() % jitter;
  return now + age_max_ - age_max_ / 10 + Duration(static_cast<std::int64_t>(chosen));
}

}  // namespace weir
