// Addresses where connections begin with a PROXY header.

#include <gmock/gmock.h>

#include <csignal>
#include <mutex>

#include "net/server_testing.h"
#include "net/tls/tls_testing.h"

namespace weir {
namespace {

using std::chrono::seconds;

constexpr std::string_view kHeader = "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n";
constexpr std::string_view kHeader2(
    "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\2\1\xc6\x33\x64\7\1\1\1\1", 28);
constexpr std::string_view kLocal2("\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", 16);

class ProxyTest : public ServerTest {
 protected:
  ProxyTest() {
    factory_ = TestFactory([this](const Peer& peer, Instant) {
      const auto lock = std::scoped_lock(mutex_);
      last_peer_ = peer;
      return std::make_unique<EchoSession>();
    });
  }
  ~ProxyTest() override { server_.reset(); }  // before what its threads use
  void start(Admission admission = {}, Security security = Security::kClear) {
    ServerTest::start({.address = address_of("127.0.0.1:0"),
                       .factories = {&factory_},
                       .security = security,
                       .proxy_protocol = ProxyProtocol::kRequired},
                      {.admission = std::make_shared<const Admission>(std::move(admission))});
  }

  // The address that the next connection's session gets.
  std::string peer_after(std::string_view header) {
    auto peer = client();
    EXPECT_EQ(peer.send(std::string(header) + "x"), true);
    EXPECT_EQ(peer.receive(1), "x");
    const auto lock = std::scoped_lock(mutex_);
    return last_peer_.address->to_string();
  }

  std::mutex mutex_;
  Peer last_peer_;
};

TEST_F(ProxyTest, ThePeerIsWhoTheHeaderSays) {
  start();
  EXPECT_EQ(peer_after(kHeader), "192.0.2.1");
  EXPECT_EQ(peer_after(kHeader2), "192.0.2.1");
  EXPECT_EQ(peer_after("PROXY TCP6 2001:db8::1 ::1 1 2\r\n"), "2001:db8::1");
}

TEST_F(ProxyTest, ThePeerIsTheProxyIfItSpeaksForItself) {
  start();
  EXPECT_EQ(peer_after("PROXY UNKNOWN\r\n"), "127.0.0.1");
  EXPECT_EQ(peer_after(kLocal2), "127.0.0.1");
}

TEST_F(ProxyTest, AHeaderMayComeInPieces) {
  start();
  for (const auto header : {kHeader, kHeader2}) {
    auto peer = client();
    for (const char c : header) {
      ASSERT_TRUE(peer.send({&c, 1}));
      let_core_run();  // after it has heard the byte, mostly
    }
    EXPECT_EQ(peer.ask("hello"), "hello");
  }
}

TEST_F(ProxyTest, ALongHeaderIsTakenWhole) {
  start();
  auto header =
      std::string(kHeader2.substr(0, 14)) + '\x0f' + '\0' + std::string(kHeader2.substr(16));
  header.resize(16 + 0x0f00, '\x04');
  EXPECT_EQ(peer_after(header), "192.0.2.1");
}

TEST_F(ProxyTest, WithoutOneNobodyComesIn) {
  start();
  auto others = client();
  ASSERT_TRUE(others.send(kHeader));
  EXPECT_EQ(others.ask("x"), "x");
  for (const std::string_view text :
       {std::string_view("GET / HTTP/1.1\r\n\r\n"), std::string_view("PROXY TCP4 a b c d\r\n"),
        std::string_view("\r\n\r\n\0\r\nQUIT\n\x31\x11\0\x0c", 16)}) {
    auto peer = client();
    ASSERT_TRUE(peer.send(text));
    EXPECT_EQ(peer.receive(1), "");
  }
  EXPECT_EQ(server_->connections().refused_headers, 3);
  EXPECT_EQ(others.ask("y"), "y");
}

TEST_F(ProxyTest, AHeaderHasTenSeconds) {
  start();
  auto silent = client();
  auto slow = client();
  ASSERT_TRUE(slow.send("PROXY TCP4 "));
  EXPECT_EQ(peer_after(kHeader), "192.0.2.1");
  clock_.advance(seconds(9));
  let_core_run();
  let_core_run();
  EXPECT_EQ(server_->connections().refused_headers, 0);
  clock_.advance(seconds(2));
  EXPECT_EQ(silent.read_to_end(), 0);
  EXPECT_EQ(slow.read_to_end(), 0);
  EXPECT_EQ(server_->connections().refused_headers, 2);
}

TEST_F(ProxyTest, OnlyTrustedPeersMaySendOne) {
  start({.trusted_proxies = TrustedProxies({*IpPrefix::parse("192.0.2.0/24")})});
  auto peer = client();
  peer.send(kHeader);
  EXPECT_EQ(peer.receive(1), "");
  EXPECT_EQ(server_->connections().refused_headers, 1);

  server_->use_admission(std::make_shared<const Admission>(Admission()));
  let_core_run();
  EXPECT_EQ(peer_after(kHeader), "192.0.2.1");
}

TEST_F(ProxyTest, TheHeaderComesBeforeTls) {
  std::signal(SIGPIPE, SIG_IGN);
  auto certificates = TestCertificates();
  auto context = TlsContext::load(certificates.make("server"));
  start({.tls = *context}, Security::kTls);
  auto peer = TlsClient(server_->address(0));
  ASSERT_TRUE(peer.socket().send(kHeader2));
  ASSERT_TRUE(peer.handshake());
  EXPECT_EQ(peer.ask("hello"), "hello");
  EXPECT_EQ(last_peer_.address->to_string(), "192.0.2.1");

  auto without = TlsClient(server_->address(0));
  EXPECT_FALSE(without.handshake());
}

}  // namespace
}  // namespace weir
