#include "proto/http/http1_head.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "proto/http/beast_head_testing.h"

namespace weir::http1 {
namespace {

struct Parsed {
  HeadStatus status;
  RequestHead head;
  Refusal refusal;
  std::vector<NameValue> fields;
};

// A reader that keeps the head must say the same.
void expect_the_same_when_kept(std::string_view arrived, const Parsed& parsed) {
  static HeadReader reader;
  for (int times = 0; times < 9; ++times) {
    Refusal refusal;
    EXPECT_EQ(reader.read(arrived, refusal), parsed.status) << arrived;
    EXPECT_EQ(refusal, parsed.refusal) << arrived;
    EXPECT_TRUE(parsed.status != HeadStatus::kComplete || reader.head() == parsed.head) << arrived;
  }
}

// Asks Beast about each head as well; it must say the same.
Parsed parse(std::string_view arrived) {
  Parsed parsed;
  Parsed judged;
  parsed.status = parse_head(arrived, parsed.head, parsed.fields, parsed.refusal);
  expect_the_same_when_kept(arrived, parsed);
  judged.status = judge_by_beast(arrived.substr(0, kHeadMax), judged.head, judged.refusal);
  if (parsed.refusal.detail == "A header field is folded.") {
    EXPECT_NE(judged.status, HeadStatus::kComplete) << arrived;  // Beast waits for the last line
    return parsed;
  }
  EXPECT_EQ(parsed.status, judged.status) << arrived;
  EXPECT_EQ(parsed.refusal, judged.refusal) << arrived;
  EXPECT_TRUE(parsed.status != HeadStatus::kComplete || parsed.head == judged.head) << arrived;
  return parsed;
}

// The status of the refusal; 200 for a complete head; 0 if more is needed.
int verdict(std::string_view arrived) {
  const Parsed parsed = parse(arrived);
  if (parsed.status == HeadStatus::kNeedMore) return 0;
  if (parsed.status == HeadStatus::kComplete) return 200;
  EXPECT_NE(parsed.refusal.detail, "");
  return parsed.refusal.status;
}

RequestHead complete(std::string_view arrived) {
  const Parsed parsed = parse(arrived);
  EXPECT_EQ(parsed.status, HeadStatus::kComplete) << arrived;
  return parsed.head;
}

TEST(Http1Head, SaysWhatTheRequestIs) {
  const std::string request =
      "POST /check?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\nAccept:  text/plain \r\n"
      "Authorization: Bearer secret\r\n\r\n";
  const std::string arrived = request + "{\"key\":\"a\"}}GET ";
  const RequestHead head = complete(arrived);
  EXPECT_EQ(head.size, request.size());
  EXPECT_EQ(head.method, Method::kPost);
  EXPECT_EQ(head.target, "/check?x=1");
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_EQ(head.accept, "text/plain");
  EXPECT_EQ(head.authorization, "Bearer secret");
  EXPECT_FALSE(head.http_1_0);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.chunked);
  EXPECT_FALSE(head.expects_continue);
}

TEST(Http1Head, KnowsTheMethodsWeAnswer) {
  EXPECT_EQ(complete("GET / HTTP/1.1\r\nHost: a\r\n\r\n").method, Method::kGet);
  EXPECT_EQ(complete("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").method, Method::kHead);
  EXPECT_EQ(complete("POST / HTTP/1.1\r\nHost: a\r\n\r\n").method, Method::kPost);
  EXPECT_EQ(complete("PUT / HTTP/1.1\r\nHost: a\r\n\r\n").method, Method::kPut);
  EXPECT_EQ(complete("PATCH / HTTP/1.1\r\nHost: a\r\n\r\n").method, Method::kPatch);
  EXPECT_EQ(complete("DELETE / HTTP/1.1\r\nHost: a\r\n\r\n").method, Method::kDelete);
  EXPECT_EQ(complete("BREW / HTTP/1.1\r\nHost: a\r\n\r\n").method, Method::kOther);
  EXPECT_EQ(complete("get / HTTP/1.1\r\nHost: a\r\n\r\n").method, Method::kOther);
}

TEST(Http1Head, KeepsTheConnectionAsTheVersionSays) {
  const auto keep_alive = [](std::string_view line, std::string_view fields) {
    return complete(std::string(line) + "\r\nHost: a\r\n" + std::string(fields) + "\r\n")
        .keep_alive;
  };
  EXPECT_TRUE(keep_alive("GET / HTTP/1.1", ""));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.1", "Connection: close\r\n"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.1", "Connection: TE, Close\r\n"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.0", ""));
  EXPECT_TRUE(keep_alive("GET / HTTP/1.0", "Connection: Keep-Alive\r\n"));
}

// Regression: requests with an invalid host were answered like others.
TEST(Http1Head, AHostIsAHost) {
  const auto status = [](std::string_view host) {
    return parse("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n").refusal.status;
  };
  for (const auto* host : {"", "a", "a_b-c.xn--d.example.:80", "[::1]:8080", "b\xC3\xBC.example"}) {
    EXPECT_EQ(status(host), 0) << host;
  }
  for (const auto* none :
       {"a b", "a/b", "user@a", "a?b", "a#b", "<a>", "a\\b", "\"a\"", "a\tb", "a,b"}) {
    EXPECT_EQ(status(none), 400) << none;
  }
}

TEST(Http1Head, JudgesEachFieldAndLine) {
  struct Case {
    std::string_view lines;  // before the empty line
    int status;
  };
  for (const Case& c : {
           Case{"GET / HTTP/1.1\r\nHost: a\r\n", 200},
           Case{"GET / HTTP/1.0\r\n", 200},
           Case{"GET http://a/b HTTP/1.1\r\nHost: a\r\n", 200},
           Case{"OPTIONS * HTTP/1.1\r\nHost: a\r\n", 200},
           Case{"GET / HTTP/1.1\r\nHost: a\r\nX-Latin: \xE9\r\n", 200},
           Case{"GET / HTTP/1.1\r\nHost:\r\n", 200},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n", 200},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n", 200},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n", 200},

           Case{"GET / HTTP/1.1\r\n", 400},                        // no Host
           Case{"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n", 400},  // two
           Case{"GET  / HTTP/1.1\r\nHost: a\r\n", 400},            // two spaces
           Case{"GET / HTTP/1.1 \r\nHost: a\r\n", 400},
           Case{"GET /\r\n", 400},  // HTTP/0.9
           Case{"GET / HTPP/1.1\r\nHost: a\r\n", 400},
           Case{"GET / http/1.1\r\nHost: a\r\n", 400},
           Case{"GET / HTTP/1.1\nHost: a\r\n", 400},  // a bare LF
           Case{"GET / HTTP/1.1\r\nHost: a\n", 400},
           Case{"G(T / HTTP/1.1\r\nHost: a\r\n", 400},
           Case{"GET /\x01 HTTP/1.1\r\nHost: a\r\n", 400},
           Case{"GET / HTTP/1.1\r\nHost a\r\n", 400},    // no colon
           Case{"GET / HTTP/1.1\r\nHost : a\r\n", 400},  // space before it
           Case{"GET / HTTP/1.1\r\n: a\r\n", 400},
           Case{"GET / HTTP/1.1\r\nHost: a\r\nX: b\x7F\r\n", 400},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n", 400},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n", 400},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 2\r\n", 400},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n", 400},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n", 400},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 6\r\n", 400},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n", 400},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n", 400},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
                "Transfer-Encoding: chunked\r\n",
                400},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
                "Content-Length: 5\r\n",
                400},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
                "Transfer-Encoding: chunked\r\n",
                400},
           Case{"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", 400},

           Case{"POST / HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\n", 417},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n", 501},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n", 501},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n", 501},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n", 501},
           Case{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n", 501},
           Case{"GET / HTTP/1.2\r\nHost: a\r\n", 505},
           Case{"GET / HTTP/2.0\r\nHost: a\r\n", 505},
           Case{"GET / HTTP/0.9\r\nHost: a\r\n", 505},
           Case{"PRI * HTTP/2.0\r\n", 505},
       }) {
    EXPECT_EQ(verdict(std::string(c.lines) + "\r\n"), c.status) << c.lines;
  }
}

