#include "proto/http2/http2_session.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/http2/http2_peer_testing.h"
#include "proto/http2/http2_service_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

class Http2SessionTest : public testing::Test {
 protected:
  static constexpr Instant kStart = instant_from_epoch_us(1'000'000'000'000'000);
  EchoService service;
  Http2Door door{service};
  Http2Peer peer{door, kStart};
  Instant now = kStart;
};

TEST_F(Http2SessionTest, AnswersARequest) {
  const auto stream =
      peer.ask({.path = "/echo?a=b", .fields = {{"x-name", "value"}}, .body = "hi"});
  peer.talk(now);
  const Http2Reply& reply = peer.reply(stream);
  EXPECT_EQ(reply.status, "200");
  EXPECT_EQ(reply.fields.at("x-saw"), "POST /echo?a=b x-name=value host=test");
  EXPECT_EQ(reply.body, "hi");
  EXPECT_TRUE(reply.ended);
  EXPECT_EQ(reply.closed, NGHTTP2_NO_ERROR);
}

// Regression: rules saw a `host` other than the authority, which the proxy's origin saw.
TEST_F(Http2SessionTest, RefusesRequestsForNoHostOrTwo) {
  const auto status = [&](std::string authority, TestFields fields) {
    const auto stream =
        peer.ask({.path = "/echo", .authority = std::move(authority), .fields = std::move(fields)});
    peer.talk(now);
    return peer.reply(stream).status;
  };
  EXPECT_EQ(status("a.example:80", {{"host", "A.Example:80"}}), "200");
  EXPECT_EQ(status("[::1]:80", {}), "200");
  EXPECT_EQ(status("a.example", {{"host", "b.example"}}), "400");
  EXPECT_EQ(status("a.example", {{"host", "a.example:81"}}), "400");
  EXPECT_EQ(status("user@a.example", {}), "400");
  EXPECT_EQ(status("a.example,b.example", {}), "400");
  EXPECT_FALSE(peer.session().finished());
}

// Regression: nghttp2 left such fields out, so rules did not see what an origin may see.
TEST_F(Http2SessionTest, ReadsFieldsWithBlanksAndRefusesThoseWithControlCharacters) {
  const auto ask = [&](std::string name, std::string value) {
    const auto stream =
        peer.ask({.path = "/echo", .fields = {{std::move(name), std::move(value)}}});
    peer.talk(now);
    return peer.reply(stream);
  };
  EXPECT_EQ(ask("x-name", "\t a b \t").fields["x-saw"], "POST /echo x-name=a b host=test");
  for (const std::string value : {"a\x0b", "\x01", "a\nb", "a\x7f"}) {
    EXPECT_EQ(ask("x-name", value).status, "400") << value;
  }
  EXPECT_EQ(ask("x name", "a").status, "400");
  EXPECT_EQ(ask("x-name", "\xff").status, "200");
  EXPECT_FALSE(peer.session().finished());
}

TEST_F(Http2SessionTest, AnEmptyAnswerIsAHeadAlone) {
  const auto stream = peer.ask({.method = "GET", .path = "/nothing"});
  peer.talk(now);
  EXPECT_EQ(peer.reply(stream).status, "204");
  EXPECT_TRUE(peer.reply(stream).ended);
}

TEST_F(Http2SessionTest, AHeadThatCannotBeSentIsNotWaitedFor) {
  const auto vast = peer.ask({.path = "/vast"});
  const auto stream = peer.ask({.path = "/echo", .body = "hi"});
  peer.talk(now);
  EXPECT_EQ(peer.reply(vast).reset_by_them, NGHTTP2_INTERNAL_ERROR);
  EXPECT_EQ(peer.reply(stream).body, "hi");
  EXPECT_FALSE(peer.session().finished());
}

TEST_F(Http2SessionTest, SendsTrailersBehindTheBody) {
  const auto stream = peer.ask({.path = "/trailers", .body = "hi"});
  peer.talk(now);
  EXPECT_EQ(peer.reply(stream).body, "hi");
  EXPECT_EQ(peer.reply(stream).trailers.at("x-status"), "0");
  EXPECT_EQ(peer.reply(stream).closed, NGHTTP2_NO_ERROR);
}

TEST_F(Http2SessionTest, AnswersManyStreamsWithOneWrite) {
  peer.talk(now);  // settings and their acknowledgements
  peer.writes = 0;
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 100; ++i) {
    streams.push_back(peer.ask({.path = "/echo", .body = std::to_string(i)}));
  }
  peer.talk(now);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(peer.reply(streams[static_cast<std::size_t>(i)]).body, std::to_string(i));
  }
  EXPECT_EQ(peer.writes, 1u);
}

