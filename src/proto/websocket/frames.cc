#include "proto/websocket/frames.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/if_memory.h"

namespace weir::websocket {
namespace {

// For a writer of frames without a connection.
ssize_t append(const std::uint8_t* data, std::size_t size, int, void* text) {
  const bool fits = has_memory_for(
      [&] { static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(data), size); });
  return fits ? static_cast<ssize_t>(size) : -1;
}

}  // namespace

std::string text_frame(std::string_view text) {
  constexpr std::size_t kHeadMax = 10;
  std::string frame;
  frame.reserve(text.size() + kHeadMax);
  const wslay_frame_callbacks callbacks = {append, nullptr, nullptr};
  wslay_frame_context_ptr context = nullptr;
  if (::wslay_frame_context_init(&context, &callbacks, &frame) != 0) throw std::bad_alloc();
  wslay_frame_iocb whole{};
  whole.fin = 1;
  whole.opcode = WSLAY_TEXT_FRAME;
  whole.payload_length = text.size();
  whole.data = reinterpret_cast<const std::uint8_t*>(text.data());
  whole.data_length = text.size();
  const ssize_t sent = ::wslay_frame_send(context, &whole);
  ::wslay_frame_context_free(context);
  if (sent != static_cast<ssize_t>(text.size())) throw std::bad_alloc();
  return frame;
}

Frames::Frames() {
  const wslay_event_callbacks callbacks = {give, take, nullptr, begun, nullptr, nullptr, came};
  wslay_event_context_ptr context = nullptr;
  if (::wslay_event_context_server_init(&context, &callbacks, this) != 0) throw std::bad_alloc();
  context_.reset(context);
  ::wslay_event_config_set_max_recv_msg_length(context, kMessageMax);
}

Frames::Heard Frames::read(std::string_view bytes) {
  heard_ = {};
  if (is_closed_) return heard_;
  input_ = bytes;
  end_unless(::wslay_event_recv(context_.get()));
  input_ = {};
  write();
  return heard_;
}

void Frames::ping() {
  if (is_closed_) return;
  const wslay_event_msg message = {WSLAY_PING, nullptr, 0};
  end_unless(::wslay_event_queue_msg(context_.get(), &message));
  write();
}

void Frames::close(CloseCode code) {
  if (is_closed_) return;
  end_unless(
      ::wslay_event_queue_close(context_.get(), static_cast<std::uint16_t>(code), nullptr, 0));
  write();
  is_closed_ = true;
}

void Frames::write() {
  end_unless(::wslay_event_send(context_.get()));
  if (::wslay_event_get_close_sent(context_.get()) != 0) is_closed_ = true;
}

// If wslay fails, the conversation ends without a close frame.
void Frames::end_unless(int result) {
  if (result != 0) is_closed_ = true;
}

ssize_t Frames::give(wslay_event_context_ptr context, std::uint8_t* buffer, std::size_t size, int,
                     void* self) {
  std::string_view& input = static_cast<Frames*>(self)->input_;
  if (input.empty()) {
    ::wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
    return -1;
  }
  const std::size_t part = std::min(size, input.size());
  std::memcpy(buffer, input.data(), part);
  input.remove_prefix(part);
  return static_cast<ssize_t>(part);
}

ssize_t Frames::take(wslay_event_context_ptr context, const std::uint8_t* data, std::size_t size,
                     int flags, void* self) {
  const ssize_t taken = append(data, size, flags, &static_cast<Frames*>(self)->output_);
  if (taken < 0) ::wslay_event_set_error(context, WSLAY_ERR_CALLBACK_FAILURE);
  return taken;
}

void Frames::begun(wslay_event_context_ptr, const wslay_event_on_frame_recv_start_arg*,
                   void* self) {
  ++static_cast<Frames*>(self)->heard_.frames;
}

void Frames::came(wslay_event_context_ptr, const wslay_event_on_msg_recv_arg* message, void* self) {
  if (message->opcode == WSLAY_PONG) ++static_cast<Frames*>(self)->heard_.pongs;
}

}  // namespace weir::websocket