// Servers differ in what a folded line says.
TEST(Http1Head, RefusesFoldedLinesWhereverTheTextIs) {
  for (const std::string_view folded :
       {"X: b\r\n c\r\n", "X:\r\n c\r\n", "X: \r\n\tc\r\n", "X:\r\n \r\n", "X: b\r\n \r\n",
        "Transfer-Encoding:\r\n chunked\r\n", "Content-Length:\r\n 5\r\n"}) {
    EXPECT_EQ(verdict("POST / HTTP/1.1\r\nHost: a\r\n" + std::string(folded) + "\r\n"), 400)
        << folded;
  }
  EXPECT_EQ(verdict("POST / HTTP/1.1\r\nHost: a\r\nX:\r\nY: c\r\n\r\n"), 200);
}

// Refused at once, before the rest of it comes.
TEST(Http1Head, KnowsNonsenseWhenItSeesIt) {
  EXPECT_EQ(verdict("\x16\x03\x01\x02"), 400);  // TLS
  EXPECT_EQ(verdict("{\"key\""), 400);
  EXPECT_EQ(verdict("this is not http\r\n"), 400);
  EXPECT_EQ(verdict("GET / HTTP/3.0"), 505);
}

TEST(Http1Head, AnyPartOfAHeadNeedsMore) {
  const std::string request = "POST /check HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
  for (std::size_t size = 0; size < request.size(); ++size) {
    EXPECT_EQ(verdict(request.substr(0, size)), 0) << size;
  }
  EXPECT_EQ(verdict(request), 200);
}

