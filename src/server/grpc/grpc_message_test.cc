#include "server/grpc/grpc_message.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::grpc {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

TEST(GrpcMessage, IsFoundWhenItIsAllThere) {
  const std::string bytes = "\0\0\0\0\x03"s + "abcde";
  for (std::size_t size = 0; size < 8; ++size) {
    EXPECT_EQ(find_message({bytes.data(), size}).framing, Framing::kPartial) << size;
  }
  const Message message = find_message(bytes);
  EXPECT_EQ(message.framing, Framing::kComplete);
  EXPECT_EQ(message.payload, "abc");
  EXPECT_EQ(message.size(), 8u);
}

TEST(GrpcMessage, CompressedOrTooLongIsKnownFromThePrefix) {
  EXPECT_EQ(find_message("\1\0\0\0\1"s).framing, Framing::kCompressed);
  EXPECT_EQ(find_message("\0\xff\xff\xff\xff"s).framing, Framing::kTooLong);
  EXPECT_EQ(find_message("\0\0\x40\0\1"s).framing, Framing::kTooLong);
  EXPECT_EQ(find_message("\0\0\x40\0\0"s).framing, Framing::kPartial);  // 4 MiB
}

TEST(GrpcMessage, Timeouts) {
  EXPECT_EQ(parse_timeout("1H"), 1h);
  EXPECT_EQ(parse_timeout("2M"), 2min);
  EXPECT_EQ(parse_timeout("3S"), 3s);
  EXPECT_EQ(parse_timeout("20m"), 20ms);
  EXPECT_EQ(parse_timeout("5u"), 5us);
  EXPECT_EQ(parse_timeout("5999n"), 5us);
  EXPECT_EQ(parse_timeout("99999999H"), 24h * 365);
  for (const char* bad : {"", "1", "S", "-1S", "+1S", "1.5S", "123456789S", "1x", "1 S", " 1S"}) {
    EXPECT_FALSE(parse_timeout(bad)) << bad;
  }
}

TEST(GrpcMessage, ContentTypes) {
  for (const char* good : {"application/grpc", "application/grpc+proto",
                           "application/grpc;charset=x", "application/grpc+proto;x"}) {
    EXPECT_TRUE(is_grpc(good)) << good;
  }
  for (const char* bad :
       {"", "application/grpc-web", "application/grpc+json", "application/json"}) {
    EXPECT_FALSE(is_grpc(bad)) << bad;
  }
}

TEST(GrpcMessage, MessagesOfAStatusArePercentEncoded) {
  EXPECT_EQ(percent_encode("plain text, with ~"), "plain text, with ~");
  EXPECT_EQ(percent_encode("100%\n\xc3\xa9"), "100%25%0A%C3%A9");
}

}  // namespace
}  // namespace weir::grpc
