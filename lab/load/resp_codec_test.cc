#include "load/resp_codec.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace weir::load {
namespace {

const std::vector<std::string> kThrottle = {"CL.THROTTLE", "{key}", "15", "30", "60"};
const std::string kAllowed = "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n";
const std::string kDenied = "*5\r\n:1\r\n:16\r\n:0\r\n:2\r\n:32\r\n";

// nullopt if the bytes are not the protocol, else how many were used.
std::optional<std::size_t> read(const std::string& bytes, Tally& tally) {
  RespCodec codec(make_command(kThrottle), 1);
  // A copy of exactly this size: a sanitizer sees any read past the end.
  const auto exact = std::make_unique<char[]>(bytes.size());
  bytes.copy(exact.get(), bytes.size());
  return codec.replies({exact.get(), bytes.size()}, tally);
}

TEST(RespCodec, WritesOneCommandAKey) {
  RespCodec codec(make_command(kThrottle), 2);
  const std::string head = "*5\r\n$11\r\nCL.THROTTLE\r\n$9\r\n";
  const std::string tail = "\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n";
  const std::array<std::uint32_t, 2> keys = {0, 0xdeadbeef};
  EXPECT_EQ(codec.requests(keys), head + "k00000000" + tail + head + "kdeadbeef" + tail);
  EXPECT_EQ(codec.requests(std::array<std::uint32_t, 1>{0x12}), head + "k00000012" + tail);
}

TEST(RespCodec, ACommandWithoutAKey) {
  RespCodec codec(make_command(std::vector<std::string>{"PING"}), 2);
  EXPECT_EQ(codec.requests(std::array<std::uint32_t, 2>{1, 2}),
            "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n");
}

TEST(RespCodec, CountsAnswers) {
  const std::string bytes = kAllowed + kDenied + kAllowed + "+PONG\r\n-ERR no\r\n:1\r\n$-1\r\n" +
                            "$5\r\na\r\nbc\r\n*-1\r\n*1\r\n$1\r\n0\r\n*0\r\n";
  Tally tally;
  EXPECT_EQ(read(bytes, tally), bytes.size());
  EXPECT_EQ(tally.replies, 11u);
  EXPECT_EQ(tally.allowed, 2u);
  EXPECT_EQ(tally.denied, 1u);
  EXPECT_EQ(tally.failed, 1u);
}

TEST(RespCodec, LeavesAnIncompleteReply) {
  const std::string bytes = kAllowed + "$3\r\nabc\r\n" + kDenied;
  const std::size_t first = kAllowed.size();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    Tally tally;
    const std::size_t whole = size < first ? 0 : size < first + 9 ? first : first + 9;
    EXPECT_EQ(read(bytes.substr(0, size), tally), whole) << size;
  }
}

TEST(RespCodec, RefusesAnotherProtocol) {
  for (const char* bytes :
       {"HTTP/1.1 200 OK\r\n", ":x\r\n", "$1x\r\n", "$99999999999\r\n", "\n", ":1\n"}) {
    Tally tally;
    EXPECT_EQ(read(bytes, tally), std::nullopt) << bytes;
  }
  Tally tally;
  EXPECT_EQ(read(std::string(20'000, '+'), tally), std::nullopt);
}

}  // namespace
}  // namespace weir::load
