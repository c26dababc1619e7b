#include "proto/resp/command_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace weir::resp {
namespace {

using Words = std::vector<std::string>;

// What the reader finds on a connection: commands, and perhaps a refusal.
struct Heard {
  std::vector<Words> commands;
  std::string refusal;
  std::string left;  // bytes of an incomplete command

  friend bool operator==(const Heard&, const Heard&) = default;
};

// Reads the bytes in pieces of `piece`. Each read sees memory of exactly the size that has arrived,
// each time elsewhere, so that a view kept too long is found.
Heard hear(const std::string& bytes, std::size_t piece,
           const CommandLimits& limits = kClientLimits) {
  Heard heard;
  CommandReader reader;
  Arguments room;
  for (std::size_t fed = 0; fed < bytes.size();) {
    const std::size_t size = std::min(piece, bytes.size() - fed);
    heard.left += bytes.substr(fed, size);
    fed += size;
    while (true) {
      const auto exact = std::make_unique<char[]>(heard.left.size());
      heard.left.copy(exact.get(), heard.left.size());
      const auto status = reader.read({exact.get(), heard.left.size()}, limits, room);
      if (status == CommandReader::Status::kNeedMore) break;
      if (status == CommandReader::Status::kRefused) {
        heard.refusal = reader.refusal();
        heard.left.clear();
        return heard;
      }
      const auto arguments = reader.arguments();
      if (status == CommandReader::Status::kCommand) {
        heard.commands.emplace_back(arguments.begin(), arguments.end());
      }
      heard.left.erase(0, reader.size());
    }
  }
  return heard;
}

std::string array(const Words& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return text;
}

std::string many_words(std::size_t count) {
  std::string line;
  for (std::size_t i = 0; i < count; ++i) line += " y";
  return line + "\n";
}

TEST(CommandReader, Commands) {
  struct Case {
    std::string bytes;
    std::vector<Words> commands;
  };
  const std::vector<Case> cases = {
      {"*1\r\n$4\r\nPING\r\n", {{"PING"}}},
      {"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", {{"ECHO", ""}}},
      {"*2\r\n$4\r\nECHO\r\n$4\r\n\r\n*1\r\n", {{"ECHO", "\r\n*1"}}},
      {"*0\r\n*-1\r\n*-100\r\n*1\r\n$1\r\na\r\n", {{"a"}}},
      {array({"A", "b"}) + array({"c"}), {{"A", "b"}, {"c"}}},
      {"PING\r\n", {{"PING"}}},
      {"PING\n", {{"PING"}}},
      {"\r\n\n   \r\n", {}},
      {"  ECHO\thi  \r\n", {{"ECHO", "hi"}}},
      {"a b\nc\n", {{"a", "b"}, {"c"}}},
      {"ECHO \"a b\" 'c d'\r\n", {{"ECHO", "a b", "c d"}}},
      {"ECHO \"\" ''\r\n", {{"ECHO", "", ""}}},
      {R"(ECHO "\n\r\t\b\a\"\\\q")"
       "\n",
       {{"ECHO", "\n\r\t\b\a\"\\q"}}},
      {R"(ECHO "\x41\x7a\xZZ\x4")"
       "\n",
       {{"ECHO", "AzxZZx4"}}},
      {R"(ECHO 'it\'s \n')"
       "\n",
       {{"ECHO", "it's \\n"}}},
      {"ECHO pre\"fix\"\n", {{"ECHO", "prefix"}}},
      {"a\n*1\r\n$1\r\nb\r\nc\n", {{"a"}, {"b"}, {"c"}}},
  };
  for (const Case& c : cases) {
    const Heard whole = hear(c.bytes, c.bytes.size());
    EXPECT_EQ(whole.commands, c.commands) << c.bytes;
    EXPECT_EQ(whole.refusal, "") << c.bytes;
    EXPECT_EQ(whole.left, "") << c.bytes;
  }
}

