// Shared by the tests of this folder: a clock moved by hand, sessions of a few lines, and a client
// that blocks. Nothing here waits for a fixed time.

#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "net/sockets/address.h"
#include "proto/session.h"
#include "weir/clock.h"

namespace weir {

class ManualClock final : public Clock {
 public:
  Instant now() const noexcept override {
    reads_.fetch_add(1);
    return instant_from_epoch_us(now_us_.load());
  }
  void advance(Duration step) { now_us_.fetch_add(step.count()); }
  std::uint64_t reads() const { return reads_.load(); }

 private:
  std::atomic<std::int64_t> now_us_{1'000'000'000};
  mutable std::atomic<std::uint64_t> reads_{0};
};

// Sends its input back, like a protocol would: a bounded buffer, no input while it is full, and an
// end when the peer ends. Tests override the functions that they test.
class EchoSession : public Session {
 public:
  void attach(Waker& waker) override { waker_ = &waker; }
  void woken(Instant) override {}
  std::span<char> input_space() override {
    return output_.size() < kOutputMax ? std::span(buffer_) : std::span<char>();
  }
  void received(std::size_t size, Instant) override { output_.append(buffer_.data(), size); }
  void peer_closed(Instant) override { finished_ = true; }
  std::string_view output() const override { return output_; }
  void sent(std::size_t size, Instant) override { output_.erase(0, size); }
  void stamp(Duration) override {}
  Instant deadline() const override { return deadline_; }
  void expired(Instant) override { finished_ = true; }
  void drain() override { finished_ = true; }
  bool finished() const override { return finished_; }

 protected:
  static constexpr std::size_t kOutputMax = 64 * 1024;
  std::array<char, 4'096> buffer_{};
  std::string output_;
  Waker* waker_ = nullptr;
  Instant deadline_ = Instant::max();
  bool finished_ = false;
};

// Replies to anything, then wants no more.
struct OneReplySession : EchoSession {
  void received(std::size_t, Instant) override {
    output_ = "no";
    finished_ = true;
  }
};

class TestFactory final : public SessionFactory {
 public:
  using Make = std::function<std::unique_ptr<Session>(const Peer&, Instant)>;
  explicit TestFactory(Make make = [](const Peer&,
                                      Instant) { return std::make_unique<EchoSession>(); })
      : make_(std::move(make)) {}
  std::unique_ptr<Session> make_session(const Peer& peer, Instant now) override {
    return make_(peer, now);
  }

 private:
  Make make_;
};

inline Address address_of(std::string_view text) {
  auto parsed = Address::parse(text);
  return *parsed;
}

class TestClient {
 public:
  explicit TestClient(int family = AF_INET)
      : socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // A bound for a test that fails, not a wait.
    const auto patience = timeval{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  explicit TestClient(const Address& address) : TestClient(address.family()) { connect(address); }

  void connect(const Address& address) {
    ASSERT_EQ(::connect(socket_.get(), address.data(), address.size()), 0) << errno;
  }
  // False if the peer has reset the connection.
  bool send(std::string_view bytes) {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  void finish_sending() { ::shutdown(socket_.get(), SHUT_WR); }

  // Reads until there are `size` bytes, or the end; see how_it_ended().
  std::string receive(std::size_t size) {
    auto text = std::string(size, '\0');
    std::size_t filled = 0;
    while (filled < size) {
      const auto got = ::recv(socket_.get(), text.data() + filled, size - filled, 0);
      error_ = got < 0 ? errno : 0;
      if (got <= 0) break;
      filled += static_cast<std::size_t>(got);
    }
    text.resize(filled);
    return text;
  }
  std::string ask(std::string_view bytes) {
    return send(bytes) ? receive(bytes.size()) : std::string();
  }
  // Reads to the end: 0 if the peer closed, else the error, ECONNRESET for instance.
  int read_to_end() {
    while (receive(4'096).size() == 4'096) {
    }
    return error_;
  }
  bool has_input() const {
    auto state = pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&state, 1, 0) == 1;
  }
  int fd() const { return socket_.get(); }

 private:
  UniqueFd socket_;
  int error_ = 0;
};

}  // namespace weir
