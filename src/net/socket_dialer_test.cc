#include "net/socket_dialer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "net/net_testing.h"
#include "net/server.h"
#include "net/sockets/listening_sockets.h"
#include "net/tls/tls_testing.h"

namespace weir {
namespace {

using testing::HasSubstr;

// Says hello first, as clients do, and stops the loop when it has heard as much back.
class HelloSession final : public EchoSession {
 public:
  HelloSession(EventLoop& loop, std::string& heard) : loop_(loop), heard_(heard) {
    output_ = "hello";
  }
  void attach(Waker& waker) override { waker.wake(); }
  void received(std::size_t size, Instant) override {
    heard_.append(buffer_.data(), size);
    if (heard_.size() == 5) loop_.stop();
  }

 private:
  EventLoop& loop_;
  std::string& heard_;
};

// A loop with a dialer, on this thread, for one attempt.
class Caller final : public DialListener {
 public:
  // The result: the echo of our hello, or why there is none.
  std::string call(const Destination& destination, Duration patience = std::chrono::seconds(20)) {
    auto attempt = dialer.dial(destination, loop.now() + patience, *this);
    EXPECT_EQ(outcome_, "");
    EXPECT_FALSE(connected_);
    loop.run();
    dialer.reset_all();
    return outcome_ + heard_;
  }

  std::unique_ptr<Session> connected(Instant) override {
    EXPECT_FALSE(connected_);
    connected_ = true;
    return std::make_unique<HelloSession>(loop, heard_);
  }
  void not_connected(const std::string& why, Instant) override {
    EXPECT_EQ(outcome_, "");
    outcome_ = why;
    loop.stop();
  }

  SystemClock clock;
  EventLoop loop{clock};
  SocketDialer dialer{loop};

 private:
  bool connected_ = false;
  std::string outcome_;
  std::string heard_;
};

// A server that echoes, for the length of a test.
class Echo {
 public:
  explicit Echo(const std::string& address,
                const std::shared_ptr<const Admission>& admission = {}) {
    const auto endpoint = Endpoint{.address = address_of(address),
                                   .factories = {&factory_},
                                   .security = admission ? Security::kTls : Security::kClear};
    auto opened = Server::open({endpoint}, {.admission = admission}, clock_);
    server_ = std::move(*opened);
    server_->start();
    server_->open_doors();
  }
  ~Echo() {
    server_->drain(std::chrono::seconds(0));
    server_->stopped().wait();
  }
  std::uint16_t port() const { return server_->address(0).port(); }

 private:
  SystemClock clock_;
  TestFactory factory_;
  std::unique_ptr<Server> server_;
};

// A port on which no program listens.
std::uint16_t closed_port() {
  const auto address = address_of("127.0.0.1:0");
  const auto socket = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(socket.get(), address.data(), address.size()), 0);
  return Address::of_socket(socket.get()).port();
}

TEST(SocketDialer, ConnectsToAnAddressAndMovesBytes) {
  const Echo echo("127.0.0.1:0");
  EXPECT_EQ(Caller().call({.host = "127.0.0.1", .port = echo.port()}), "hello");
}

TEST(SocketDialer, LooksUpNames) {
  const Echo echo("127.0.0.1:0");
  EXPECT_EQ(Caller().call({.host = "localhost", .port = echo.port()}), "hello");
  EXPECT_NE(Caller().call({.host = "nobody.invalid", .port = 1}), "");
}

TEST(SocketDialer, ConnectsToAUnixSocket) {
  const auto path = testing::TempDir() + "weir-dialer-" + std::to_string(::getpid()) + ".sock";
  const Echo echo("unix:" + path);
  EXPECT_EQ(Caller().call({.path = path}), "hello");
  EXPECT_EQ(Caller().call({.path = path + ".none"}), "No such file or directory");
}

TEST(SocketDialer, SaysThatNobodyListens) {
  EXPECT_EQ(Caller().call({.host = "127.0.0.1", .port = closed_port()}), "Connection refused");
  EXPECT_EQ(Caller().call({.host = "::1", .port = closed_port()}), "Connection refused");
}

TEST(SocketDialer, CallsNobodyWhenItIsGivenUp) {
  const Echo echo("127.0.0.1:0");
  struct Silent final : DialListener {
    std::unique_ptr<Session> connected(Instant) override {
      ADD_FAILURE();
      return nullptr;
    }
    void not_connected(const std::string&, Instant) override { ADD_FAILURE(); }
  } silent;
  Caller caller;
  const auto later = caller.loop.now() + std::chrono::seconds(20);
  auto before = caller.dialer.dial({.host = "127.0.0.1", .port = echo.port()}, later, silent);
  auto during = caller.dialer.dial({.host = "localhost", .port = echo.port()}, later, silent);
  before.reset();
  caller.loop.post([&during] { during.reset(); });
  EXPECT_EQ(caller.call({.host = "127.0.0.1", .port = echo.port()}), "hello");
}

class TlsDialer : public testing::Test {
 protected:
  std::uint16_t serve(const std::string& name) {
    auto loaded = TlsContext::load(certificates_.make(name));
    auto admission = std::make_shared<Admission>();
    admission->tls = *loaded;
    echo_.emplace("127.0.0.1:0", admission);
    return echo_->port();
  }

