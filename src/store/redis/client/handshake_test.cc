#include "store/redis/client/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/resp/reply_reader.h"

namespace weir {
namespace {

using Server = Login::Server;
using testing::HasSubstr;

const std::string kMaster = "%2\r\n+mode\r\n+standalone\r\n+role\r\n+master\r\n";

// Makes a handshake: "HELLO 3 SETNAME weir -> PING -> done".
std::string shake(const Login& login, const std::vector<std::string>& replies) {
  OutputBuffer out;
  Handshake handshake(login);
  handshake.begin(out);
  std::string course;
  for (const std::string& bytes : replies) {
    course += std::string(out.view()) + " -> ";
    out.consume(out.size());
    resp::ReplyReader reader;
    EXPECT_EQ(reader.read(bytes), resp::ReplyReader::Status::kReply) << bytes;
    const auto progress = handshake.replied(reader.reply(), out);
    if (progress == Handshake::Progress::kDone) return course + "done";
    if (progress != Handshake::Progress::kFailed) continue;
    const bool soon = handshake.ending().retry == Ending::Retry::kSoon;
    return course + (soon ? "soon: " : "later: ") + handshake.ending().why;
  }
  return course + std::string(out.view());
}

std::string words_of(std::string course) {
  // Lengths and line ends do not matter here.
  std::string words;
  for (std::size_t at = 0; at < course.size();) {
    const auto end = std::min(course.find("\r\n", at), course.size());
    const auto line = course.substr(at, end - at);
    at = std::min(end + 2, course.size());
    const bool is_frame = line.size() > 1 && (line[0] == '*' || line[0] == '$');
    const bool is_arrow = line.starts_with(" -> ");
    if (is_arrow && line.find('*') != std::string::npos) {
      words += " ->";
      continue;
    }
    if (!is_frame) words += (words.empty() || is_arrow ? "" : " ") + line;
  }
  return words;
}

TEST(Handshake, IntroducesItselfAndSeesThatItIsServed) {
  EXPECT_EQ(words_of(shake({}, {kMaster, "+PONG\r\n"})), "HELLO 3 SETNAME weir -> PING -> done");
  const Login full{.credentials = {.user = "ann", .password = "pw"}, .database = 4};
  EXPECT_EQ(words_of(shake(full, {kMaster, "+OK\r\n", "+PONG\r\n"})),
            "HELLO 3 AUTH ann pw SETNAME weir -> SELECT 4 -> PING -> done");
  EXPECT_EQ(words_of(shake({.credentials = {.user = {}, .password = "pw"}}, {kMaster})),
            "HELLO 3 AUTH default pw SETNAME weir -> PING");
}

TEST(Handshake, FallsBackToTheOldProtocol) {
  const std::string none = "-ERR unknown command `HELLO`\r\n";
  const std::string role = "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n";
  EXPECT_EQ(words_of(shake({}, {none, "+OK\r\n", role, "+PONG\r\n"})),
            "HELLO 3 SETNAME weir -> CLIENT SETNAME weir -> ROLE -> PING -> done");
  const Login login{.credentials = {.user = {}, .password = "pw"}};
  EXPECT_EQ(words_of(shake(login, {"-NOPROTO sorry\r\n", "+OK\r\n"})),
            "HELLO 3 AUTH default pw SETNAME weir -> AUTH pw -> CLIENT SETNAME weir");
  EXPECT_THAT(shake(login, {none, "-ERR invalid password\r\n"}), HasSubstr("later: it says"));
  const std::string replica = "*2\r\n$5\r\nslave\r\n:0\r\n";
  EXPECT_THAT(shake({}, {none, "+OK\r\n", replica}), HasSubstr("soon: it is a replica"));
}

TEST(Handshake, SaysWhatIsWrongAndWhetherToTryAgain) {
  struct Case {
    Server server;
    std::vector<std::string> replies;
    std::string_view outcome;
  };
  const auto hello = [](const std::string& mode, const std::string& role) {
    return "%2\r\n+mode\r\n+" + mode + "\r\n+role\r\n+" + role + "\r\n";
  };
  const std::vector<Case> cases = {
      {Server::kMaster, {"-NOAUTH HELLO must be called ...\r\n"}, "later: it wants a password"},
      {Server::kMaster, {"-WRONGPASS invalid ...\r\n"}, "later: the user or the password is wrong"},
      {Server::kMaster, {"-ERR max number of clients reached\r\n"}, "soon: it says: ERR max"},
      {Server::kMaster,
       {"-DENIED Redis is running in protected mode\r\n"},
       "later: it says: DENIED"},
      {Server::kMaster, {hello("standalone", "replica")}, "soon: it is a replica"},
      {Server::kMaster, {hello("cluster", "master")}, "later: it is part of a cluster"},
      {Server::kMaster, {hello("sentinel", "")}, "later: it is a sentinel"},
      {Server::kMaster, {kMaster, "-LOADING Redis is loading\r\n"}, "soon: it says: LOADING"},
      {Server::kMaster, {kMaster, "-NOPERM no ping\r\n"}, "done"},
      {Server::kSentinel, {hello("sentinel", ""), "+PONG\r\n"}, "done"},
      {Server::kSentinel, {kMaster}, "later: it is not a sentinel"},
      {Server::kClusterNode, {hello("cluster", "replica"), "+PONG\r\n"}, "done"},
      {Server::kClusterNode, {kMaster}, "later: it is not part of a cluster"},
  };
  for (const auto& [server, replies, outcome] : cases) {
    EXPECT_THAT(shake({.server = server}, replies), HasSubstr(std::string(outcome)));
  }
  const auto other = shake({.database = 99}, {kMaster, "-ERR DB index is out of range\r\n"});
  EXPECT_THAT(other, HasSubstr("later: it says: ERR DB index"));
}

}  // namespace
}  // namespace weir
