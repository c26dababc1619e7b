// The client against servers of one sentence each.

#include "cli/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

class HttpClientTest : public testing::Test {
 protected:
  HttpReply ask(const std::string& sentence, bool ends = true) {
    auto factory = TestFactory(
        [&](const Peer&, Instant) { return std::make_unique<SentenceSession>(sentence, ends); });
    auto opened =
        Server::open({{.address = address_of("127.0.0.1:0"), .factories = {&factory}}}, {}, clock_);
    const auto& server = std::get<std::unique_ptr<Server>>(opened);
    server->start();
    const auto patience = ends ? Duration(std::chrono::seconds(20)) : std::chrono::milliseconds(50);
    return post_json("http://" + server->address(0).to_string(), "/x", "{}", patience);
  }

  std::string failure(const std::string& sentence, bool ends = true) {
    try {
      ask(sentence, ends);
    } catch (const HttpClientError& error) {
      return error.what();
    }
    return "it answered";
  }

  SystemClock clock_;
};

TEST_F(HttpClientTest, ReadsStatusAndBody) {
  const auto reply = ask("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.body, "gone");
}

TEST_F(HttpClientTest, ReadsABodyThatEndsWithTheConnectionOrComesInChunks) {
  EXPECT_EQ(ask("HTTP/1.1 200 OK\r\n\r\nto the end").body, "to the end");
  EXPECT_EQ(
      ask("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
          .body,
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

TEST_F(HttpClientTest, SaysThatNothingListens) {
  auto factory = TestFactory();
  auto opened =
      Server::open({{.address = address_of("127.0.0.1:0"), .factories = {&factory}}}, {}, clock_);
  const auto address = std::get<std::unique_ptr<Server>>(opened)->address(0).to_string();
  opened = StartError{};  // closes it
  try {
    post_json(address, "/x", "{}", std::chrono::seconds(5));
    FAIL();
  } catch (const HttpClientError& error) {
    EXPECT_EQ(error.what(),
              "no answer from " + address + ": nothing listens there; is weir running?");
  }
}

}  // namespace
}  // namespace weir
