#include "load/connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace weir::load {
namespace {

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

LoadError failure(const Target& target, const char* what) {
  return LoadError("cannot " + std::string(what) + " " + target.authority + ": " +
                   std::strerror(errno));
}

void connect_to(int descriptor, const Target& target) {
  const timeval timeout{.tv_sec = Connection::kConnectTimeoutS, .tv_usec = 0};
  // The send timeout also bounds connect(). From O_NONBLOCK on it has no effect.
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (::connect(descriptor, target.socket_address(), target.address_size) != 0) {
    throw failure(target, "connect to");
  }
  // A batch is one write; waiting for more would only add latency.
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
}

}  // namespace

Connection::Connection(const Target& target, std::unique_ptr<Codec> codec, std::size_t depth)
    : socket_(::socket(target.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      codec_(std::move(codec)),
      sent_at_(depth) {
  if (!socket_.is_open()) throw failure(target, "open a socket for");
  connect_to(descriptor(), target);
}

Connection::Io Connection::send(std::span<const std::uint32_t> keys,
                                std::span<const Time> sent_at) {
  WEIR_ASSERT(keys.size() == sent_at.size() && keys.size() <= room());
  std::size_t slot = oldest_ + outstanding_;
  for (const Time time : sent_at) {
    if (slot >= sent_at_.size()) slot -= sent_at_.size();
    sent_at_[slot++] = time;
  }
  outstanding_ += keys.size();
  unsent_ = codec_->requests(keys);
  return flush();
}

Connection::Io Connection::flush() {
  if (unsent_.empty()) return Io::kDone;
  const ssize_t written = ::send(descriptor(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  if (written < 0) return would_block() ? Io::kBlocked : Io::kClosed;
  unsent_.remove_prefix(static_cast<std::size_t>(written));
  return unsent_.empty() ? Io::kDone : Io::kBlocked;
}

Connection::Io Connection::receive(std::span<char> buffer, Outcome& outcome) {
  const std::size_t held = partial_.copy(buffer.data(), buffer.size());
  const ssize_t read = ::recv(descriptor(), buffer.data() + held, buffer.size() - held, 0);
  const Time now = LoadClock::now();
  if (read <= 0) return read < 0 && would_block() ? Io::kDone : Io::kClosed;

  const std::string_view bytes(buffer.data(), held + static_cast<std::size_t>(read));
  Tally tally;
  const std::optional<std::size_t> used = codec_->replies(bytes, tally);
  // A server that sends more replies than it has requests does not speak the protocol.
  if (!used || tally.replies > outstanding_) return Io::kClosed;
  account(tally.replies, now, outcome.latency);
  outcome.tally += tally;
  if (tally.replies > 0) outcome.last_reply = now;

  partial_.assign(bytes.substr(*used));
  // A reply that does not fit the buffer never becomes complete.
  return partial_.size() < buffer.size() ? Io::kDone : Io::kClosed;
}

void Connection::abandon(Time now, Histogram& latency) { account(outstanding_, now, latency); }

void Connection::account(std::uint64_t replies, Time now, Histogram& latency) {
  for (std::uint64_t reply = 0; reply < replies; ++reply) {
    latency.record(now - sent_at_[oldest_]);
    if (++oldest_ == sent_at_.size()) oldest_ = 0;
  }
  outstanding_ -= replies;
}

}  // namespace weir::load