TEST(Http1Head, HasItsLimits) {
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  const auto of_size = [&](std::size_t size) {
    return start + std::string(size - start.size() - 4, 'x') + "\r\n\r\n";
  };
  EXPECT_EQ(verdict(of_size(kHeadMax)), 200);
  EXPECT_EQ(verdict(of_size(kHeadMax + 1)), 431);
  EXPECT_EQ(verdict(of_size(kHeadMax + 1).substr(0, kHeadMax - 1)), 0);
  EXPECT_EQ(verdict(of_size(100 * kHeadMax)), 431);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  while (many.size() < 2 * kHeadMax) many += "X: y\r\n";
  EXPECT_EQ(verdict(many), 431);

  const auto with_target = [](std::size_t size) {
    return "GET /" + std::string(size - 1, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  EXPECT_EQ(verdict(with_target(kTargetMax)), 200);
  EXPECT_EQ(verdict(with_target(kTargetMax + 1)), 414);
  EXPECT_EQ(verdict(with_target(10 * kTargetMax)), 414);
  EXPECT_EQ(verdict(std::string(kHeadMax, 'G')), 414);  // it could be anything
}

std::string text_of(std::span<const NameValue> fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    text.append(name).append("=").append(value).append("|");
  }
  return text;
}

// The same fields, by the plainest reading of a well-formed head.
std::string plain_fields_of(std::string_view head) {
  std::string text;
  for (take_until(head, '\n'); head != "\r\n";) {
    std::string_view value = take_until(head, '\n');
    value.remove_suffix(1);
    const std::string_view name = take_until(value, ':');
    text.append(name).append("=").append(trim_blanks(value)).append("|");
  }
  return text;
}

// Heads from the fuzzer's seeds, and from real clients.
std::vector<std::string> usual_heads() {
  std::vector<std::string> heads{
      "POST /check HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
      "Content-Type: application/json\r\nContent-Length: 44\r\n\r\n",
      "GET /auth?a=%20b HTTP/1.1\r\nhost: a\r\nX-Forwarded-For: 1.2.3.4\r\nConnection: "
      "Keep-Alive\r\n"
      "Authorization: Basic YTpi\r\nOrigin: http://a\r\nAccept:\ttext/plain, \t b \r\n\r\n",
      "GET / HTTP/1.1\r\nConnection: close\r\nProxy-Connection: close\r\nHost: [::1]\r\nUpgrade: "
      "x\r\n"
      "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\nX:\r\n\r\n"};
  for (const auto& file : std::filesystem::directory_iterator("../../fuzz/corpus/http_session")) {
    std::ifstream in(file.path(), std::ios::binary);
    heads.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    heads.back().erase(0, 2);  // how the rest is split
  }
  return heads;
}

TEST(Http1Head, AgreesWithBeastOnMutations) {
  const std::vector<std::string> heads = usual_heads();
  ASSERT_GT(heads.size(), 10u);
  constexpr std::string_view kBytes("\0\t\n\r !\",-./059:?@Az~\x7f\x80\xff", 23);
  constexpr std::array<std::string_view, 14> kPieces = {"\r\n",
                                                        "\r\n ",
                                                        "\r\n\r\n",
                                                        "Host: a\r\n",
                                                        "\r\nContent-Length: 5",
                                                        ": ",
                                                        "\t",
                                                        " HTTP/1.0",
                                                        "\r\nConnection: ",
                                                        "close",
                                                        "keep-alive",
                                                        "\r\nTransfer-Encoding: ",
                                                        "chunked",
                                                        "\r\nExpect:"};
  Prng prng(1);
  int complete = 0;
  for (int i = 0; i < 30'000; ++i) {
    const auto any = [&](std::size_t size) { return prng.below(static_cast<std::uint32_t>(size)); };
    std::string head = heads[any(heads.size())];
    for (std::uint32_t edits = any(4); edits > 0 && !head.empty(); --edits) {
      const std::size_t at = any(head.size());
      switch (any(5)) {
        case 0: head[at] = kBytes[any(kBytes.size())]; break;
        case 1: head.erase(at, 1 + any(6)); break;
        case 2: head.insert(at, kPieces[any(kPieces.size())]); break;
        case 3: head.resize(at); break;
        default: head.insert(at, std::string(head, any(head.size()), 1 + any(40)));
      }
    }
    const Parsed parsed = parse(head);
    if (parsed.status == HeadStatus::kComplete) {
      ++complete;
      EXPECT_EQ(text_of(parsed.fields), plain_fields_of(head.substr(0, parsed.head.size)));
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(complete, 5'000);
}

TEST(HeaderFields, AreReadInOrderWithoutBlanksAroundTheirValues) {
  const auto fields_of = [](std::string_view head) { return text_of(parse(head).fields); };
  EXPECT_EQ(fields_of("GET / HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-B:\t b : c \t\r\n\r\n"),
            "Host=a|X-Empty=|X-B=b : c|");
  EXPECT_EQ(fields_of("GET / HTTP/1.0\r\n\r\n"), "");
}

}  // namespace
}  // namespace weir::http1
