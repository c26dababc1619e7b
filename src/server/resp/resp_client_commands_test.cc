// What clients say when they connect: HELLO, CLIENT, COMMAND, INFO and so on.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/resp/commands.h"
#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

struct Exchanged {
  std::string said;
  std::string heard;
};

void expect_all(const std::vector<Exchanged>& cases) {
  for (const Exchanged& c : cases) {
    RespTestDoor door;
    EXPECT_EQ(door.ask(c.said + "\r\n"), c.heard) << c.said;
  }
}

TEST(RespClientCommands, AsRedisAnswers) {
  expect_all({
      {"PING", "+PONG\r\n"},
      {"ping hi", "$2\r\nhi\r\n"},
      {"PING a b", "-ERR wrong number of arguments for 'ping' command\r\n"},
      {"ECHO hi", "$2\r\nhi\r\n"},
      {"ECHO", "-ERR wrong number of arguments for 'echo' command\r\n"},
      {"SELECT 0", "+OK\r\n"},
      {"SELECT 99", "-ERR DB index is out of range\r\n"},
      {"SELECT x", "-ERR value is not an integer or out of range\r\n"},
      {"RESET", "+RESET\r\n"},
      {"QUIT", "+OK\r\n"},
      {"QUIT\r\nPING", "+OK\r\n"},
      {"X a b", "-ERR unknown command 'X', with args beginning with: 'a' 'b' \r\n"},
      {"X \"a\\r\\n+OK\"", "-ERR unknown command 'X', with args beginning with: 'a  +OK' \r\n"},
  });
}

TEST(RespClientCommands, Hello) {
  expect_all({
      {"HELLO 4", "-NOPROTO unsupported protocol version\r\n"},
      {"HELLO 1", "-NOPROTO unsupported protocol version\r\n"},
      {"HELLO x", "-ERR Protocol version is not an integer or out of range\r\n"},
      {"HELLO 3 JUNK", "-ERR Syntax error in HELLO option 'JUNK'\r\n"},
      {"HELLO 3 AUTH default", "-ERR Syntax error in HELLO option 'AUTH'\r\n"},
      {"HELLO 3 SETNAME", "-ERR Syntax error in HELLO option 'SETNAME'\r\n"},
      {"HELLO 3 SETNAME \"a b\"",
       "-ERR Client names cannot contain spaces, newlines or special characters.\r\n"},
  });
  RespTestDoor door;
  const std::string two = door.ask("HELLO\r\n");
  EXPECT_TRUE(two.starts_with("*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n"));
  EXPECT_NE(two.find("$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n"
                     "$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"),
            std::string::npos);
  EXPECT_TRUE(door.ask("HELLO 3\r\n").starts_with("%7\r\n$6\r\nserver\r\n"));
  EXPECT_TRUE(door.ask("HELLO 2\r\n").starts_with("*14\r\n"));
}

TEST(RespClientCommands, TheProtocolStaysAsChosen) {
  RespTestDoor door;
  RespTestClient client(door);
  client.ask("HELLO 3 SETNAME me AUTH default x\r\n");
  EXPECT_EQ(client.ask("CLIENT GETNAME\r\n"), "$2\r\nme\r\n");
  EXPECT_TRUE(client.ask("HELLO\r\n").starts_with("%7\r\n"));
  EXPECT_TRUE(client.ask("HELLO 4\r\nHELLO\r\n").starts_with("-NOPROTO"));
  EXPECT_EQ(client.ask("COMMAND DOCS nope\r\n"), "%0\r\n");
  EXPECT_EQ(client.ask("RESET\r\nCLIENT GETNAME\r\n"), "+RESET\r\n$-1\r\n");
  EXPECT_TRUE(client.ask("HELLO\r\n").starts_with("*14\r\n"));
}

TEST(RespClientCommands, Client) {
  const std::string long_name(257, 'n');
  expect_all({
      {"CLIENT", "-ERR wrong number of arguments for 'client' command\r\n"},
      {"CLIENT ID", ":1\r\n"},
      {"CLIENT GETNAME", "$-1\r\n"},
      {"client setname a\r\nCLIENT GETNAME", "+OK\r\n$1\r\na\r\n"},
      {"CLIENT SETNAME \"a b\"",
       "-ERR Client names cannot contain spaces, newlines or special characters.\r\n"},
      {"CLIENT SETNAME " + long_name, "-ERR Client names cannot be longer than 256 bytes.\r\n"},
      {"CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command\r\n"},
      {"CLIENT SETINFO LIB-NAME redis-py", "+OK\r\n"},
      {"CLIENT SETINFO lib-ver 5.0", "+OK\r\n"},
      {"CLIENT SETINFO LIB-VER \"5 0\"",
       "-ERR lib-ver cannot contain spaces, newlines or special characters.\r\n"},
      {"CLIENT SETINFO COLOUR red", "-ERR Unrecognized option 'colour'\r\n"},
      {"CLIENT NO-EVICT ON", "+OK\r\n"},
      {"CLIENT NO-TOUCH off", "+OK\r\n"},
      {"CLIENT NO-TOUCH perhaps", "-ERR syntax error\r\n"},
      {"CLIENT MAINT_NOTIFICATIONS ON",
       "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.\r\n"},
  });
  RespTestDoor door;
  RespTestClient client(door);
  client.ask("CLIENT SETNAME me\r\n");
  door.now += std::chrono::seconds(5);
  const std::string line =
      "id=1 addr=127.0.0.1 name=me age=5 idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 "
      "qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r "
      "cmd=client|list user=default redir=-1 resp=2\n";
  EXPECT_EQ(client.ask("CLIENT LIST\r\n"),
            "$" + std::to_string(line.size()) + "\r\n" + line + "\r\n");
  EXPECT_TRUE(client.ask("HELLO 3\r\nCLIENT INFO\r\n").find("\r\ntxt:id=1 addr=") !=
              std::string::npos);
}

