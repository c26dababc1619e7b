#include "store/redis/client/cluster_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/resp/reply_reader.h"

namespace weir {
namespace {

const Destination kTeller{.host = "teller", .port = 7, .encryption = Encryption::kTls};

std::string node(const std::string& host, int port) {
  return "*4\r\n$" + std::to_string(host.size()) + "\r\n" + host + "\r\n:" + std::to_string(port) +
         "\r\n+id\r\n*0\r\n";
}

ClusterMap parsed(const std::string& bytes) {
  resp::ReplyReader reader;
  EXPECT_EQ(reader.read(bytes), resp::ReplyReader::Status::kReply);
  return ClusterMap::parse(reader.reply(), kTeller);
}

// "0-5:a:1 6-9:b:2 (replicas c:3)"
std::string shown(const ClusterMap& map) {
  std::string text;
  for (const auto& range : map.ranges) {
    text += std::to_string(range.first) + "-" + std::to_string(range.last) + ":" +
            map.masters[range.master].to_string() + " ";
  }
  for (const auto& replica : map.replicas) text += "(" + replica.to_string() + ")";
  return text;
}

TEST(ClusterMap, KnowsMastersRangesAndReplicas) {
  const auto map =
      parsed("*3\r\n*4\r\n:0\r\n:5\r\n" + node("a", 1) + node("c", 3) + "*3\r\n:6\r\n:9\r\n" +
             node("b", 2) + "*3\r\n:10\r\n:10\r\n" + node("a", 1));
  EXPECT_EQ(shown(map), "0-5:a:1 6-9:b:2 10-10:a:1 (c:3)");
  EXPECT_EQ(map.masters.size(), 2u);
  EXPECT_EQ(map.masters[0].encryption, Encryption::kTls);
}

TEST(ClusterMap, TakesTheTellersHostWhereNoneIsTold) {
  EXPECT_EQ(shown(parsed("*1\r\n*3\r\n:0\r\n:5\r\n" + node("", 1))), "0-5:teller:1 ");
  EXPECT_EQ(shown(parsed("*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n_\r\n:1\r\n")), "0-5:teller:1 ");
}

TEST(ClusterMap, LeavesOutWhatMakesNoSense) {
  for (const auto& bytes :
       {std::string("+OK\r\n"), std::string("*1\r\n:1\r\n"), std::string("*1\r\n*0\r\n"),
        "*1\r\n*3\r\n:5\r\n:0\r\n" + node("a", 1), "*1\r\n*3\r\n:0\r\n:16384\r\n" + node("a", 1),
        "*1\r\n*3\r\n:-1\r\n:5\r\n" + node("a", 1), "*1\r\n*3\r\n:0\r\n:5\r\n" + node("?", 1),
        "*1\r\n*3\r\n:0\r\n:5\r\n" + node("a", 0), "*1\r\n*3\r\n:0\r\n:5\r\n" + node("a", 65'536),
        std::string("*1\r\n*3\r\n:0\r\n:5\r\n:1\r\n")}) {
    EXPECT_EQ(shown(parsed(bytes)), "") << bytes;
  }
}

TEST(Redirection, NamesAHostAndAPort) {
  struct Case {
    std::string_view error;
    std::string_view host;
    std::uint16_t port;  // 0: refused
  };
  for (const auto& [error, host, port] :
       {Case{"MOVED 3999 127.0.0.1:6381", "127.0.0.1", 6381}, Case{"ASK 3999 :6381", "", 6381},
        Case{"MOVED 1 2001:db8::1:7", "2001:db8::1", 7},
        Case{"MOVED 1 a.example:7", "a.example", 7}, Case{"MOVED 1 ?:7", "", 0},
        Case{"MOVED", "", 0}, Case{"MOVED 1 a", "", 0}, Case{"MOVED 1 a:0", "", 0},
        Case{"MOVED 1 a:7x", "", 0}, Case{"MOVED a:1 2", "", 0}}) {
    const auto found = Redirection::parse(error).value_or(Redirection{});
    EXPECT_EQ(found.port, port) << error;
    EXPECT_EQ(found.host, host) << error;
  }
}

}  // namespace
}  // namespace weir
