#include "net/channel.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace weir {
namespace {

using Status = IoResult::Status;

// The most input that is thrown away at once.
constexpr std::size_t kDiscardBytes = std::size_t{64} << 10;

bool is_transient(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

IoResult Channel::read_clear(std::span<char> space) {
  const auto got = ::recv(socket_.get(), space.data(), space.size(), 0);
  if (got > 0) return {.status = Status::kDone, .size = static_cast<std::size_t>(got)};
  if (got == 0) return {.status = Status::kEnd};
  return {.status = is_transient(errno) ? Status::kWantsInput : Status::kBroken};
}

IoResult Channel::write_clear(std::string_view output) {
  const auto sent = ::send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
  if (sent < 0) return {.status = is_transient(errno) ? Status::kWantsOutput : Status::kBroken};
  const auto size = static_cast<std::size_t>(sent);
  return {.status = size == output.size() ? Status::kDone : Status::kWantsOutput, .size = size};
}

bool Channel::finish_writing() {
  if (tls_) tls_->say_goodbye();
  return ::shutdown(socket_.get(), SHUT_WR) == 0;
}

std::optional<std::size_t> Channel::discard_input() {
  std::array<char, kDiscardBytes> rest;
  // For TCP, MSG_TRUNC means: don't copy. Unix sockets copy.
  const auto got = ::recv(socket_.get(), rest.data(), rest.size(), MSG_TRUNC);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got < 0 && is_transient(errno)) return 0;
  return std::nullopt;
}

}  // namespace weir
