// TLS over loopback, with OpenSSL's own client at the other end.

#include <fcntl.h>
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "net/server_testing.h"
#include "net/tls/tls_testing.h"

namespace weir {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

std::shared_ptr<const TlsContext> loaded(const TlsFiles& files) {
  auto result = TlsContext::load(files);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return *result;
}

class TlsTest : public ServerTest {
 protected:
  static void SetUpTestSuite() {
    std::signal(SIGPIPE, SIG_IGN);
    shared_certificates = new TestCertificates();
    shared_files = new TlsFiles(shared_certificates->make("server"));
  }
  static void TearDownTestSuite() {
    delete shared_files;
    delete shared_certificates;
  }

  void start(const TlsFiles& files = *shared_files, std::vector<std::string> alpn = {}) {
    ServerTest::start({.address = address_of("127.0.0.1:0"),
                       .factories = {&factory_},
                       .security = Security::kTls,
                       .alpn = std::move(alpn)},
                      {.admission = admission(files)});
  }
  static std::shared_ptr<const Admission> admission(const TlsFiles& files) {
    return std::make_shared<const Admission>(Admission{.tls = loaded(files)});
  }
  std::unique_ptr<TlsClient> client(const TlsClientOptions& options = {}) {
    return std::make_unique<TlsClient>(server_->address(0), options);
  }
  void expect_others_are_served() {
    auto other = client();
    EXPECT_TRUE(other->handshake());
    EXPECT_EQ(other->ask("others"), "others");
  }

  static inline TestCertificates* shared_certificates = nullptr;
  static inline TlsFiles* shared_files = nullptr;
};

TEST_F(TlsTest, AnswersInBothVersionsAndInNoOlderOne) {
  start();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    auto peer = client({.version = version});
    ASSERT_TRUE(peer->handshake());
    EXPECT_EQ(peer->ask("hello"), "hello");
    EXPECT_EQ(peer->ask("again"), "again");
    EXPECT_EQ(peer->server_name(), "server");
  }
  EXPECT_FALSE(client({.version = TLS1_1_VERSION})->handshake());
  let_core_run();  // the alert comes before it is counted
  EXPECT_EQ(server_->connections().failed_handshakes, 1);
}

TEST_F(TlsTest, AgreesOnTheBestProtocolThatBothSpeak) {
  start(*shared_files, {"h2", "http/1.1"});
  const std::pair<std::string, std::string> cases[] = {{"\x02h2\x08http/1.1", "h2"},
                                                       {"\x08http/1.1\x02h2", "h2"},
                                                       {"\x08http/1.1", "http/1.1"},
                                                       {"", ""}};
  for (const auto& [offered, agreed] : cases) {
    auto peer = client({.alpn = offered});
    ASSERT_TRUE(peer->handshake());
    EXPECT_EQ(peer->protocol(), agreed);
    EXPECT_EQ(peer->ask("x"), "x");
  }
  EXPECT_FALSE(client({.alpn = "\x03hq9"})->handshake());
}

TEST_F(TlsTest, IgnoresWishesWhereNothingIsAgreedOn) {
  start();
  auto peer = client({.alpn = "\x03hq9"});
  ASSERT_TRUE(peer->handshake());
  EXPECT_EQ(peer->protocol(), "");
}

TEST_F(TlsTest, MovesMoreThanAnyBufferHolds) {
  start();
  auto peer = client();
  ASSERT_TRUE(peer->handshake());
  const auto text = std::string(8 << 20, 'x') + "end";
  // Written in pieces that the server echoes at once: one thread both writes and reads.
  auto back = std::string();
  for (std::size_t i = 0; i < text.size(); i += 48 << 10) {
    const auto part = text.substr(i, 48 << 10);
    ASSERT_TRUE(peer->send(part));
    back += peer->receive(part.size());
  }
  EXPECT_EQ(back, text);
}

