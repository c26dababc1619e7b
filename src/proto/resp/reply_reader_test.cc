#include "proto/resp/reply_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/resp/command_writer.h"

namespace weir::resp {
namespace {

using Status = ReplyReader::Status;

// The reply as a person would write it: [1 "a" null] OK !ERR {..} for a map, > for a push.
std::string describe(const Reply& reply) {
  const auto text = std::string(reply.text());
  switch (reply.type()) {
    case ReplyType::kNull: return "null";
    case ReplyType::kStatus: return text;
    case ReplyType::kError: return "!" + text;
    case ReplyType::kInteger: return std::to_string(*reply.integer());
    case ReplyType::kText: return '"' + text + '"';
    default: break;
  }
  const bool is_map = reply.type() == ReplyType::kMap;
  std::string inside;
  for (const Reply element : reply) inside += (inside.empty() ? "" : " ") + describe(element);
  return (reply.type() == ReplyType::kPush ? ">" : "") +
         (is_map ? "{" + inside + "}" : "[" + inside + "]");
}

// All replies in `input`, one a part, received in steps of `step` more bytes.
std::string read_all(std::string_view input, std::size_t step) {
  ReplyReader reader;
  std::string said;
  std::size_t begin = 0;
  for (std::size_t end = 0; end < input.size();) {
    end = std::min(input.size(), end + step);
    while (true) {
      // A copy, so that a read beyond the arrived bytes is found.
      const auto arrived = std::vector<char>(input.begin() + static_cast<std::ptrdiff_t>(begin),
                                             input.begin() + static_cast<std::ptrdiff_t>(end));
      const Status status = reader.read({arrived.data(), arrived.size()});
      if (status == Status::kBroken) return said + "broken";
      if (status == Status::kNeedMore) break;
      said += describe(reader.reply()) + "; ";
      begin += reader.size();
    }
  }
  return begin < input.size() ? said + "more" : said;
}

TEST(ReplyReader, ReadsWhatARedisSays) {
  struct Case {
    std::string_view input;
    std::string_view said;
  };
  const std::vector<Case> cases = {
      {"+OK\r\n", "OK; "},
      {"+\r\n", "; "},
      {"-NOSCRIPT No matching script.\r\n", "!NOSCRIPT No matching script.; "},
      {":42\r\n:-9223372036854775808\r\n", "42; -9223372036854775808; "},
      {"$5\r\nhello\r\n", "\"hello\"; "},
      {"$0\r\n\r\n", "\"\"; "},
      {"$4\r\n\r\n\r\n\r\n", "\"\r\n\r\n\"; "},
      {"$-1\r\n*-1\r\n_\r\n", "null; null; null; "},
      {"*0\r\n*3\r\n:1\r\n:2\r\n:3\r\n", "[]; [1 2 3]; "},
      {"*2\r\n*2\r\n:1\r\n:9\r\n*2\r\n:0\r\n*0\r\n", "[[1 9] [0 []]]; "},
      {"%1\r\n$5\r\nproto\r\n:3\r\n", "{\"proto\" 3}; "},
      {"~1\r\n#t\r\n#f\r\n", "[1]; 0; "},
      {",1.25\r\n(3492890328409238509324850943850943825024385\r\n",
       "\"1.25\"; \"3492890328409238509324850943850943825024385\"; "},
      {"=8\r\ntxt:role\r\n!7\r\nERR bad\r\n", "\"role\"; !ERR bad; "},
      {">2\r\n+message\r\n+x\r\n:1\r\n", ">[message x]; 1; "},
      {"|1\r\n+ttl\r\n:3600\r\n*2\r\n|1\r\n+a\r\n*1\r\n:0\r\n:1\r\n:2\r\n", "[1 2]; "},
      {"|0\r\n:1\r\n", "1; "},
      {"*2\r\n:1\r\n", "more"},
      {"$3\r\nab", "more"},
      {"HTTP/1.1 400 Bad Request\r\n", "broken"},
      {"+OK\n", "broken"},
      {"+OK\r\n\r\n", "OK; broken"},
      {":1x\r\n", "broken"},
      {":\r\n", "broken"},
      {"$2\r\nabc\r\n", "broken"},
      {"$-2\r\n", "broken"},
      {"$?\r\n", "broken"},
      {"*?\r\n", "broken"},
      {"=3\r\ntxt\r\n", "broken"},
      {"*1\r\n>1\r\n+x\r\n", "broken"},
      {"*65537\r\n", "broken"},
      {"$9223372036854775807\r\n", "broken"},
      {"$1048577\r\n", "broken"},
  };
  for (const auto& [input, said] : cases) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, input.size()}) {
      EXPECT_EQ(read_all(input, step), said) << input << " in steps of " << step;
    }
  }
}

