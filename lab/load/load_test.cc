// The load generator against servers of three lines, good and bad.

#include "load/load.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "load/http_codec.h"

namespace weir::load {
namespace {

using namespace std::chrono_literals;

const std::string kAllowed = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"allowed\":true}";

std::string times(std::uint64_t count, const std::string& text) {
  std::string out;
  for (std::uint64_t index = 0; index < count; ++index) out += text;
  return out;
}

// A server on a free port of loopback. Counts the GET requests that arrive and passes the number of
// new ones to a function that returns the text to send; "" closes.
class TestServer {
 public:
  static constexpr char kSilence[] = "silence";
  using Answer = std::function<std::string(std::uint64_t requests)>;

  explicit TestServer(Answer answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* name = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, name, size), 0);
    EXPECT_EQ(::listen(listener_, 128), 0);
    EXPECT_EQ(::getsockname(listener_, name, &size), 0);
    target_ = resolve_target("127.0.0.1:" + std::to_string(ntohs(address.sin_port)),
                             Reach::kLoopbackOnly);
    stop_ = ::eventfd(0, 0);
    thread_ = std::jthread([this] { serve(); });
  }

  ~TestServer() {
    stop();
    ::close(stop_);
  }

  // After this nobody listens there.
  void stop() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(stop_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    thread_.join();
  }

  const Target& target() const { return target_; }