  std::string call(const std::string& host, std::uint16_t port, const TlsTrustFiles& files) {
    const auto loaded = TlsTrust::load(files);
    Caller caller;
    caller.dialer.use_tls(*loaded);
    return caller.call({.host = host, .port = port, .encryption = Encryption::kTls});
  }

  TestCertificates certificates_;
  std::optional<Echo> echo_;
};

TEST_F(TlsDialer, TrustsTheAuthorityForTheHostItWanted) {
  const auto port = serve("localhost");
  const TlsTrustFiles trusting{.authorities = certificates_.path("ca.pem")};
  EXPECT_EQ(call("localhost", port, trusting), "hello");
  EXPECT_THAT(call("127.0.0.1", port, trusting), HasSubstr("IP address mismatch"));
  EXPECT_THAT(call("localhost", port, {}), HasSubstr("unable to get local issuer"));
}

TEST_F(TlsDialer, TrustsAnybodyOnlyWhereThatIsSpelledOut) {
  const auto port = serve("elsewhere");
  const TlsTrustFiles trusting{.authorities = certificates_.path("ca.pem")};
  EXPECT_THAT(call("localhost", port, trusting), HasSubstr("hostname mismatch"));
  EXPECT_EQ(call("localhost", port, {.verification = TlsTrustFiles::Verification::kNone}), "hello");
}

TEST_F(TlsDialer, SaysWhatItCannotUse) {
  EXPECT_EQ(Caller().call(
                {.host = "127.0.0.1", .port = serve("localhost"), .encryption = Encryption::kTls}),
            "TLS is not set up");
  const auto missing = TlsTrust::load({.authorities = "/nowhere/ca.pem"});
  EXPECT_EQ(missing.error().message,
            "the authorities' file /nowhere/ca.pem cannot be used: No such file or directory");
  const Echo clear("127.0.0.1:0");
  EXPECT_THAT(call("localhost", closed_port(), {}), HasSubstr("refused"));
}

TEST(SocketDialer, GivesUpWhenTheDeadlineHasPassed) {
  // A server that accepts, and is silent when TLS begins.
  const auto address = address_of("127.0.0.1:0");
  const auto silent = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(silent.get(), address.data(), address.size()), 0);
  ASSERT_EQ(::listen(silent.get(), 1), 0);
  const auto loaded = TlsTrust::load({.verification = TlsTrustFiles::Verification::kNone});
  Caller caller;
  caller.dialer.use_tls(*loaded);
  const auto outcome = caller.call({.host = "127.0.0.1",
                                    .port = Address::of_socket(silent.get()).port(),
                                    .encryption = Encryption::kTls},
                                   std::chrono::milliseconds(20));
  EXPECT_EQ(outcome, "TLS: no answer in time, as happens at a port without TLS");
}

// A listener without memory for a session.
class PoorCaller final : public DialListener {
 public:
  explicit PoorCaller(EventLoop& loop) : loop_(loop) {}
  std::unique_ptr<Session> connected(Instant) override { throw std::bad_alloc(); }
  void not_connected(const std::string& why, Instant) override {
    outcome = why;
    loop_.stop();
  }
  std::string outcome;

 private:
  EventLoop& loop_;
};

TEST(SocketDialer, TellsWhenThereIsNoMemoryForASession) {
  const Echo echo("127.0.0.1:0");
  SystemClock clock;
  EventLoop loop(clock);
  SocketDialer dialer(loop);
  PoorCaller caller(loop);
  const auto attempt = dialer.dial({.host = "127.0.0.1", .port = echo.port()},
                                   loop.now() + std::chrono::seconds(20), caller);
  loop.run();
  EXPECT_EQ(caller.outcome, "no memory");
  EXPECT_EQ(dialer.reset_all(), 0u);
}

}  // namespace
}  // namespace weir
