#include "server/http/http_session.h"

#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

std::string check(std::string_view key) {
  return post("/check", "{\"key\":\"" + std::string(key) + "\",\"limit\":2,\"window\":60}");
}

std::string chunked_check(std::string_view key) {
  return "POST /check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
         "8;x=y\r\n{\"key\":\"\r\n" +
         std::string("1\r\n") + std::string(key.substr(0, 1)) +
         "\r\n18\r\n\",\"limit\":2,\"window\":60}\r\n0\r\nTrailer: x\r\n\r\n";
}

// The statuses of an output that consists of replies.
std::vector<int> statuses(std::string_view output) {
  std::vector<int> result;
  while (!output.empty()) {
    const TestReply reply = take_reply(output);
    result.push_back(reply.status);
    if (reply.status == 0) break;
  }
  return result;
}

std::string repeat(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(HttpSession, AnswersAPipelineInOrderAndAtOnce) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  std::string requests;
  for (int i = 0; i < 16; ++i) requests += check("key" + std::to_string(i));
  feed(*session, requests, door.now);

  std::string_view output = session->output();
  for (int i = 0; i < 16; ++i) {
    const TestReply reply = take_reply(output);
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.body.starts_with("{\"key\":\"key" + std::to_string(i) + "\"")) << reply.body;
  }
  EXPECT_TRUE(output.empty());
  EXPECT_EQ(door.store.batches, 1);
  EXPECT_FALSE(session->finished());
}

TEST(HttpSession, KeepsTheOrderOfUnlikeRequests) {
  TestDoor door;
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    requests += check("a") + get("/nothing") + check("b") + check("c") + get("/health") +
                post("/v1/look", R"({"key":"a","limit":2,"window":60})") + post("/check", "{}");
  }
  const std::string output = door.converse(requests);
  std::string_view rest = output;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(take_reply(rest).body.starts_with("{\"key\":\"a\""));
    EXPECT_EQ(take_reply(rest).status, 404);
    EXPECT_TRUE(take_reply(rest).body.starts_with("{\"key\":\"b\""));
    EXPECT_TRUE(take_reply(rest).body.starts_with("{\"key\":\"c\""));
    EXPECT_TRUE(take_reply(rest).body.starts_with("{\"status\":\"ok\""));
    EXPECT_TRUE(take_reply(rest).body.starts_with("{\"key\":\"a\""));
    EXPECT_EQ(take_reply(rest).status, 400);
  }
  EXPECT_TRUE(rest.empty());
}

// Replies must not depend on how the bytes were split on their way.
TEST(HttpSession, SplitsDoNotMatter) {
  const std::string requests = check("a") + "\r\n\r\n" + chunked_check("a") + get("/health") +
                               post("/check", std::string(20'000, ' ') + "{}") +
                               "HEAD /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" +
                               check("a") + chunked_check("b") + "nonsense\r\n" + check("a");
  const std::string whole = TestDoor().converse(requests);
  EXPECT_NE(whole.find(" 400 "), std::string::npos);

  const auto in_pieces = [&](auto next_size) {
    TestDoor door;
    const auto session = door.door.make_session({}, door.now);
    std::string output;
    for (std::size_t at = 0; at < requests.size();) {
      const std::size_t size = std::min(next_size(), requests.size() - at);
      feed(*session, std::string_view(requests).substr(at, size), door.now);
      output += drink(*session, door.now);
      at += size;
    }
    EXPECT_TRUE(session->finished());
    return output;
  };
  EXPECT_EQ(in_pieces([] { return std::size_t{1}; }), whole);
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::size_t bound = 1 + random() % 700;
    ASSERT_EQ(in_pieces([&] { return 1 + random() % bound; }), whole) << seed;
  }
}

TEST(HttpSession, MalformedBytesEndItButNotWhatCameBefore) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  feed(*session, repeat(check("a"), 3) + "\x01garbage" + check("a"), door.now);
  EXPECT_TRUE(session->input_space().empty());
  EXPECT_TRUE(session->finished());
  std::string_view output = session->output();
  EXPECT_EQ(statuses(output), (std::vector{200, 200, 200, 400}));
  EXPECT_NE(output.find("Connection: close\r\n"), std::string_view::npos);
  EXPECT_EQ(door.traffic.summary(door.now).total_denied(), 1u);  // of the three
}