TEST(ReplyReader, IsBoundedInEveryDirection) {
  std::string deep;
  for (std::size_t i = 0; i < ReplyReader::kDepthMax; ++i) deep += "*1\r\n";
  EXPECT_EQ(read_all(deep + ":1\r\n", 1), "[[[[[[[[1]]]]]]]]; ");
  EXPECT_EQ(read_all("*1\r\n" + deep, 1), "broken");

  EXPECT_EQ(read_all("+" + std::string(ReplyReader::kLineMax, 'x'), 1000), "more");
  EXPECT_EQ(read_all("+" + std::string(ReplyReader::kLineMax + 3, 'x'), 1000), "broken");

  std::string many;
  for (int i = 0; i < 256; ++i) {
    many += "*300\r\n";
    for (int j = 0; j < 300; ++j) many += ":1\r\n";
  }
  EXPECT_EQ(read_all("*256\r\n" + many, many.size() + 6), "broken");
}

TEST(ReplyReader, AllocatesNothingOnceItKnowsTheSize) {
  ReplyReader reader;
  const std::string_view input = "*2\r\n*2\r\n:1\r\n:9\r\n*2\r\n:0\r\n:5\r\n";
  ASSERT_EQ(reader.read(input), Status::kReply);
  const Reply first = reader.reply();
  ASSERT_EQ(reader.read(input), Status::kReply);
  // The same nodes in the same place: the first view shows the second reply.
  EXPECT_EQ(describe(first), "[[1 9] [0 5]]");
}

TEST(Reply, IsNullWhereNothingWasSent) {
  ReplyReader reader;
  const std::string_view input = "*3\r\n:7\r\n*1\r\n+x\r\n%1\r\n+role\r\n+master\r\n";
  ASSERT_EQ(reader.read(input), Status::kReply);
  const Reply& reply = reader.reply();
  EXPECT_EQ(reply[0].integer(), 7);
  EXPECT_EQ(reply[1][0].text(), "x");
  EXPECT_EQ(reply[1].integer(), std::nullopt);
  EXPECT_TRUE(reply[1][1].is_null());
  EXPECT_TRUE(reply[3].is_null());
  EXPECT_TRUE(reply[0][0][0].is_null());
  EXPECT_EQ(reply[0].text(), "");
  EXPECT_EQ(reply[2].at("role").text(), "master");
  EXPECT_TRUE(reply[2].at("master").is_null());
  EXPECT_TRUE(reply.at("x").is_null());
  EXPECT_TRUE(Reply().is_null());
}

TEST(Reply, TellsTheCodeOfAnError) {
  ReplyReader reader;
  ASSERT_EQ(reader.read("-MOVED 3999 127.0.0.1:6381\r\n"), Status::kReply);
  EXPECT_EQ(reader.reply().error_code(), "MOVED");
  ASSERT_EQ(reader.read("-ERR\r\n"), Status::kReply);
  EXPECT_EQ(reader.reply().error_code(), "ERR");
  ASSERT_EQ(reader.read("+MOVED\r\n"), Status::kReply);
  EXPECT_EQ(reader.reply().error_code(), "");
}

TEST(WriteCommand, WritesWordsWithTheirLengths) {
  OutputBuffer out;
  const std::vector<std::string_view> words = {"SET", "k\r\n", ""};
  write_command(out, words);
  EXPECT_EQ(out.view(), "*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n");
}

}  // namespace
}  // namespace weir::resp
