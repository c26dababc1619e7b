#include "proto/resp/reply_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <string>

namespace weir::resp {
namespace {

std::string written(Protocol protocol, const std::function<void(ReplyWriter&)>& write) {
  OutputBuffer out;
  ReplyWriter reply(out, protocol);
  write(reply);
  return std::string(out.view());
}

TEST(ReplyWriter, EachValueInBothProtocols) {
  struct Case {
    std::function<void(ReplyWriter&)> write;
    std::string resp2;
    std::string resp3;
  };
  const std::array<Case, 10> cases = {{
      {[](ReplyWriter& r) { r.status("OK"); }, "+OK\r\n", "+OK\r\n"},
      {[](ReplyWriter& r) { r.error("ERR no"); }, "-ERR no\r\n", "-ERR no\r\n"},
      {[](ReplyWriter& r) { r.integer(-7); }, ":-7\r\n", ":-7\r\n"},
      {[](ReplyWriter& r) { r.bulk("a\r\nb"); }, "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"},
      {[](ReplyWriter& r) { r.bulk(""); }, "$0\r\n\r\n", "$0\r\n\r\n"},
      {[](ReplyWriter& r) { r.null(); }, "$-1\r\n", "_\r\n"},
      {[](ReplyWriter& r) { r.array(0); }, "*0\r\n", "*0\r\n"},
      {[](ReplyWriter& r) { r.set(2); }, "*2\r\n", "~2\r\n"},
      {[](ReplyWriter& r) { r.map(3); }, "*6\r\n", "%3\r\n"},
      {[](ReplyWriter& r) { r.verbatim("hi"); }, "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"},
  }};
  for (const Case& c : cases) {
    EXPECT_EQ(written(Protocol::kResp2, c.write), c.resp2);
    EXPECT_EQ(written(Protocol::kResp3, c.write), c.resp3);
  }
}

TEST(ReplyWriter, AnErrorStaysOnItsLine) {
  EXPECT_EQ(written(Protocol::kResp2, [](ReplyWriter& r) { r.error("ERR 'a\r\n+OK\r\n'"); }),
            "-ERR 'a  +OK  '\r\n");
}

TEST(ReplyWriter, IntegersAtTheirEdges) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::array<std::int64_t, 3> numbers = {Limits::min(), 0, Limits::max()};
  EXPECT_EQ(written(Protocol::kResp3, [&](ReplyWriter& r) { r.integers(numbers); }),
            "*3\r\n:-9223372036854775808\r\n:0\r\n:9223372036854775807\r\n");
}

TEST(ReplyWriter, AppendsToWhatWaits) {
  OutputBuffer out;
  out.append("+A\r\n");
  ReplyWriter(out, Protocol::kResp2).status("B");
  EXPECT_EQ(out.view(), "+A\r\n+B\r\n");
}

}  // namespace
}  // namespace weir::resp
