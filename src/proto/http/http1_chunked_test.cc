#include "proto/http/http1_chunked.h"

#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace weir::http1 {
namespace {

using Status = ChunkDecoder::Status;

struct Outcome {
  Status status = Status::kNeedMore;
  std::string content;
  std::size_t consumed = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

constexpr std::uint64_t kContentMax = 1'000'000;

// Decodes `coded` in pieces of the sizes that next_size() returns.
template <typename NextSize>
Outcome decode(std::string coded, NextSize next_size) {
  ChunkDecoder decoder(kContentMax);
  Outcome outcome;
  while (outcome.consumed < coded.size() && outcome.status == Status::kNeedMore) {
    const std::size_t size = std::min(next_size(), coded.size() - outcome.consumed);
    const auto step = decoder.decode({coded.data() + outcome.consumed, size});
    outcome.content.append(coded.data() + outcome.consumed, step.produced);
    EXPECT_TRUE(step.status != Status::kNeedMore || step.consumed == size);
    outcome.consumed += step.consumed;
    outcome.status = step.status;
  }
  return outcome;
}

Outcome decode(const std::string& coded) {
  const Outcome whole = decode(coded, [&] { return coded.size(); });
  EXPECT_EQ(decode(coded, [] { return std::size_t{1}; }), whole) << coded.substr(0, 100);
  return whole;
}

// Decodes the same body with Beast's parser.
class BeastBody final : public boost::beast::http::basic_parser<true> {
 public:
  using Error = boost::beast::error_code;
  using Text = boost::beast::string_view;
  std::string content;

 private:
  void on_request_impl(boost::beast::http::verb, Text, Text, int, Error&) override {}
  void on_response_impl(int, Text, int, Error&) override {}
  void on_field_impl(boost::beast::http::field, Text, Text, Error&) override {}
  void on_header_impl(Error&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
  std::size_t on_body_impl(Text text, Error&) override { return text.size(); }
  void on_chunk_header_impl(std::uint64_t, Text, Error&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text text, Error&) override {
    content.append(text.data(), text.size());
    return text.size();
  }
  void on_finish_impl(Error&) override {}
};

Outcome beast_decode(const std::string& coded) {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string bytes = head + coded;
  BeastBody parser;
  parser.eager(true);
  BeastBody::Error error;
  const std::size_t consumed = parser.put({bytes.data(), bytes.size()}, error);
  Outcome outcome{.content = parser.content, .consumed = consumed - head.size()};
  if (error && error != boost::beast::http::error::need_more) outcome.status = Status::kMalformed;
  if (!error && parser.is_done()) outcome.status = Status::kComplete;
  return outcome;
}

TEST(ChunkDecoder, JoinsTheChunks) {
  const std::string coded = "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
  EXPECT_EQ(decode(coded), (Outcome{Status::kComplete, "hello world", coded.size()}));
  EXPECT_EQ(decode(coded + "GET /"), (Outcome{Status::kComplete, "hello world", coded.size()}));
}

TEST(ChunkDecoder, SkipsWhatItDoesNotNeed) {
  EXPECT_EQ(decode("0\r\n\r\n").status, Status::kComplete);
  EXPECT_EQ(decode("00A;name=\"va;lue\" ; b\r\n0123456789\r\n000\r\nX: y\r\nZ:\r\n\r\n").content,
            "0123456789");
  EXPECT_EQ(decode("a \r\n0123456789\r\n0\r\n\r\n").status, Status::kComplete);
}

TEST(ChunkDecoder, RefusesWhatIsMalformed) {
  for (const std::string_view coded : {
           "\r\n",
           "x\r\n",
           "-1\r\n",
           " 5\r\nhello\r\n",
           "0x5\r\nhello\r\n",
           "5\nhello\r\n",
           "5\r\rhello",
           "5\r\nhello\n0\r\n\r\n",
           "5\r\nhelloo\r\n",
           "5;a\nb\r\n",
           "5;\x01\r\n",
           "5,\r\n",
           "0\r\nX: y\n\r\n",
           "0\r\n\rX",
           "0\r\nX: \x7F\r\n",
           "0\r\nX\r\n",
           "0\r\n: x\r\n",
           "0\r\n x: y\r\n",
       }) {
    EXPECT_EQ(decode(std::string(coded)).status, Status::kMalformed) << coded;
  }
}

TEST(ChunkDecoder, HasItsLimits) {
  EXPECT_EQ(decode("F4240\r\n").status, Status::kNeedMore);  // 1,000,000
  EXPECT_EQ(decode("F4241\r\n").status, Status::kTooLong);
  EXPECT_EQ(decode("FFFFFFFFFFFFFFFFFFFFFFFF\r\n").status, Status::kTooLong);
  EXPECT_EQ(decode("1\r\nx\r\nF4240\r\n").status, Status::kTooLong);
  EXPECT_EQ(decode("5;" + std::string(10'000, 'x')).status, Status::kTooLong);
  EXPECT_EQ(decode("0\r\nX: " + std::string(10'000, 'x')).status, Status::kTooLong);
  EXPECT_EQ(decode(std::string(10'000, '0')).status, Status::kTooLong);
  std::string endless;
  for (int i = 0; i < 3'000; ++i) endless += "1;ext\r\nx\r\n";
  EXPECT_EQ(decode(endless).status, Status::kTooLong);
}

// Random bodies, right and slightly wrong, in random pieces. What Beast accepts is accepted with
// the same content. What Beast refuses is refused, except inside of extensions, which are skipped.
TEST(ChunkDecoder, AgreesWithBeast) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  int complete = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string coded;
    for (std::size_t chunk = below(4); chunk > 0; --chunk) {
      const std::string content(1 + below(20), static_cast<char>('a' + below(26)));
      char size[16];
      std::snprintf(size, sizeof size, below(2) == 0 ? "%zx" : "%03zX", content.size());
      coded += size;
      coded += "\r\n" + content + "\r\n";
    }
    coded += "0\r\n";
    if (below(4) == 0) coded += "Name: value\r\n";
    coded += "\r\n";
    if (below(2) == 0) coded[below(coded.size())] = "\r\n0a;x "[below(7)];
    coded += "GET / HT";

    const Outcome ours = decode(coded, [&] { return 1 + below(9); });
    const Outcome theirs = beast_decode(coded);
    ASSERT_EQ(decode(coded), ours) << coded;
    const bool skipped_extension = coded.find_first_of("; ") < coded.find("GET");
    const bool ours_complete = ours.status == Status::kComplete;
    const bool must_agree = ours_complete && !skipped_extension;
    if (theirs.status == Status::kComplete || must_agree) {
      ASSERT_EQ(ours, theirs) << coded;
    }
    complete += ours_complete ? 1 : 0;
  }
  EXPECT_GT(complete, 10'000);
}

}  // namespace
}  // namespace weir::http1
