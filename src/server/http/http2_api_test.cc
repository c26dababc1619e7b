#include "server/http/http2_api.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/http2/http2_door.h"
#include "proto/http2/http2_peer_testing.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

class OneService final : public Http2Router {
 public:
  explicit OneService(Http2Service& service) : service_(service) {}
  Http2Service& route(const Http2Stream&) override { return service_; }

 private:
  Http2Service& service_;
};

class Http2ApiTest : public testing::Test {
 protected:
  Http2Reply ask(const Http2Question& question) {
    const auto stream = peer_.ask(question);
    peer_.talk(http.now);
    return peer_.reply(stream);
  }

  TestDoor http;

 private:
  OneService router_{http.door.http2()};
  Http2Door door_{router_};
  Http2Peer peer_{door_, http.now};
};

TEST_F(Http2ApiTest, AnswersAsOverHttp1) {
  const std::string body = R"({"key":"a","limit":3,"window":60})";
  const Http2Reply reply = ask({.path = "/check", .body = body});
  const TestReply other = http.ask(post("/check", body));
  EXPECT_EQ(reply.status, "200");
  EXPECT_EQ(reply.fields.at("x-ratelimit-remaining"), "2");
  EXPECT_EQ(other.fields.at("x-ratelimit-remaining"), "1");
  for (const auto& [name, value] : other.fields) {
    if (name == "x-process-time" || name == "x-ratelimit-remaining" || name == "ratelimit") {
      continue;
    }
    EXPECT_EQ(reply.fields.at(name), value) << name;
  }
  EXPECT_EQ(reply.body.size(), other.body.size());
  EXPECT_NE(reply.body.find(R"("allowed":true,"remaining":2)"), std::string::npos);
}

TEST_F(Http2ApiTest, RoutesAndProblemsAreTheSame) {
  EXPECT_EQ(ask({.method = "GET", .path = "/health"}).status, "200");
  EXPECT_EQ(ask({.method = "GET", .path = "/nowhere"}).status, "404");
  EXPECT_EQ(ask({.method = "GET", .path = "/check"}).status, "405");
  EXPECT_EQ(ask({.method = "GET", .path = "/check"}).fields.at("allow"), "POST");
  EXPECT_EQ(ask({.path = "/check"}).status, "400");
  EXPECT_EQ(ask({.path = "/check", .body = "{"}).status, "400");
  EXPECT_EQ(ask({.path = "/check", .body = std::string((1 << 20) + 1, ' ')}).status, "413");
}

TEST_F(Http2ApiTest, HeadHasNoBody) {
  const Http2Reply reply = ask({.method = "HEAD", .path = "/health"});
  EXPECT_EQ(reply.status, "200");
  EXPECT_EQ(reply.body, "");
  EXPECT_NE(reply.fields.at("content-length"), "0");
}

TEST_F(Http2ApiTest, AdminRoutesAskForTheToken) {
  TestDoor closed({.rules = {}, .access = {.exposure = Exposure::kNetwork, .admin_token = "t"}});
  OneService router(closed.door.http2());
  Http2Door door(router);
  Http2Peer peer(door, closed.now);
  const auto without = peer.ask({.method = "GET", .path = "/admin/stats"});
  const auto with = peer.ask(
      {.method = "GET", .path = "/admin/stats", .fields = {{"authorization", "Bearer t"}}});
  const auto twice =
      peer.ask({.method = "GET",
                .path = "/admin/stats",
                .fields = {{"authorization", "Bearer t"}, {"authorization", "Bearer u"}}});
  peer.talk(closed.now);
  EXPECT_EQ(peer.reply(without).status, "401");
  EXPECT_EQ(peer.reply(with).status, "200");
  EXPECT_EQ(peer.reply(twice).status, "400");
}

}  // namespace
}  // namespace weir