TEST(CommandReader, Refusals) {
  struct Case {
    std::string bytes;
    std::string refusal;
  };
  const std::vector<Case> cases = {
      {"*x\r\n", "invalid multibulk length"},
      {"*\r\n", "invalid multibulk length"},
      {"*+1\r\n", "invalid multibulk length"},
      {"*01\r\n", "invalid multibulk length"},
      {"*-0\r\n", "invalid multibulk length"},
      {"*1\rx", "invalid multibulk length"},
      {"*1025\r\n", "invalid multibulk length"},
      {"*9223372036854775807\r\n", "invalid multibulk length"},
      {"*9223372036854775808\r\n", "invalid multibulk length"},
      {"*" + std::string(40, '1'), "invalid multibulk length"},
      {"*1\r\n:1\r\n", "expected '$', got ':'"},
      {"*1\r\n\r\n", "expected '$', got ' '"},
      {"*1\r\n*1\r\n", "expected '$', got '*'"},
      {"*2\r\n$1\r\na\r\nPING\r\n", "expected '$', got 'P'"},
      {"*1\r\n$-5\r\n", "invalid bulk length"},
      {"*1\r\n$-1\r\n", "invalid bulk length"},
      {"*1\r\n$x\r\n", "invalid bulk length"},
      {"*1\r\n$\r\n", "invalid bulk length"},
      {"*1\r\n$65537\r\n", "invalid bulk length"},
      {"*1\r\n$9223372036854775807\r\n", "invalid bulk length"},
      {"*1\r\n$" + std::string(40, '9'), "invalid bulk length"},
      {"*1\r\n$3\r\nabcd\r\n", "invalid bulk length"},
      {"*1\r\n$3\r\nab\r\n\r\n", "invalid bulk length"},
      {"ECHO \"hi\r\n", "unbalanced quotes in request"},
      {"ECHO 'hi\n", "unbalanced quotes in request"},
      {"ECHO \"hi\"there\n", "unbalanced quotes in request"},
      {"ECHO \"hi\\\n", "unbalanced quotes in request"},
      {std::string(kInlineMax, 'a'), "too big inline request"},
      {std::string(kInlineMax, 'a') + "\n", "too big inline request"},
      {many_words(kArgumentsMax + 1), "too big inline request"},
  };
  for (const Case& c : cases) {
    const Heard heard = hear(c.bytes, c.bytes.size());
    EXPECT_EQ(heard.refusal, c.refusal) << c.bytes.substr(0, 60);
    EXPECT_TRUE(heard.commands.empty()) << c.bytes.substr(0, 60);
  }
}

TEST(CommandReader, AStrangerMaySendLess) {
  EXPECT_EQ(hear("*11\r\n", 9, kStrangerLimits).refusal, "unauthenticated multibulk length");
  EXPECT_EQ(hear("*1\r\n$16385\r\n", 99, kStrangerLimits).refusal, "unauthenticated bulk length");
  const Words words(10, std::string(16384, 'k'));
  EXPECT_EQ(hear(array(words), 1 << 20, kStrangerLimits).commands, std::vector<Words>{words});
}

TEST(CommandReader, TheLargestThatIsTaken) {
  const Words many(kArgumentsMax, "word");
  EXPECT_EQ(hear(array(many), 1 << 20).commands, std::vector<Words>{many});
  const Words large(15, std::string(64 << 10, 'x'));
  EXPECT_EQ(hear(array(large), 1000).commands, std::vector<Words>{large});
  const Words too_large(16, std::string(64 << 10, 'x'));
  EXPECT_EQ(hear(array(too_large), 1000).refusal, "too big request");
  const std::string line = "ECHO " + std::string(kInlineMax - 6, 'x') + "\n";
  EXPECT_EQ(hear(line, line.size()).commands.size(), 1u);
}

TEST(CommandReader, EveryPrefixWaitsForMore) {
  const std::string bytes = array({"CL.THROTTLE", "user", "15", "30", "60"});
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const Heard heard = hear(bytes.substr(0, size), size);
    EXPECT_TRUE(heard.commands.empty() && heard.refusal.empty()) << size;
    EXPECT_EQ(heard.left, bytes.substr(0, size));
  }
}

TEST(CommandReader, PiecesOfAnySizeSayTheSame) {
  const std::string bytes = array({"ECHO", "a\r\nb"}) + "PING \"a\\x20b\"\r\n\r\n*0\r\n" +
                            array({"X", "", std::string(300, 'y')}) + "*2\r\n$1\r\nq\r\n:5\r\n";
  const Heard whole = hear(bytes, bytes.size());
  EXPECT_EQ(whole.commands.size(), 3u);
  EXPECT_EQ(whole.refusal, "expected '$', got ':'");
  for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
    EXPECT_EQ(hear(bytes, piece), whole) << piece;
  }
}

}  // namespace
}  // namespace weir::resp