TEST(RespClientCommands, Command) {
  const auto top = std::to_string(std::ranges::count_if(
      resp::commands(), [](const auto& command) { return !command.is_subcommand(); }));
  expect_all({
      {"COMMAND COUNT", ":" + top + "\r\n"},
      {"COMMAND DOCS nope", "*0\r\n"},
      {"COMMAND INFO nope", "*1\r\n$-1\r\n"},
      {"COMMAND INFO ping nope",
       "*2\r\n*10\r\n$4\r\nping\r\n:-1\r\n*1\r\n+fast\r\n:0\r\n:0\r\n:0\r\n*0\r\n*0\r\n*0\r\n*0"
       "\r\n$-1\r\n"},
      {"COMMAND INFO config|get",
       "*1\r\n*10\r\n$10\r\nconfig|get\r\n:-3\r\n*1\r\n+fast\r\n:0\r\n:0\r\n:0\r\n*0\r\n*0\r\n*0"
       "\r\n*0\r\n"},
      {"COMMAND DOCS WEIR.LOOK",
       "*2\r\n$9\r\nweir.look\r\n*8\r\n$7\r\nsummary\r\n$42\r\nWhat WEIR.HIT would answer; spends "
       "nothing\r\n$5\r\nsince\r\n$5\r\n1.0.0\r\n$5\r\ngroup\r\n$7\r\ngeneric\r\n$9\r\narguments\r"
       "\n*3\r\n*4\r\n$4\r\nname\r\n$4\r\nrule\r\n$4\r\ntype\r\n$6\r\nstring\r\n*4\r\n$4\r\nname\r"
       "\n$3\r\nkey\r\n$4\r\ntype\r\n$6\r\nstring\r\n*6\r\n$4\r\nname\r\n$4\r\ncost\r\n$4\r\ntype"
       "\r\n$6\r\nstring\r\n$5\r\nflags\r\n*1\r\n+optional\r\n"},
      {"COMMAND|HELP x", "-ERR unknown command 'COMMAND|HELP', with args beginning with: 'x' \r\n"},
      {"COMMAND NOPE", "-ERR unknown subcommand 'NOPE'. Try COMMAND HELP.\r\n"},
  });
  RespTestDoor door;
  EXPECT_TRUE(door.ask("COMMAND\r\n").starts_with("*" + top + "\r\n*10\r\n"));
  EXPECT_TRUE(door.ask("COMMAND LIST\r\n").starts_with("*" + top + "\r\n$11\r\ncl.throttle\r\n"));
  EXPECT_TRUE(door.ask("HELLO 3\r\nCOMMAND DOCS\r\n").find("\r\n%" + top + "\r\n$11\r\ncl.thr") !=
              std::string::npos);
  EXPECT_TRUE(door.ask("CONFIG HELP\r\n").starts_with("*4\r\n+get pattern ...\r\n"));
}

TEST(RespClientCommands, ConfigGet) {
  expect_all({
      {"CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"},
      {"CONFIG GET AppendOnly", "*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"},
      {"CONFIG GET nope", "*0\r\n"},
      {"CONFIG GET s*e d*", "*4\r\n$9\r\ndatabases\r\n$1\r\n1\r\n$4\r\nsave\r\n$0\r\n\r\n"},
      {"CONFIG GET sav?* *s*v?e", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"},
      {"CONFIG GET sa sav save? *x", "*0\r\n"},
      {"CONFIG GET", "-ERR wrong number of arguments for 'config|get' command\r\n"},
      {"CONFIG SET save x", "-ERR unknown subcommand 'SET'. Try CONFIG HELP.\r\n"},
  });
}

TEST(RespClientCommands, Info) {
  RespTestDoor door;
  RespTestClient client(door);
  client.ask("CL.THROTTLE k 0 1 60\r\nCL.THROTTLE k 0 1 60\r\n");
  const std::string all = client.ask("INFO\r\n");
  for (const char* line :
       {"# Server", "weir_version:1.2.3", "uptime_in_seconds:100", "# Clients",
        "connected_clients:1", "loading:0", "# Stats", "total_connections_received:1",
        "total_commands_processed:3", "decisions_allowed:1", "decisions_denied:1", "role:master",
        "# Keyspace"}) {
    EXPECT_NE(all.find(std::string(line) + "\r\n"), std::string::npos) << line;
  }
  const std::string clients = "# Clients\r\nconnected_clients:1\r\n";
  EXPECT_EQ(client.ask("INFO clients\r\n"),
            "$" + std::to_string(clients.size()) + "\r\n" + clients + "\r\n");
  EXPECT_EQ(client.ask("INFO nope\r\n"), "$0\r\n\r\n");
  EXPECT_EQ(client.ask("INFO everything\r\n").size(), client.ask("INFO\r\n").size());
  client.ask("HELLO 3\r\n");
  EXPECT_TRUE(client.ask("INFO\r\n").starts_with("="));
}

}  // namespace
}  // namespace weir