TEST_F(TlsTest, GoesOnWhenAPeerReadsAtLastWhatItDidNotRead) {
  start();
  auto peer = client();
  ASSERT_TRUE(peer->handshake());
  // OpenSSL's client is for one thread, so it must not wait while it writes.
  ::fcntl(peer->socket().fd(), F_SETFL, O_NONBLOCK);
  const auto record = std::string(16 << 10, 'x');
  std::size_t sent = 0;
  while (SSL_write(peer->ssl(), record.data(), static_cast<int>(record.size())) > 0) {
    sent += record.size();  // until both sides' buffers are full
    ASSERT_LT(sent, std::size_t{256} << 20);
  }
  expect_others_are_served();
  ::fcntl(peer->socket().fd(), F_SETFL, 0);
  EXPECT_EQ(peer->receive(sent).size(), sent);
  EXPECT_EQ(peer->send(record), true);  // the one that had not gone
  EXPECT_EQ(peer->receive(record.size()), record);
}

TEST_F(TlsTest, SaysThatTheLastReplyWasTheLast) {
  factory_ = TestFactory([](const Peer&, Instant) { return std::make_unique<OneReplySession>(); });
  start();
  auto peer = client();
  ASSERT_TRUE(peer->handshake());
  ASSERT_TRUE(peer->send("x"));
  EXPECT_EQ(peer->receive(2), "no");
  EXPECT_TRUE(peer->ends_politely());
}

TEST_F(TlsTest, WritesWhatIsDueToAPeerThatHasClosedItsSide) {
  start();
  auto peer = client();
  ASSERT_TRUE(peer->handshake());
  ASSERT_TRUE(peer->send("last words"));
  peer->finish_sending();
  EXPECT_EQ(peer->receive(10), "last words");
  EXPECT_TRUE(peer->ends_politely());
}

TEST_F(TlsTest, WhatComesWithTheHandshakeIsHeard) {
  start();
  auto peer = client();
  ASSERT_TRUE(peer->handshake());  // TLS 1.3: the server has not seen its end yet
  EXPECT_EQ(peer->ask(std::string(16 << 10, 'x')).size(), 16 << 10);
}

TEST_F(TlsTest, BytesInClearCostOnlyTheirConnection) {
  start();
  for (const auto* text : {"GET / HTTP/1.1\r\nHost: test\r\n\r\n", "PING\r\n", "\x16\x03\x01",
                           "\x16\x03\x01\xff\xff\xff\xff\xff\xff\xff"}) {
    auto plain = TestClient(server_->address(0));
    ASSERT_TRUE(plain.send(text));
    plain.finish_sending();
    plain.read_to_end();
    expect_others_are_served();
  }
  EXPECT_GE(server_->connections().failed_handshakes, 2);
}

TEST_F(TlsTest, AHandshakeHasTenSeconds) {
  start();
  auto silent = TestClient(server_->address(0));
  auto slow = TestClient(server_->address(0));
  ASSERT_TRUE(slow.send("\x16\x03\x01"));
  expect_others_are_served();
  clock_.advance(seconds(9));
  let_core_run();
  let_core_run();
  EXPECT_EQ(server_->connections().failed_handshakes, 0);
  clock_.advance(seconds(2));
  EXPECT_EQ(silent.read_to_end(), 0);
  EXPECT_EQ(slow.read_to_end(), 0);
  EXPECT_EQ(server_->connections().failed_handshakes, 2);
}

TEST_F(TlsTest, PeersThatVanishInAHandshakeAreNoFailures) {
  start();
  for (int i = 0; i < 100; ++i) TestClient(server_->address(0));
  expect_others_are_served();
  EXPECT_EQ(server_->connections().failed_handshakes, 0);
}

TEST_F(TlsTest, ClientsNeedACertificateOfTheAuthorityIfThereIsOne) {
  auto files = *shared_files;
  files.client_ca = shared_certificates->path("ca.pem");
  start(files);
  auto known = client({.own = shared_certificates->make("client")});
  ASSERT_TRUE(known->handshake());
  EXPECT_EQ(known->ask("x"), "x");

  auto strangers = TestCertificates();
  for (const auto& own : {TlsFiles(), strangers.make("client")}) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      auto peer = client({.version = version, .own = own});
      // In TLS 1.3 the client is through before the server has looked at its certificate.
      EXPECT_FALSE(peer->handshake() && peer->ask("x") == "x");
    }
  }
  let_core_run();  // the alert comes before it is counted
  EXPECT_EQ(server_->connections().failed_handshakes, 4);
}

