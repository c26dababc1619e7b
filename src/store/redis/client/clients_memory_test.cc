// A client without memory for a server's words, or for the reason of a lost connection, goes on: it
// asks or connects again when there is memory.

#include <string>
#include <utility>

#include "base/allocation_testing.h"
#include "store/redis/client/client_testing.h"
#include "store/redis/client/cluster_client.h"
#include "store/redis/client/redis_url.h"
#include "store/redis/client/sentinel_client.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

class ClientsOutOfMemory : public testing::Test {
 protected:
  void use(const std::string& url) {
    client_ = make_redis_client(*RedisUrl::parse(url),
                                {.reactor = reactor_, .dialer = dialer_, .seed = 3}, states_,
                                reactor_.now());
  }
  Server accept(const std::string& destination, const std::string& mode) {
    Server server(dialer_.accept(destination), reactor_);
    server.welcome(mode, "master");
    return server;
  }
  // Answers once without memory, and again when the client asks again.
  void say_twice(Server& server, const std::string& answer) {
    const std::string asked = server.hear();
    {
      const NoMemory none;
      server.say_bytes(answer);
    }
    EXPECT_EQ(dialer_.wanted().find("a-host"), std::string::npos);
    reactor_.advance(Informant::kAskAgain);
    EXPECT_TRUE(asked.ends_with(server.hear())) << asked;
    server.say_bytes(answer);
  }

  FakeReactor reactor_;
  FakeDialer dialer_{reactor_};
  NotedStates states_;
  std::unique_ptr<RedisClient> client_;
};

std::string map_of(const std::string& host) {
  return "*2\r\n*3\r\n:0\r\n:8191\r\n*2\r\n+" + host + "\r\n:1\r\n" +
         "*3\r\n:8192\r\n:16383\r\n*2\r\n+" + host + "\r\n:2\r\n";
}

// The first map leaves room for the second to be read.
TEST_F(ClientsOutOfMemory, AskAClusterForItsMapAgain) {
  use("redis-cluster://seed:1");
  Server teller = accept("seed:1", "cluster");
  reactor_.advance(ClusterClient::kMapsApart);
  EXPECT_EQ(teller.hear(), "CLUSTER SLOTS");
  teller.say_bytes(map_of("first-host-with-a-long-name"));
  dialer_.refuse("first-host-with-a-long-name:1");
  dialer_.refuse("first-host-with-a-long-name:2");
  reactor_.advance(ClusterClient::kMapsApart);
  say_twice(teller, map_of("a-host-with-a-long-name"));
  EXPECT_EQ(dialer_.wanted(), "a-host-with-a-long-name:1 a-host-with-a-long-name:2");
}

TEST_F(ClientsOutOfMemory, AskASentinelForTheMasterAgain) {
  use("redis-sentinel://s:1/m");
  Server sentinel = accept("s:1", "sentinel");
  say_twice(sentinel, "*2\r\n+a-host-with-a-long-name\r\n+6379\r\n");
  EXPECT_EQ(dialer_.wanted(), "a-host-with-a-long-name:6379");
}

TEST_F(ClientsOutOfMemory, ConnectAgain) {
  use("redis://a-host-with-a-long-name:1");
  Server server = accept("a-host-with-a-long-name:1", "standalone");
  reactor_.advance(milliseconds(5));
  {
    const NoMemory none;
    server.break_down();
  }
  reactor_.advance(Link::kBackoffMin);
  EXPECT_EQ(dialer_.wanted(), "a-host-with-a-long-name:1");
  EXPECT_NE(client_->state().phase, LinkState::Phase::kConnected);
}

}  // namespace
}  // namespace weir
