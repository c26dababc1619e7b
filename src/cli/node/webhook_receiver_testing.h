// For tests: a webhook's receiver on loopback, which answers each connection as the test says.
//
// Thread rule: one thread; it has another for its connections.

#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/unique_fd.h"

namespace weir::testing {

class WebhookReceiver {
 public:
  static constexpr const char* kHang = "";  // never answers

  // One answer for each connection, in order; the last answer for all further ones.
  explicit WebhookReceiver(std::deque<std::string> answers)
      : answers_(std::move(answers)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    WEIR_ASSERT(::bind(listener_.get(), any, size) == 0 && ::listen(listener_.get(), 16) == 0);
    WEIR_ASSERT(::getsockname(listener_.get(), any, &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~WebhookReceiver() { close(); }

  // From now on it refuses connections.
  void close() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    listener_ = UniqueFd();
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/hook?key=s"; }

  // The next request, as it came.
  std::string next_request() {
    auto lock = std::unique_lock(mutex_);
    const bool came =
        wake_.wait_for(lock, std::chrono::seconds(30), [this] { return !requests_.empty(); });
    if (!came) return "no request came";
    auto request = std::move(requests_.front());
    requests_.pop_front();
    return request;
  }

 private:
  void serve() {
    while (true) {
      UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
      if (peer.get() < 0) return;
      auto request = read_request(peer.get());
      const std::string answer = answers_.front();
      if (answers_.size() > 1) answers_.pop_front();
      (void)::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      if (answer == kHang) open_.push_back(std::move(peer));
      const std::scoped_lock lock(mutex_);
      requests_.push_back(std::move(request));
      wake_.notify_one();
    }
  }

  // Reads to the end of a JSON body.
  static std::string read_request(int peer) {
    std::string request;
    std::string room(4096, '\0');
    while (!request.ends_with('}')) {
      const auto size = ::recv(peer, room.data(), room.size(), 0);
      if (size <= 0) break;
      request.append(room, 0, static_cast<std::size_t>(size));
    }
    return request;
  }

  std::deque<std::string> answers_;
  std::vector<UniqueFd> open_;
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::string> requests_;
  std::thread thread_;
};

}  // namespace weir::testing
