// The HTTP door over a store that does not answer at once. It sends the same bytes as over a store
// that does, for any requests and any order of answers.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/testing/late_store.h"
#include "proto/http2/http2_door.h"
#include "proto/http2/http2_peer_testing.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

std::string check(std::string_view key) {
  return post("/check", R"({"key":")" + std::string(key) + R"(","limit":3,"window":60})");
}

std::string chunked(std::string_view body) {
  const std::string half(body.substr(0, 10));
  const std::string rest(body.substr(10));
  return "POST /check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\na\r\n" + half +
         "\r\n" + std::string(1, "0123456789abcdef"[rest.size() / 16]) +
         std::string(1, "0123456789abcdef"[rest.size() % 16]) + "\r\n" + rest + "\r\n0\r\n\r\n";
}

std::string auth(std::string_view client) {
  return get("/auth", "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /login\r\nX-Forwarded-For: " +
                          std::string(client) + "\r\n");
}

std::string envoy(std::string_view value) {
  return post("/json", R"({"domain":"edge","descriptors":[{"entries":[{"key":"user","value":")" +
                           std::string(value) + R"("}]}]})");
}

// A rule for requests, with its own denial text; one for descriptors; one in shadow.
std::vector<Rule> late_rules() {
  const Quota quota = *Quota::make({.limit = 2, .window = 1min});
  Rule login{.id = "login",
             .quota = quota,
             .match = RequestMatch(),
             .key_parts = {{.property = KeyPart::Property::kClient}}};
  login.denial.body = *TextTemplate::parse("{{key}} at {{path}}, again in {{retry_after}}");
  Rule shadow = login;
  shadow.id = "shadow";
  shadow.shadow = true;
  shadow.group = "shadow";
  return {std::move(login),
          std::move(shadow),
          {.id = "user",
           .quota = quota,
           .descriptor = DescriptorMatch{.domain = "edge", .entries = {{.key = "user"}}}}};
}

// All requests that decide, and some that may come between them.
std::vector<std::string> requests() {
  return {
      auth("192.0.2.1"),
      auth("192.0.2.1"),
      auth("192.0.2.2"),
      auth("192.0.2.1"),
      envoy("a"),
      envoy("a"),
      envoy("a"),
      post("/check", R"({"rule":"user","key":"a"})"),
      check("a"),
      check("a"),
      chunked(R"({"key":"a","limit":3,"window":60})"),
      check("a"),
      get("/health"),
      chunked(R"({"key":"b","limit":3,"window":60})"),
      post("/v1/check", R"({"checks":[{"key":"c","limit":3,"window":60},)"
                        R"({"key":"a","limit":3,"window":60}],"atomic":true})"),
      post("/v1/check", R"({"checks":[{"key":"c","limit":3,"window":60},)"
                        R"({"key":"d","limit":3,"window":60}]})"),
      post("/check", R"({"key":"a"})"),
      get("/nowhere"),
      check("b"),
      post("/v1/look", R"({"key":"b","limit":3,"window":60})"),
      post("/v1/reset", R"({"key":"b","limit":3,"window":60})"),
      check("b"),
      post("/check", R"({"key":"z","limit":3,"window":60})", "Connection: close\r\n"),
  };
}

std::string all_requests() {
  std::string text;
  for (const std::string& request : requests()) text += request;
  return text;
}

class HttpWaitTest : public ::testing::Test {
 protected:
  struct LateDoor : TestDoor, LateFleet {
    LateDoor()
        : TestDoor({.rules = late_rules(), .access = {}}),
          LateFleet(engine, now, std::make_unique<SummingStore>()) {}
  };

  // A connection that has asked and waits for the answer.
  struct Waiting {
    explicit Waiting(const std::string& requests) {
      session->attach(waker);
      feed(*session, requests, door.now);
    }
    void answer() {
      while (door.late.waiting() > 0) {  // a shadow rule is asked after the others
        door.late.answer_all();
        door.go_on();
      }
      EXPECT_TRUE(waker.woken);
      session->woken(door.now);
    }
    LateDoor door;
    FlagWaker waker;
    std::unique_ptr<Session> session = door.door.make_session({}, door.now);
  };

