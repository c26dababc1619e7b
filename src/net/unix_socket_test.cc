// The server on Unix sockets: files in its place, and who removes them.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "net/net_testing.h"
#include "net/server.h"

namespace weir {
namespace {

using std::chrono::seconds;
using Opened = Result<std::unique_ptr<Server>, Fault>;

class UnixSocketTest : public testing::Test {
 protected:
  UnixSocketTest() {
    auto folder = testing::TempDir() + "weir-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    path_ = folder_ + "/http.sock";
  }
  ~UnixSocketTest() override { std::filesystem::remove_all(folder_); }

  Opened open(std::size_t cores = 1) {
    auto endpoint =
        Endpoint{.address = address(), .factories = std::vector<SessionFactory*>(cores, &factory_)};
    return Server::open({endpoint}, {}, clock_);
  }
  std::unique_ptr<Server> start(std::size_t cores = 1) {
    auto server = std::move(*open(cores));
    server->start();
    server->open_doors();
    return server;
  }
  std::string refusal() { return open().error().message; }
  Address address() const { return address_of("unix:" + path_); }
  TestClient client() const { return TestClient(address()); }

  std::string folder_;
  std::string path_;
  ManualClock clock_;
  TestFactory factory_;
};

TEST_F(UnixSocketTest, ServesFromEveryCoreAndLetsOwnerAndGroupIn) {
  const auto server = start(2);
  EXPECT_EQ(server->address(0).to_string(), "unix:" + path_);
  struct stat file {};
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode, S_IFSOCK | 0660);
  auto clients = std::vector<TestClient>();
  for (int i = 0; i < 64; ++i) clients.push_back(client());
  for (auto& peer : clients) EXPECT_EQ(peer.ask("hello"), "hello");
}

TEST_F(UnixSocketTest, ThePeerHasNoAddress) {
  auto peer = Peer{.address = IpAddress()};
  factory_ = TestFactory([&](const Peer& who, Instant) {
    peer = who;
    return std::make_unique<EchoSession>();
  });
  const auto server = start();
  EXPECT_EQ(client().ask("x"), "x");
  EXPECT_EQ(peer.address, std::nullopt);
}

TEST_F(UnixSocketTest, TheFileGoesWithTheServer) {
  auto server = start();
  server->drain(seconds(10));
  EXPECT_FALSE(std::filesystem::exists(path_));
  server->stopped().wait();
  server = start();
  EXPECT_EQ(client().ask("x"), "x");
  server.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UnixSocketTest, AServerThatStopsLeavesTheFileOfTheNextAlone) {
  auto old = start();
  old->drain(seconds(10));
  const auto next = start();
  old.reset();
  EXPECT_EQ(client().ask("x"), "x");
}

TEST_F(UnixSocketTest, ReplacesTheFileOfAServerThatDied) {
  {
    const auto dead = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(dead.get(), address().data(), address().size()), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(path_));
  const auto server = start();
  EXPECT_EQ(client().ask("x"), "x");
}

TEST_F(UnixSocketTest, RefusesAPathWhereAServerListens) {
  const auto server = start();
  EXPECT_THAT(refusal(), testing::StartsWith("unix:" + path_ + " is in use; "));
  EXPECT_EQ(client().ask("x"), "x");
}

TEST_F(UnixSocketTest, RefusesToRemoveAFileOfAnotherKind) {
  std::ofstream(path_) << "precious";
  EXPECT_THAT(refusal(), testing::HasSubstr("there is a file of another kind"));
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

TEST_F(UnixSocketTest, RefusesAFolderThatIsNotThere) {
  path_ = folder_ + "/no/http.sock";
  EXPECT_EQ(refusal(), "unix:" + path_ + ": there is no such folder");
}

TEST_F(UnixSocketTest, ALastReplyArrivesAlthoughThePeerIsStillSending) {
  factory_ = TestFactory([](const Peer&, Instant) { return std::make_unique<OneReplySession>(); });
  const auto server = start();
  auto peer = client();
  ASSERT_TRUE(peer.send(std::string(1 << 20, 'x')));
  EXPECT_EQ(peer.receive(2), "no");
  EXPECT_EQ(peer.read_to_end(), 0);
}

}  // namespace
}  // namespace weir