TEST(HttpSession, RefusesWhatIsTooLong) {
  const std::string start = "POST /check HTTP/1.1\r\nHost: a\r\n";
  const auto status = [](const std::string& request) {
    TestDoor door;
    const auto session = door.door.make_session({}, door.now);
    feed(*session, request, door.now);
    EXPECT_TRUE(session->finished());
    const auto all = statuses(session->output());
    return all.size() == 1 ? all[0] : 0;
  };
  EXPECT_EQ(status(start + "X: " + std::string(33'000, 'x')), 431);
  EXPECT_EQ(status(start + repeat("X: y\r\n", 10'000)), 431);
  EXPECT_EQ(status("GET /" + std::string(17'000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
  EXPECT_EQ(status(start + "Content-Length: 1048577\r\n\r\n"), 413);
  EXPECT_EQ(status(start + "Content-Length: 18446744073709551615\r\n\r\n"), 413);
  EXPECT_EQ(status(start + "Transfer-Encoding: chunked\r\n\r\n100001\r\n"), 413);
  EXPECT_EQ(status(start + "Transfer-Encoding: chunked\r\n\r\nnot chunks"), 400);
  EXPECT_EQ(status(start + "Transfer-Encoding: gzip\r\n\r\n"), 501);
  EXPECT_EQ(status("GET / HTTP/2.0\r\n\r\n"), 505);
}

TEST(HttpSession, TakesTheLargestBody) {
  std::string body = R"({"key":"a","limit":2,"window":60})";
  body.append(HttpSession::kBodyMax - body.size(), ' ');
  EXPECT_EQ(TestDoor().ask(post("/check", body)).status, 200);

  TestDoor door;
  char size[16];
  std::snprintf(size, sizeof size, "%zx\r\n", body.size());
  const std::string chunked =
      "POST /check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(size) +
      body + "\r\n0\r\n\r\n";
  EXPECT_EQ(statuses(door.converse(chunked + check("a") + check("a"))),
            (std::vector{200, 200, 200}));
}

TEST(HttpSession, BodiesShorterAndLongerThanTheySay) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  const std::string whole = check("a");
  feed(*session, whole.substr(0, whole.size() - 1), door.now);
  EXPECT_TRUE(session->output().empty());
  session->peer_closed(door.now);
  EXPECT_TRUE(session->output().empty());
  EXPECT_TRUE(session->finished());

  EXPECT_EQ(statuses(door.converse(whole + "}" + whole)), (std::vector{200, 400}));
  EXPECT_EQ(statuses(door.converse(get("/health", "Content-Length: 3\r\n") + "abc" + whole)),
            (std::vector{200, 200}));
}

TEST(HttpSession, InvitesABodyThatWaitsForIt) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  const std::string body = R"({"key":"a","limit":2,"window":60})";
  const std::string request = post("/check", body, "Expect: 100-continue\r\n");
  const std::string head = request.substr(0, request.size() - body.size());
  feed(*session, check("b") + head, door.now);
  const std::string output = drink(*session, door.now);
  EXPECT_EQ(statuses(output), (std::vector{200, 100}));
  EXPECT_TRUE(output.ends_with("HTTP/1.1 100 Continue\r\n\r\n"));
  feed(*session, body.substr(0, 5), door.now);
  EXPECT_EQ(drink(*session, door.now), "");
  feed(*session, body.substr(5), door.now);
  EXPECT_EQ(statuses(drink(*session, door.now)), (std::vector{200}));

  // No invitation if the body is there already, for HTTP/1.0, or if it would be refused.
  EXPECT_EQ(statuses(door.converse(request)), (std::vector{200}));
  EXPECT_EQ(door.converse("POST /check HTTP/1.0\r\nExpect: 100-continue\r\n"
                          "Content-Length: 5\r\n\r\n"),
            "");
  EXPECT_EQ(statuses(door.converse("POST /check HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                                   "Content-Length: 5000000\r\n\r\n")),
            (std::vector{413}));
  EXPECT_EQ(statuses(door.converse(get("/", "Expect: more\r\n"))), (std::vector{417}));
}

TEST(HttpSession, HeadIsGetWithoutTheBody) {
  TestDoor door;
  const std::string with_body = door.converse(get("/openapi.json"));
  const std::string without = door.converse("HEAD /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(without, with_body.substr(0, with_body.find("\r\n\r\n") + 4));
}

TEST(HttpSession, ClosesWhenAsked) {
  const auto closes = [](const std::string& request, std::string_view connection) {
    TestDoor door;
    const auto session = door.door.make_session({}, door.now);
    feed(*session, request + check("behind"), door.now);
    std::string_view output = session->output();
    EXPECT_EQ(take_reply(output).fields["connection"], connection);
    EXPECT_EQ(output.empty(), session->finished());
    return session->finished();
  };
  EXPECT_FALSE(closes(get("/health"), ""));
  EXPECT_TRUE(closes(get("/health", "Connection: close\r\n"), "close"));
  EXPECT_TRUE(closes("GET /health HTTP/1.0\r\n\r\n", "close"));
  EXPECT_FALSE(closes("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive"));
}

TEST(HttpSession, IgnoresEmptyLinesBetweenRequests) {
  TestDoor door;
  EXPECT_EQ(statuses(door.converse("\r\n\r\n" + check("a") + "\r\n" + check("a"))),
            (std::vector{200, 200}));
}

TEST(HttpSession, IdleConnectionsEnd) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  EXPECT_EQ(session->deadline(), door.now + 60s);
  feed(*session, check("a"), door.now + 30s);
  drink(*session, door.now + 30s);
  session->expired(door.now + 35s);  // only cools down
  EXPECT_EQ(session->deadline(), door.now + 90s);
  feed(*session, "\r\n", door.now + 40s);  // no sign of life
  session->expired(door.now + 45s);
  EXPECT_EQ(session->deadline(), door.now + 90s);
  session->expired(door.now + 90s - 1us);
  EXPECT_FALSE(session->finished());
  session->expired(door.now + 90s);
  EXPECT_TRUE(session->finished());
  EXPECT_TRUE(session->output().empty());
}

TEST(HttpSession, IdleConnectionsGiveTheirBuffersBack) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  feed(*session, check("a"), door.now);
  drink(*session, door.now);
  EXPECT_EQ(session->deadline(), door.now + 2s);
  session->expired(door.now + 2s);
  EXPECT_FALSE(session->finished());
  EXPECT_EQ(session->deadline(), door.now + 60s);
  feed(*session, check("a"), door.now + 3s);
  EXPECT_EQ(statuses(drink(*session, door.now + 3s)), (std::vector{200}));
  EXPECT_EQ(session->deadline(), door.now + 5s);
}

TEST(HttpSession, SlowRequestsAreToldSo) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  const std::string request = check("a");
  feed(*session, request + request.substr(0, 1), door.now);
  drink(*session, door.now);
  EXPECT_EQ(session->deadline(), door.now + 10s);
  feed(*session, request.substr(1, 1), door.now + 9s);  // a drop does not help
  EXPECT_EQ(session->deadline(), door.now + 10s);
  session->expired(door.now + 10s);
  EXPECT_TRUE(session->finished());
  EXPECT_EQ(statuses(session->output()), (std::vector{408}));

  // The same within a body.
  const auto another = door.door.make_session({}, door.now);
  feed(*another, request.substr(0, request.size() - 1), door.now);
  another->expired(door.now + 10s);
  EXPECT_EQ(statuses(another->output()), (std::vector{408}));
}

TEST(HttpSession, PeersThatTakeNothingAreGivenUp) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  feed(*session, get("/health"), door.now);
  EXPECT_EQ(session->deadline(), door.now + 30s);
  session->sent(1, door.now + 20s);
  EXPECT_EQ(session->deadline(), door.now + 50s);
  session->expired(door.now + 50s);
  EXPECT_TRUE(session->finished());
  EXPECT_TRUE(session->output().empty());
}

// One read may hold more requests than their replies may take. They wait.
TEST(HttpSession, OutputIsBounded) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  const std::string request = get("/openapi.json");
  std::size_t offered = 0;
  std::size_t largest = 0;
  for (; offered < 10'000; ++offered) {
    const auto space = session->input_space();
    if (space.size() < request.size()) break;
    std::memcpy(space.data(), request.data(), request.size());
    session->received(request.size(), door.now);
    largest = std::max(largest, session->output().size());
  }
  EXPECT_LT(offered, 200u);
  EXPECT_TRUE(session->input_space().empty());
  EXPECT_LT(largest, HttpSession::kLimits.output_max + (64u << 10));

  drink(*session, door.now);
  EXPECT_FALSE(session->input_space().empty());
}

TEST(HttpSession, ConstantPagesAreNotCopied) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  const std::size_t page = door.converse(get("/openapi.json")).size();
  const std::string request = get("/openapi.json");
  for (std::size_t waiting = 0; waiting < HttpSession::kLimits.output_max; waiting += page) {
    feed(*session, request, door.now);
  }
  EXPECT_TRUE(session->input_space().empty());
  EXPECT_LE(session->held(), 16u << 10);
}

// A client sends many requests at once.
TEST(HttpSession, AfterATurnOthersHaveTheirs) {
  struct Yields final : Waker {
    void wake() noexcept override {}
    void yield() noexcept override { ++count; }
    int count = 0;
  };
  TestDoor door;
  Yields others;
  const auto session = door.door.make_session({}, door.now);
  session->attach(others);
  const std::string request = get("/none");
  while (session->input_space().size() < InputBuffer::kComfortable) {
    const std::size_t size = session->input_space().size() / 2 * 2;
    const std::string padding = repeat("\r\n", static_cast<int>(size / 2));
    std::memcpy(session->input_space().data(), padding.data(), padding.size());
    session->received(padding.size(), door.now);
  }
  const std::size_t count = session->input_space().size() / request.size();
  ASSERT_GT(count, 2u * HttpSession::kTurnRequests);
  const std::string requests = repeat(request, static_cast<int>(count));
  std::memcpy(session->input_space().data(), requests.data(), requests.size());
  session->received(requests.size(), door.now);

  std::size_t replies = 0;
  int turns = 1;
  for (;; ++turns) {
    const std::string output = drink(*session, door.now);
    const std::size_t replied = statuses(output).size();
    EXPECT_LE(replied, HttpSession::kTurnRequests);
    EXPECT_LT(output.size(), 2 * HttpSession::kTurnBytes);
    replies += replied;
    if (replies == count || turns > 100) break;
    EXPECT_EQ(others.count, turns);
    EXPECT_TRUE(session->input_space().empty());
    session->woken(door.now);
  }
  EXPECT_EQ(replies, count);
  EXPECT_GT(turns, 2);
  session->woken(door.now);  // the last request may have ended a turn
  EXPECT_FALSE(session->input_space().empty());
}

TEST(HttpSession, HeldBackRequestsGoOnWhenOutputIsTaken) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  const std::string request = get("/openapi.json");
  // Let the buffer grow, then fill it with requests in one read.
  for (int i = 0; i < 20; ++i) {
    const auto space = session->input_space();
    const std::string padding = repeat("\r\n", static_cast<int>(space.size() / 2));
    std::memcpy(space.data(), padding.data(), padding.size());
    session->received(space.size() / 2 * 2, door.now);
  }
  const std::size_t count = session->input_space().size() / request.size();
  const std::string requests = repeat(request, static_cast<int>(count));
  std::memcpy(session->input_space().data(), requests.data(), requests.size());
  session->received(requests.size(), door.now);
  session->peer_closed(door.now);
  EXPECT_FALSE(session->finished());

  std::string output;
  std::size_t rounds = 0;
  for (; !session->output().empty(); ++rounds) {
    EXPECT_LT(session->held(), HttpSession::kLimits.output_max);
    output += session->output();
    session->sent(session->output().size(), door.now);
  }
  EXPECT_EQ(statuses(output).size(), count);
  EXPECT_GT(rounds, 5u);
  EXPECT_TRUE(session->finished());
}

TEST(HttpSession, DrainsWhatHasArrived) {
  TestDoor door;
  const auto idle = door.door.make_session({}, door.now);
  idle->drain();
  EXPECT_TRUE(idle->finished());

  const auto busy = door.door.make_session({}, door.now);
  const std::string request = check("a");
  feed(*busy, request.substr(0, 10), door.now);
  busy->drain();
  EXPECT_FALSE(busy->finished());
  feed(*busy, request.substr(10), door.now);
  EXPECT_TRUE(busy->finished());
  std::string_view output = busy->output();
  EXPECT_EQ(take_reply(output).fields["connection"], "close");

  const auto pipelined = door.door.make_session({}, door.now);
  feed(*pipelined, request.substr(0, 10), door.now);
  pipelined->drain();
  feed(*pipelined, request.substr(10) + request + request, door.now);
  EXPECT_TRUE(pipelined->finished());
  output = pipelined->output();
  EXPECT_EQ(take_reply(output).fields["connection"], "");
  EXPECT_EQ(take_reply(output).fields["connection"], "");
  EXPECT_EQ(take_reply(output).fields["connection"], "close");
}

TEST(HttpSession, StampsEachReplyOnce) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  const auto times = [&] {
    std::vector<std::string> result;
    std::string_view output = session->output();
    while (!output.empty()) result.push_back(take_reply(output).fields["x-process-time"]);
    return result;
  };
  feed(*session, get("/health") + get("/nothing"), door.now);
  session->stamp(1234us);
  EXPECT_EQ(times(), (std::vector<std::string>{"0.001234", "0.001234"}));
  feed(*session, check("a"), door.now);
  session->stamp(1h);
  EXPECT_EQ(times(), (std::vector<std::string>{"0.001234", "0.001234", "9.999999"}));
  session->sent(10, door.now);
  feed(*session, check("a"), door.now);
  session->sent(session->output().size() - 3, door.now);
  session->stamp(1s);
  session->sent(3, door.now);
  feed(*session, check("a"), door.now);
  session->stamp(-1s);
  EXPECT_EQ(times(), (std::vector<std::string>{"0.000000"}));
}

TEST(HttpSession, CountsConnections) {
  TestDoor door;
  const auto one = door.door.make_session({}, door.now);
  auto another = door.door.make_session({}, door.now);
  const auto open = [&] {
    const auto sum = door.node.counts().sum();
    return sum[kHttpOpened] - sum[kHttpClosed];
  };
  EXPECT_EQ(open(), 2u);
  another.reset();
  EXPECT_EQ(open(), 1u);
}

TEST(HttpSession, NewRulesCountFromTheNextRequest) {
  TestDoor door;
  const auto session = door.door.make_session({}, door.now);
  const std::string check = post("/check", R"({"key":"a","rule":"r"})");
  const std::string envoy = post(
      "/json", R"({"domain":"edge","descriptors":[{"entries":[{"key":"user","value":"a"}]}]})");
  feed(*session, check + envoy, door.now);
  EXPECT_EQ(statuses(drink(*session, door.now)), (std::vector{404, 200}));
  door.use_rules(std::make_shared<const RuleSet>(std::vector<Rule>{
      {.id = "r",
       .quota = *Quota::make({.limit = 1, .window = 1min}),
       .descriptor = DescriptorMatch{.domain = "edge", .entries = {{.key = "user"}}}}}));
  feed(*session, check + envoy, door.now);
  EXPECT_EQ(statuses(drink(*session, door.now)), (std::vector{200, 429}));
}

TEST(HttpSession, SaysWhatIsWrongWithAHead) {
  TestDoor door;
  for (const auto& [head, status, part] :
       {std::tuple{"nonsense\r\n\r\n", 400, "not well-formed"},
        {"GET / HTTP/1.1\r\n\r\n", 400, "requires a Host field"},
        {"GET / HTTP/4.0\r\n\r\n", 505, "HTTP/1.0 and HTTP/1.1"}}) {
    const TestReply reply = door.ask(head);
    EXPECT_EQ(reply.status, status) << head;
    EXPECT_NE(reply.body.find(part), std::string::npos) << reply.body;
  }
}

}  // namespace
}  // namespace weir
