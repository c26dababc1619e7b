// The client against servers of one sentence each.

#include "cli/http/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include "base/unique_fd.h"
#include "net/net_testing.h"
#include "net/server.h"

namespace weir {
namespace {

using testing::HasSubstr;

// Sends its sentence as soon as it receives anything, then ends or waits.
class SentenceSession final : public EchoSession {
 public:
  SentenceSession(std::string sentence, bool ends) : sentence_(std::move(sentence)), ends_(ends) {}
  void received(std::size_t, Instant) override {
    output_ = std::exchange(sentence_, "");
    finished_ = ends_;
  }

 private:
  std::string sentence_;
  bool ends_;
};

Result<HttpReply, Fault> post(const std::string& server, Duration patience) {
  return ask_http({.url = server + "/x", .method = "POST", .body = "{}"}, patience);
}

class HttpClientTest : public testing::Test {
 protected:
  Result<HttpReply, Fault> ask(const std::string& sentence, bool ends = true) {
    auto factory = TestFactory(
        [&](const Peer&, Instant) { return std::make_unique<SentenceSession>(sentence, ends); });
    auto opened =
        Server::open({{.address = address_of("127.0.0.1:0"), .factories = {&factory}}}, {}, clock_);
    const auto& server = *opened;
    server->start();
    server->open_doors();
    const auto patience = ends ? Duration(std::chrono::seconds(20)) : std::chrono::milliseconds(50);
    return post("http://" + server->address(0).to_string(), patience);
  }

  std::string failure(const std::string& sentence, bool ends = true) {
    const auto reply = ask(sentence, ends);
    return reply ? "it answered" : reply.error().message;
  }

  SystemClock clock_;
};

TEST_F(HttpClientTest, ReadsStatusAndBody) {
  const auto reply = ask("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone");
  EXPECT_EQ(reply->status, 404);
  EXPECT_EQ(reply->body, "gone");
}

TEST_F(HttpClientTest, ReadsABodyThatEndsWithTheConnectionOrComesInChunks) {
  EXPECT_EQ(ask("HTTP/1.1 200 OK\r\n\r\nto the end")->body, "to the end");
  EXPECT_EQ(
      ask("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
          ->body,
      "abc");
}

TEST_F(HttpClientTest, SaysWhyThereIsNoReply) {
  EXPECT_THAT(failure("SSH-2.0-OpenSSH_9.2\r\n"), HasSubstr("this is not HTTP"));
  EXPECT_THAT(failure("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"),
              HasSubstr("it closed the connection"));
  EXPECT_THAT(failure("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", false),
              HasSubstr("it took too long"));
}

TEST_F(HttpClientTest, RefusesAReplyWithoutEnd) {
  EXPECT_NE(failure("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"), "it answered");
}

// The client's patience was for each pause: a byte now and then held it for weeks.
TEST_F(HttpClientTest, DoesNotWaitForAServerThatDrips) {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), name, size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), name, &size), 0);
  const auto server = std::jthread([&] {
    constexpr std::string_view kHead = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    const UniqueFd peer(::accept(listener.get(), nullptr, nullptr));
    ::send(peer.get(), kHead.data(), kHead.size(), MSG_NOSIGNAL);
    for (int i = 0; i < 500; ++i) {
      pollfd client{.fd = peer.get(), .events = POLLRDHUP, .revents = 0};
      if (::poll(&client, 1, 10) != 0) return;
      ::send(peer.get(), "x", 1, MSG_NOSIGNAL);
    }
  });
  const auto reply =
      post("127.0.0.1:" + std::to_string(ntohs(address.sin_port)), std::chrono::milliseconds(200));
  ASSERT_FALSE(reply.has_value()) << "it waited for the whole reply";
  EXPECT_THAT(reply.error().message, HasSubstr("it took too long"));
}

TEST_F(HttpClientTest, RefusesAnEndlessReplyInChunks) {
  std::string endless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  for (int i = 0; i < 20; ++i) endless += chunk;
  EXPECT_THAT(failure(endless), HasSubstr("its reply is too long"));
}

TEST_F(HttpClientTest, RefusesAHeadWithoutEnd) {
  std::string endless = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 20'000; ++i) endless += "X-Header: value\r\n";
  EXPECT_NE(failure(endless), "it answered");
}

TEST_F(HttpClientTest, SaysThatNothingListens) {
  auto factory = TestFactory();
  auto opened =
      Server::open({{.address = address_of("127.0.0.1:0"), .factories = {&factory}}}, {}, clock_);
  const auto address = (*opened)->address(0).to_string();
  opened = Fault{};  // closes it
  const auto reply = post(address, std::chrono::seconds(5));
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().message, "nothing listens there; is it running?");
}

}  // namespace
}  // namespace weir