TEST_F(Http2SessionTest, LargeBodiesPassThroughBothWindows) {
  const std::string body(1'000'000, 'x');
  const auto stream = peer.ask({.path = "/echo", .body = body});
  peer.talk(now);
  EXPECT_EQ(peer.reply(stream).body, body);
}

// Regression: connections with growing bodies took no turns, as nothing seemed to wait on them.
TEST_F(Http2SessionTest, BodiesThatAreNotCompleteAreInputThatWaits) {
  const auto ask = [&](const char* path, std::size_t size) {
    return peer.ask({.path = path, .body = std::string(size, 'x'), .ends = false});
  };
  const auto ends = ask("/echo", 10'000);
  const auto cut = ask("/echo", 20'000);
  ask("/later", 5'000);  // takes each piece at once
  peer.talk(now);
  EXPECT_EQ(peer.session().input_waiting(), 30'000u);
  peer.send(ends, "more");
  peer.talk(now);
  EXPECT_EQ(peer.session().input_waiting(), 30'004u);
  peer.end(ends);
  peer.talk(now);
  EXPECT_EQ(peer.session().input_waiting(), 20'000u);
  peer.reset(cut);
  peer.talk(now);
  EXPECT_EQ(peer.session().input_waiting(), 0u);
}

TEST_F(Http2SessionTest, ABodyTooLongIsAnsweredBeforeItsEnd) {
  const auto stream = peer.ask(
      {.path = "/echo", .body = std::string(EchoService::kBodyMax + 1, 'x'), .ends = false});
  peer.talk(now);
  EXPECT_EQ(peer.reply(stream).status, "413");
  EXPECT_EQ(peer.reply(stream).reset_by_them, NGHTTP2_NO_ERROR);  // the client may keep the rest
  const auto next = peer.ask({.path = "/echo", .body = "hi"});
  peer.talk(now);
  EXPECT_EQ(peer.reply(next).body, "hi");
}

TEST_F(Http2SessionTest, AHeadTooLongIsRefused) {
  const auto stream = peer.ask({.fields = {{"x", std::string(Http2Session::kHeadMax, 'x')}}});
  const auto next = peer.ask({.path = "/echo", .body = "hi"});
  peer.talk(now);
  EXPECT_EQ(peer.reply(stream).status, "431");
  EXPECT_EQ(peer.reply(next).body, "hi");
}

TEST_F(Http2SessionTest, AnAnswerMayComeLater) {
  const auto stream = peer.ask({.path = "/later", .ends = false});
  peer.talk(now);
  EXPECT_EQ(peer.reply(stream).status, "200");
  EXPECT_FALSE(peer.reply(stream).ended);
  peer.send(stream, "one");
  peer.talk(now);
  EXPECT_EQ(peer.reply(stream).body, "one");
  peer.send(stream, "two");
  peer.end(stream);
  peer.talk(now + 1h);  // it has no deadline
  EXPECT_EQ(peer.reply(stream).body, "onetwo");
  EXPECT_TRUE(peer.reply(stream).ended);
}

TEST_F(Http2SessionTest, AStreamThatThePeerResetIsGone) {
  const auto stream = peer.ask({.path = "/later", .ends = false});
  peer.talk(now);
  peer.reset(stream);
  const auto next = peer.ask({.path = "/echo", .body = "hi"});
  peer.talk(now);
  EXPECT_EQ(peer.reply(next).body, "hi");
}

TEST_F(Http2SessionTest, ARequestThatTakesTooLongIsCut) {
  const auto slow = peer.ask({.path = "/echo", .body = "h", .ends = false});
  peer.talk(now);
  EXPECT_EQ(peer.session().deadline(), now + Http2Session::kRequestMax);
  now += Http2Session::kRequestMax;
  peer.session().expired(now);
  peer.talk(now);
  EXPECT_EQ(peer.reply(slow).reset_by_them, NGHTTP2_CANCEL);
  EXPECT_FALSE(peer.session().finished());
}

TEST_F(Http2SessionTest, WhoOpensNoWindowIsGivenUp) {
  Http2Peer narrow(door, now);
  narrow.window = 1;
  const auto stream = narrow.ask({.path = "/trailers", .body = std::string(70'000, 'x')});
  narrow.reads = false;
  narrow.talk(now);
  const std::string held(narrow.session().output());
  narrow.session().sent(held.size(), now);  // taken, but no window is given back
  now = narrow.session().deadline();
  narrow.session().expired(now);
  narrow.reads = true;
  EXPECT_FALSE(narrow.session().output().empty());  // RST_STREAM
  EXPECT_GT(stream, 0);
}

TEST_F(Http2SessionTest, AnIdleConnectionIsClosedInPeace) {
  peer.talk(now);
  now += Http2Session::kIdleMax;
  ASSERT_EQ(peer.session().deadline(), now);
  peer.session().expired(now);
  peer.talk(now);
  EXPECT_EQ(peer.goaway, NGHTTP2_NO_ERROR);
  EXPECT_TRUE(peer.session().finished());
}

TEST_F(Http2SessionTest, DrainingForbidsNothingBeforeARoundTrip) {
  const auto first = peer.ask({.path = "/later", .ends = false});
  peer.talk(now);
  peer.reads = false;
  peer.session().drain();
  const auto crossing = peer.ask({.path = "/echo", .body = "hi"});  // sent before GOAWAY comes
  peer.talk(now);
  peer.reads = true;
  peer.talk(now);
  EXPECT_EQ(peer.reply(crossing).body, "hi");
  EXPECT_EQ(peer.reply(first).body, "bye");  // its service was told
  EXPECT_EQ(peer.goaway, NGHTTP2_NO_ERROR);
  EXPECT_TRUE(peer.session().finished());
}

TEST_F(Http2SessionTest, DrainingWaitsForRequestsUnderWay) {
  const auto slow = peer.ask({.path = "/echo", .body = "h", .ends = false});
  peer.talk(now);
  peer.session().drain();
  peer.talk(now);
  EXPECT_FALSE(peer.session().finished());
  peer.send(slow, "i");
  peer.end(slow);
  peer.talk(now);
  EXPECT_EQ(peer.reply(slow).body, "hi");
  EXPECT_EQ(peer.goaway_stream, slow);
  EXPECT_TRUE(peer.session().finished());
}

TEST_F(Http2SessionTest, DrainingDoesNotNeedTheAnswerToThePing) {
  peer.talk(now);
  peer.reads = false;
  peer.session().drain();
  peer.session().sent(peer.session().output().size(), now);
  peer.session().expired(now);  // learns the time
  now = peer.session().deadline();
  peer.session().expired(now);
  EXPECT_TRUE(peer.session().finished());
}

TEST_F(Http2SessionTest, ConnectionsCloseAtAnAgeOfTheirOwn) {
  Http2Door aging(service, {.age_max = 100s, .seed = 1});
  std::vector<Duration> ages;
  for (int i = 0; i < 20; ++i) {
    Http2Peer old(aging, now);
    old.talk(now);
    ages.push_back(old.session().deadline() - now);
    EXPECT_GE(ages.back(), 90s);
    EXPECT_LE(ages.back(), 110s);
    old.session().expired(now + ages.back());
    old.talk(now + ages.back());
    EXPECT_EQ(old.goaway, NGHTTP2_NO_ERROR);
    EXPECT_TRUE(old.session().finished());
  }
  EXPECT_NE(ages[0], ages[1]);
}

TEST_F(Http2SessionTest, NothingIsReadWhileOutputPilesUp) {
  peer.window = 1 << 30;
  peer.reads = false;
  for (int i = 0; i < 3; ++i) peer.ask({.path = "/echo", .body = std::string(900'000, 'x')});
  // The connection's window is the peer's own, and it opens a large one.
  peer.talk(now);
  const auto after = peer.ask({.path = "/echo", .body = "hi"});
  peer.reads = true;
  peer.talk(now);
  EXPECT_EQ(peer.reply(after).body, "hi");
}

TEST_F(Http2SessionTest, AfterThePeersEndWhatIsDueIsSent) {
  const auto stream = peer.ask({.path = "/echo", .body = "hi"});
  peer.reads = false;
  peer.talk(now);
  peer.session().peer_closed(now);
  EXPECT_TRUE(peer.session().finished());
  peer.reads = true;
  peer.talk(now);
  EXPECT_EQ(peer.reply(stream).body, "hi");
}

}  // namespace
}  // namespace weir