TEST_F(TlsTest, NewConnectionsSeeTheNewCertificateAndOldOnesStay) {
  start();
  auto old = client();
  ASSERT_TRUE(old->handshake());
  server_->use_admission(admission(shared_certificates->make("renewed")));
  let_core_run();
  auto fresh = client();
  ASSERT_TRUE(fresh->handshake());
  EXPECT_EQ(fresh->server_name(), "renewed");
  EXPECT_EQ(old->ask("x"), "x");
}

TEST_F(TlsTest, ClientsResumeWithATicket) {
  start();
  auto first = client({.version = TLS1_2_VERSION});
  ASSERT_TRUE(first->handshake());
  auto* session = SSL_get1_session(first->ssl());
  auto second = client({.version = TLS1_2_VERSION});
  SSL_set_session(second->ssl(), session);
  SSL_SESSION_free(session);
  ASSERT_TRUE(second->handshake());
  EXPECT_EQ(SSL_session_reused(second->ssl()), 1);
}

TEST_F(TlsTest, DrainClosesSilentConnectionsPolitely) {
  start();
  auto peer = client();
  ASSERT_TRUE(peer->handshake());
  ASSERT_EQ(peer->ask("x"), "x");
  clock_.advance(seconds(2));
  server_->drain(seconds(10));
  EXPECT_TRUE(peer->ends_politely());
  server_->stopped().wait();
  EXPECT_EQ(server_->cut_off(), 0);
}

TEST_F(TlsTest, DrainLetsAHandshakeAndItsFirstRequestPass) {
  start();
  auto peer = client();
  expect_others_are_served();  // so it has been accepted
  server_->drain(seconds(10));
  let_core_run();
  ASSERT_TRUE(peer->handshake());
  EXPECT_EQ(peer->ask("x"), "x");
  EXPECT_TRUE(peer->ends_politely());
  peer.reset();
  server_->stopped().wait();
}

struct TlsFilesTest : TlsTest {
  static std::string refusal(const TlsFiles& files) {
    return TlsContext::load(files).error().message;
  }
};

TEST_F(TlsFilesTest, NamesTheFileThatCannotBeUsed) {
  const auto other = shared_certificates->make("other");
  const auto none = shared_certificates->path("none.pem");
  EXPECT_EQ(refusal({.certificate = none, .key = other.key}),
            "the certificate " + none + " cannot be used: No such file or directory");
  EXPECT_THAT(refusal({.certificate = other.certificate, .key = none}), HasSubstr(none));
  EXPECT_THAT(refusal({.certificate = other.certificate, .key = other.key, .client_ca = none}),
              HasSubstr("the authority of client certificates " + none));
}

TEST_F(TlsFilesTest, RefusesAKeyOfAnotherCertificate) {
  const auto other = shared_certificates->make("other");
  EXPECT_EQ(refusal({.certificate = shared_files->certificate, .key = other.key}),
            "the key " + other.key + " cannot be used: key values mismatch");
}

TEST_F(TlsFilesTest, RefusesAKeyThatWantsAPassPhraseInsteadOfAskingForIt) {
  shared_certificates->run("ec -in server.key -aes128 -passout pass:secret -out locked.key");
  const auto locked = shared_certificates->path("locked.key");
  EXPECT_THAT(refusal({.certificate = shared_files->certificate, .key = locked}),
              HasSubstr(locked));
}

TEST_F(TlsFilesTest, DoesNotRepeatWhatIsInTheKey) {
  const auto broken = shared_certificates->path("broken.key");
  std::ofstream(broken) << "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n";
  EXPECT_THAT(refusal({.certificate = shared_files->certificate, .key = broken}),
              testing::Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace weir