  // Hands over as much as there is room for, then lets the answers come, until all is answered.
  std::string converse(LateDoor& door, std::string_view text, std::size_t piece) {
    FlagWaker waker;
    const auto session = door.door.make_session({}, door.now);
    session->attach(waker);
    std::string output;
    for (int turn = 0; turn < 10'000 && !session->finished(); ++turn) {
      const std::size_t size = feed_piece(*session, text.substr(0, piece), door.now);
      text.remove_prefix(size);
      if (size == 0 && door.late.waiting() == 0 && text.empty()) break;
      if (size == 0 && door.late.waiting() > 0) door.late.answer_one();
      door.go_on();
      if (std::exchange(waker.woken, false)) session->woken(door.now);
      output += drink(*session, door.now);
    }
    return output;
  }
};

TEST_F(HttpWaitTest, AnswersAsIfItHadNotWaited) {
  TestDoor immediate({.rules = late_rules(), .access = {}});
  const std::string expected = immediate.converse(all_requests());
  ASSERT_NE(expected.find("\"allowed\":false"), std::string::npos);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
    LateDoor door;
    EXPECT_EQ(converse(door, all_requests(), piece), expected) << piece;
  }
}

TEST_F(HttpWaitTest, ChargesAndCountsOnce) {
  LateDoor door;
  std::string text;
  for (int i = 0; i < 40; ++i) text += check("k" + std::to_string(i));
  converse(door, text, 100'000);
  EXPECT_EQ(door.traffic.summary(door.now).total_allowed(), 40u);
  EXPECT_EQ(door.late.asked(), 3);  // sixteen at a time
}

TEST_F(HttpWaitTest, SaysHowLongItWaited) {
  Waiting waiting(check("a"));
  const auto& session = waiting.session;
  EXPECT_TRUE(session->output().empty());
  EXPECT_TRUE(session->input_space().empty());
  EXPECT_EQ(session->deadline(), Instant::max());
  waiting.door.now += 3ms;
  waiting.answer();
  session->stamp(std::chrono::microseconds(5));
  EXPECT_NE(session->output().find("X-Process-Time: 0.003005\r\n"), std::string_view::npos);
}

TEST_F(HttpWaitTest, WhoLeavesMeanwhileIsNotAnswered) {
  Waiting waiting(check("a"));
  waiting.session.reset();
  waiting.door.late.answer_all();
  waiting.door.go_on();
  EXPECT_FALSE(waiting.waker.woken);
}

// An outage shows: proxies, clients and their logs see which answers came without Redis.
TEST_F(HttpWaitTest, AnAnswerOfThisNodeAloneSaysSo) {
  Waiting waiting(check("a") + auth("192.0.2.1") +
                  post("/v1/check", R"({"checks":[{"key":"c","limit":3,"window":60}]})"));
  waiting.answer();
  EXPECT_EQ(waiting.session->output().find("local"), std::string_view::npos);

  Waiting alone(check("a") + auth("192.0.2.1") +
                post("/v1/check", R"({"checks":[{"key":"c","limit":3,"window":60}]})"));
  while (alone.door.late.waiting() > 0) {  // a shadow rule is asked after the others
    while (alone.door.late.waiting() > 0) alone.door.late.fail_one();
    alone.door.go_on();
  }
  alone.answer();  // there is nothing left but to write
  std::string_view output = alone.session->output();
  const std::string json = R"("reset_after":60,"mode":"local"})";
  const auto has_header = [](std::string_view text, std::string_view end) {
    return text.substr(0, text.find(end)).find("\r\nX-Weir-Mode: local") != text.npos;
  };
  EXPECT_TRUE(has_header(output, "\r\n\r\n"));
  EXPECT_NE(take_reply(output).body.find(json), std::string::npos);
  EXPECT_TRUE(has_header(output, "\r\n\r\n"));
  take_reply(output);
  EXPECT_NE(take_reply(output).body.find(json), std::string::npos);
}

TEST_F(HttpWaitTest, WhoHasClosedItsSideIsAnswered) {
  Waiting waiting(check("a"));
  waiting.session->peer_closed(waiting.door.now);
  EXPECT_FALSE(waiting.session->finished());
  waiting.answer();
  EXPECT_NE(waiting.session->output().find("200 OK"), std::string_view::npos);
  EXPECT_TRUE(waiting.session->finished());
}

TEST_F(HttpWaitTest, ADrainWaitsForTheAnswer) {
  Waiting waiting(check("a"));
  waiting.session->drain();
  EXPECT_FALSE(waiting.session->finished());
  waiting.answer();
  EXPECT_NE(waiting.session->output().find("Connection: close"), std::string_view::npos);
  EXPECT_TRUE(waiting.session->finished());
}

TEST_F(HttpWaitTest, AnExplanationWaitsForTheCounters) {
  Waiting waiting(get("/v1/explain?path=/login&client=192.0.2.1"));
  EXPECT_TRUE(waiting.session->output().empty());
  waiting.answer();
  std::string_view output = waiting.session->output();
  const std::string body = take_reply(output).body;
  EXPECT_NE(body.find(R"("rule":"login","key":"192.0.2.1")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("mode":"strict")"), std::string::npos) << body;
}

TEST_F(HttpWaitTest, ACheckThatIsRefusedKeepsItsPlaceBehindThoseThatWait) {
  Waiting waiting(check("a") + post("/check", "{") + check("b"));
  EXPECT_EQ(waiting.door.late.waiting(), 2u);  // each check is asked without waiting for others
  EXPECT_TRUE(waiting.session->output().empty());
  waiting.answer();
  std::string_view output = waiting.session->output();
  for (const int status : {200, 400, 200}) EXPECT_EQ(take_reply(output).status, status);
  EXPECT_TRUE(output.empty());
}

TEST_F(HttpWaitTest, AReplyComesWhenItsTurnHasCome) {
  Waiting waiting(check("a") + post("/v1/look", R"({"key":"b","limit":3,"window":60})"));
  ASSERT_EQ(waiting.door.late.waiting(), 2u);
  waiting.door.late.answer_last();
  waiting.door.go_on();
  waiting.session->woken(waiting.door.now);
  EXPECT_TRUE(waiting.session->output().empty());
  waiting.answer();
  std::string_view output = waiting.session->output();
  EXPECT_NE(take_reply(output).body.find(R"("remaining":2)"), std::string::npos);
  EXPECT_NE(take_reply(output).body.find(R"("remaining":3)"), std::string::npos);
}

TEST_F(HttpWaitTest, AReloadLeavesWhatWaitsItsRules) {
  Waiting waiting(auth("192.0.2.1") + post("/check", R"({"rule":"user","key":"a"})") + envoy("a"));
  waiting.door.door.use_rules(std::make_shared<const RuleSet>());
  waiting.answer();
  std::string_view output = waiting.session->output();
  EXPECT_NE(take_reply(output).fields["ratelimit"].find("login"), std::string::npos);
  EXPECT_NE(take_reply(output).fields["ratelimit"].find("user"), std::string::npos);
  EXPECT_NE(take_reply(output).body.find(R"("requestsPerUnit":2)"), std::string::npos);
}

TEST_F(HttpWaitTest, StreamsOfHttp2WaitEachForItself) {
  LateDoor door;
  struct Router final : Http2Router {
    explicit Router(Http2Service& api) : service(api) {}
    Http2Service& route(const Http2Stream&) override { return service; }
    Http2Service& service;
  } router(door.door.http2());
  Http2Door http2(router);
  Http2Peer peer(http2, door.now);
  FlagWaker waker;
  peer.session().attach(waker);
  const std::string body = R"({"key":"a","limit":3,"window":60})";
  const auto first = peer.ask({.path = "/check", .body = body});
  const auto second = peer.ask({.path = "/v1/look", .body = body});
  peer.talk(door.now);
  ASSERT_EQ(door.late.waiting(), 2u);
  door.late.answer_last();
  door.go_on();
  ASSERT_TRUE(std::exchange(waker.woken, false));
  peer.session().woken(door.now);
  peer.talk(door.now);
  EXPECT_EQ(peer.reply(first).status, "");
  EXPECT_NE(peer.reply(second).body.find(R"("remaining":3)"), std::string::npos);
  door.late.answer_all();
  door.go_on();
  peer.session().woken(door.now);
  peer.talk(door.now);
  EXPECT_NE(peer.reply(first).body.find(R"("remaining":2)"), std::string::npos);
}

TEST_F(HttpWaitTest, AChangeWaitsForTheChecksBeforeIt) {
  Waiting waiting(check("a") + request("DELETE", "/admin/rules/login", ""));
  EXPECT_EQ(waiting.door.desk.last.id, "");
  waiting.answer();
  EXPECT_EQ(waiting.door.desk.last.id, "login");
}

}  // namespace
}  // namespace weir