 private:
  void serve() {
    std::vector<pollfd> sockets = {{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    while (::poll(sockets.data(), sockets.size(), -1) > 0 && sockets[0].revents == 0) {
      const std::size_t known = sockets.size();
      if (sockets[1].revents != 0)
        sockets.push_back({::accept(listener_, nullptr, nullptr), POLLIN, 0});
      for (std::size_t index = 2; index < known; ++index) {
        if (sockets[index].revents != 0 && !converse(sockets[index].fd)) {
          ::close(sockets[index].fd);
          sockets[index].fd = -1;  // poll ignores it
        }
      }
      std::erase_if(sockets, [](const pollfd& socket) { return socket.fd < 0; });
    }
    for (std::size_t index = 1; index < sockets.size(); ++index) ::close(sockets[index].fd);
  }

  bool converse(int socket) {
    std::array<char, 65'536> bytes;
    const ssize_t size = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (size <= 0) return false;
    // Requests have no body and one letter G each, in GET.
    const auto requests = std::count(bytes.data(), bytes.data() + size, 'G');
    const std::string reply = answer_(static_cast<std::uint64_t>(requests));
    if (reply == kSilence) return true;
    ::send(socket, reply.data(), reply.size(), MSG_NOSIGNAL);
    return !reply.empty();
  }

  Answer answer_;
  int listener_ = -1;
  int stop_ = -1;
  Target target_;
  std::jthread thread_;
};

LoadResult run(const TestServer& server, const LoadPlan& plan) {
  const Request request = make_get({.authority = "h", .path = "/"});
  return run_load(server.target(), plan,
                  [&](std::size_t depth) { return std::make_unique<HttpCodec>(request, depth); });
}

LoadPlan short_plan() { return {.connections = 4, .duration = 100ms, .drain = 50ms, .seed = 1}; }

TEST(Load, ClosedLoopCountsEveryReply) {
  std::atomic<std::uint64_t> asked = 0;
  TestServer server([&](std::uint64_t requests) {
    asked += requests;
    return times(requests, kAllowed);
  });
  for (const std::size_t depth : {1, 16}) {
    asked = 0;
    LoadPlan plan = short_plan();
    plan.depth = depth;
    plan.drain = 10s;  // however busy the machine is, all are answered
    const LoadResult result = run(server, plan);
    EXPECT_GT(result.outcome.tally.replies, 0U);
    EXPECT_EQ(result.outcome.tally.replies, asked);
    EXPECT_EQ(result.outcome.tally.allowed, asked);
    EXPECT_EQ(result.outcome.latency.count(), asked);
    EXPECT_EQ(result.errors(), 0U);
    EXPECT_EQ(result.reconnects, 0U);
  }
}

TEST(Load, ThreadsShareTheConnections) {
  TestServer server([](std::uint64_t requests) { return times(requests, kAllowed); });
  LoadPlan plan = short_plan();
  plan.threads = 3;
  plan.requests_max = 1'000;
  plan.duration = 20s;
  const LoadResult result = run(server, plan);
  EXPECT_EQ(result.outcome.tally.replies, 1'000U);
  EXPECT_LT(result.elapsed, 20s);
}

TEST(Load, RequestsMaxEndsARun) {
  TestServer server([](std::uint64_t requests) { return times(requests, kAllowed); });
  LoadPlan plan = short_plan();
  plan.depth = 7;
  plan.duration = 20s;
  plan.requests_max = 100;  // no multiple of the depth
  EXPECT_EQ(run(server, plan).outcome.tally.replies, 100U);
  plan.rate = 50'000;
  EXPECT_EQ(run(server, plan).outcome.tally.replies, 100U);
}

TEST(Load, OpenLoopKeepsTheSchedule) {
  TestServer server([](std::uint64_t requests) { return times(requests, kAllowed); });
  LoadPlan plan = short_plan();
  plan.rate = 2'000;
  plan.drain = 10s;
  const LoadResult result = run(server, plan);
  // All of them: a busy machine sends late requests late, and leaves none out.
  EXPECT_EQ(result.outcome.tally.replies + result.unsent, 200U);
  EXPECT_EQ(result.outcome.latency.count(), 200U);
}

// A server that stalls is charged for the requests it kept from being sent.
TEST(Load, NoCoordinatedOmission) {
  TestServer server([](std::uint64_t) { return std::string(TestServer::kSilence); });
  LoadPlan plan = short_plan();
  plan.connections = 1;
  plan.rate = 1'000;
  const LoadResult result = run(server, plan);
  EXPECT_EQ(result.unanswered, 1U);
  EXPECT_EQ(result.unsent, 99U);
  EXPECT_EQ(result.errors(), 100U);
  ASSERT_EQ(result.outcome.latency.count(), 100U);
  // The first was due at 0, the last at 99 ms; both waited until 150 ms at least.
  EXPECT_GE(result.outcome.latency.max(), 150ms);
  EXPECT_GE(result.outcome.latency.at(0.01), 51ms);
  EXPECT_GE(result.outcome.latency.at(0.5), 100ms);
}

TEST(Load, UnansweredIsAnErrorInAClosedLoop) {
  TestServer server([](std::uint64_t) { return std::string(TestServer::kSilence); });
  const LoadResult result = run(server, short_plan());
  EXPECT_EQ(result.outcome.tally.replies, 0U);
  EXPECT_EQ(result.unanswered, 4U);
  EXPECT_EQ(result.outcome.latency.count(), 4U);
}

TEST(Load, ReconnectsWhenTheServerCloses) {
  std::atomic<std::uint64_t> calls = 0;
  TestServer server([&](std::uint64_t requests) {
    return ++calls % 3 == 0 ? std::string() : times(requests, kAllowed);
  });
  LoadPlan plan = short_plan();
  plan.duration = 20s;
  plan.requests_max = 500;
  const LoadResult result = run(server, plan);
  EXPECT_EQ(result.outcome.tally.replies + result.lost, 500U);
  EXPECT_GE(result.lost, 100U);
  EXPECT_GE(result.reconnects, result.lost - 1);
}

TEST(Load, BytesThatAreNotTheProtocol) {
  TestServer server([](std::uint64_t) { return std::string("-ERR unknown command 'GET'\r\n"); });
  LoadPlan plan = short_plan();
  plan.requests_max = 20;
  const LoadResult result = run(server, plan);
  EXPECT_EQ(result.outcome.tally.replies, 0U);
  EXPECT_EQ(result.lost, 20U);
}

TEST(Load, MoreRepliesThanRequests) {
  TestServer server([](std::uint64_t requests) { return times(requests + 1, kAllowed); });
  LoadPlan plan = short_plan();
  plan.requests_max = 20;
  EXPECT_EQ(run(server, plan).lost, 20U);
}

TEST(Load, RepliesInPieces) {
  // Half of the newest reply is always held back, until the next request.
  std::uint64_t asked = 0;
  std::size_t sent = 0;
  TestServer server([&](std::uint64_t requests) {
    asked += requests;
    const std::string piece = times(asked, kAllowed).substr(sent);
    sent = asked * kAllowed.size() - kAllowed.size() / 2;
    return piece.substr(0, piece.size() - kAllowed.size() / 2);
  });
  LoadPlan plan = short_plan();
  plan.connections = 1;
  plan.depth = 8;
  plan.rate = 1'000;
  const LoadResult result = run(server, plan);
  EXPECT_EQ(result.lost, 0U);
  EXPECT_EQ(result.unanswered, 1U);
  EXPECT_EQ(result.outcome.tally.replies + result.unanswered + result.unsent, 100U);
}

TEST(Load, EndsWhenTheServerIsGone) {
  auto server = std::make_unique<TestServer>([](std::uint64_t) { return std::string(); });
  LoadPlan plan = short_plan();
  plan.duration = 60s;
  std::jthread stopper([&] { server->stop(); });
  // Either nothing could be connected, or the run noticed and ended.
  try {
    EXPECT_LT(run(*server, plan).elapsed, 60s);
  } catch (const LoadError&) {
  }
}

TEST(Load, NobodyListens) {
  TestServer server([](std::uint64_t) { return std::string(); });
  server.stop();
  EXPECT_THROW(run(server, short_plan()), LoadError);
}

}  // namespace
}  // namespace weir::load
