// The server over loopback: sessions of a few lines, ports chosen by the system, and a clock moved
// by hand, so that half a minute of silence takes no time.

#include "net/server.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <future>
#include <mutex>
#include <new>
#include <set>

#include "net/server_testing.h"
#include "net/sockets/socket_options.h"

namespace weir {
namespace {

using std::chrono::seconds;

TEST_F(ServerTest, AnswersOnAPortOfTheSystemsChoice) {
  start();
  EXPECT_NE(server_->address(0).port(), 0);
  auto peer = client();
  EXPECT_EQ(peer.ask("hello"), "hello");
  EXPECT_EQ(peer.ask("again"), "again");
}

TEST_F(ServerTest, SpreadsConnectionsOverCoresThatShareThePort) {
  auto mutex = std::mutex();
  auto threads = std::set<std::thread::id>();
  start(2, [&](const Peer&, Instant) {
    const auto lock = std::scoped_lock(mutex);
    threads.insert(std::this_thread::get_id());
    return std::make_unique<EchoSession>();
  });
  auto clients = std::vector<TestClient>();
  for (int i = 0; i < 64; ++i) clients.push_back(client());
  for (auto& peer : clients) ASSERT_EQ(peer.ask("x"), "x");
  EXPECT_EQ(threads.size(), 2);  // but once in 2^63 runs
  EXPECT_EQ(server_->connections().open, 64);
}

TEST_F(ServerTest, RefusesAPortInUseAndSaysWhichAndWhatToDo) {
  start();
  const auto taken = server_->address(0);
  auto second = Server::open({{.address = taken, .factories = {&factory_}}}, {}, clock_);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, testing::StartsWith(taken.to_string() + " is in use; "));
}

TEST_F(ServerTest, RefusesAnAddressThatIsNotThisMachines) {
  auto opened = Server::open({{.address = address_of("192.0.2.1:8080"), .factories = {&factory_}}},
                             {}, clock_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().message, "192.0.2.1:8080 is not an address of this machine");
}

TEST_F(ServerTest, StopsReadingFromAPeerThatDoesNotReadAndGoesOnWhenItDoes) {
  start();
  auto peer = client();
  constexpr std::size_t kBytes = 32 << 20;  // more than both socket buffers and the session hold
  auto writer = std::async(std::launch::async, [&] { return peer.send(std::string(kBytes, 'x')); });
  EXPECT_EQ(client().ask("others are served"), "others are served");
  EXPECT_EQ(peer.receive(kBytes).size(), kBytes);
  EXPECT_TRUE(writer.get());
  EXPECT_EQ(peer.ask("y"), "y");
}

TEST_F(ServerTest, WritesWhatIsDueToAPeerThatHasClosedItsSide) {
  start();
  auto peer = client();
  ASSERT_TRUE(peer.send("last words"));
  peer.finish_sending();
  EXPECT_EQ(peer.receive(10), "last words");
  EXPECT_EQ(peer.read_to_end(), 0);
}

TEST_F(ServerTest, ALastReplyArrivesAlthoughThePeerIsStillSending) {
  start(1, [](const Peer&, Instant) { return std::make_unique<OneReplySession>(); });
  auto peer = client();
  ASSERT_TRUE(peer.send(std::string(1 << 20, 'x')));
  EXPECT_EQ(peer.receive(2), "no");
  EXPECT_EQ(peer.read_to_end(), 0);
  peer.finish_sending();
}

// The server throws away the client's bytes, but not for ever: a MiB, and what sockets hold.
TEST_F(ServerTest, APeerThatGoesOnSendingBehindTheEndIsReset) {
  start(1, [](const Peer&, Instant) { return std::make_unique<OneReplySession>(); });
  auto peer = client();
  ASSERT_EQ(peer.ask("xx"), "no");
  const std::string piece(1 << 16, 'x');
  int sent = 0;
  while (sent < 1'024 && peer.send(piece)) ++sent;  // the clock stands still
  EXPECT_GE(sent, 16);
  EXPECT_LT(sent, 1'024);
  let_core_run();
  EXPECT_EQ(server_->connections().open, 0);
}

TEST_F(ServerTest, DoesNotLingerForLongerThanASecond) {
  start(1, [](const Peer&, Instant) { return std::make_unique<OneReplySession>(); });
  auto peer = client();
  EXPECT_EQ(peer.ask("x x"), "no");  // and its end, as two bytes come of three asked for
  EXPECT_EQ(server_->connections().open, 1);
  advance(seconds(3));
  EXPECT_EQ(server_->connections().open, 0);
}

struct PatientSession : EchoSession {
  explicit PatientSession(Instant now) { deadline_ = now + seconds(5); }
  void expired(Instant) override {
    output_ = "too slow";
    finished_ = true;
  }
};

TEST_F(ServerTest, TellsASessionThatItsDeadlineHasPassed) {
  start(1, [](const Peer&, Instant now) { return std::make_unique<PatientSession>(now); });
  auto peer = client();
  EXPECT_EQ(peer.ask("x"), "x");
  advance(seconds(4));
  EXPECT_EQ(peer.ask("x"), "x");
  advance(seconds(2));
  EXPECT_EQ(peer.receive(8), "too slow");
  EXPECT_EQ(peer.read_to_end(), 0);
}

// Makes more output than any socket buffer takes, and tells how much the socket took.
class FloodSession final : public EchoSession {
 public:
  explicit FloodSession(std::atomic<std::size_t>& taken) : taken_(taken) {}
  void received(std::size_t, Instant) override { output_ = std::string(64 << 20, 'x'); }
  void sent(std::size_t size, Instant now) override {
    EchoSession::sent(size, now);
    taken_ += size;
  }

 private:
  std::atomic<std::size_t>& taken_;
};

TEST_F(ServerTest, DropsAPeerThatDoesNotReadForHalfAMinute) {
  auto taken = std::atomic<std::size_t>();
  start(1, [&](const Peer&, Instant) { return std::make_unique<FloodSession>(taken); });
  auto peer = client();
  ASSERT_TRUE(peer.send("x"));
  // Each round of the loop sends some, until the socket is full.
  for (std::size_t before = 1; before != taken;) {
    before = taken;
    for (int round = 0; round < 3; ++round) let_core_run();
  }
  advance(seconds(29));
  EXPECT_EQ(server_->connections().stalled, 0);
  advance(seconds(2));
  EXPECT_EQ(server_->connections().stalled, 1);
  EXPECT_EQ(server_->connections().open, 0);
  EXPECT_EQ(peer.read_to_end(), ECONNRESET);
}

TEST_F(ServerTest, ResetsConnectionsBeyondTheBoundAndServesTheOthers) {
  start(1, nullptr, {.connections_max = 2});
  auto one = client();
  auto two = std::make_unique<TestClient>(server_->address(0));
  ASSERT_EQ(one.ask("1"), "1");
  ASSERT_EQ(two->ask("2"), "2");
  EXPECT_EQ(client().read_to_end(), ECONNRESET);
  EXPECT_EQ(server_->connections().refused, 1);
  EXPECT_EQ(one.ask("still here"), "still here");

  two->finish_sending();
  EXPECT_EQ(two->read_to_end(), 0);
  EXPECT_EQ(client().ask("3"), "3");
}

// While it lives, the process can open no file.
class NoFilesLeft {
 public:
  NoFilesLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const auto probe = UniqueFd(::dup(0));  // the lowest free number
    auto none = before_;
    none.rlim_cur = static_cast<rlim_t>(probe.get());
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoFilesLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(ServerTest, WaitsForDescriptorsWithoutSpinning) {
  start();
  auto served = client();
  ASSERT_EQ(served.ask("x"), "x");
  auto waiting = TestClient();
  {
    const auto none_left = NoFilesLeft();
    waiting.connect(server_->address(0));
    let_core_run();
    const auto reads = clock_.reads();
    constexpr int kRequests = 100;
    for (int i = 0; i < kRequests; ++i) ASSERT_EQ(served.ask("x"), "x");
    // A turn of the loop reads the clock once, a reply once more. Spinning: thousands.
    EXPECT_LE(clock_.reads() - reads, 2 * kRequests + 10);
  }
  advance(seconds(1));
  EXPECT_EQ(waiting.ask("y"), "y");
}

TEST_F(ServerTest, RunsWhatIsPostedOnTheCoreItIsPostedTo) {
  start(2);
  auto ids = std::array<std::thread::id, 2>();
  for (std::size_t core = 0; core < 2; ++core) {
    auto done = std::promise<std::thread::id>();
    server_->post(core, [&done] { done.set_value(std::this_thread::get_id()); });
    ids[core] = done.get_future().get();
  }
  EXPECT_NE(ids[0], ids[1]);
}

TEST_F(ServerTest, WhatRunsOnAllHasRunWhenTheCallReturns) {
  start(2);
  auto ids = std::array<std::thread::id, 2>();
  const auto note = [&](std::size_t core) { ids[core] = std::this_thread::get_id(); };
  EXPECT_TRUE(server_->run_on_all(note, seconds(60)));
  EXPECT_NE(ids[0], std::thread::id());
  EXPECT_NE(ids[1], std::thread::id());
  EXPECT_NE(ids[0], ids[1]);
}

TEST_F(ServerTest, WhatRunsOnAllDoesNotWaitForABusyCoreForever) {
  start(2);
  auto go_on = std::promise<void>();
  auto late = std::promise<void>();
  server_->post(1, [&] { go_on.get_future().wait(); });
  const auto note = [&](std::size_t core) {
    if (core == 1) late.set_value();
  };
  EXPECT_FALSE(server_->run_on_all(note, std::chrono::milliseconds(1)));
  go_on.set_value();
  late.get_future().wait();
}

TEST_F(ServerTest, DrainClosesSilentConnectionsAtOnce) {
  start(2);
  auto clients = std::vector<TestClient>();
  for (int i = 0; i < 20; ++i) clients.push_back(client());
  for (auto& peer : clients) ASSERT_EQ(peer.ask("x"), "x");
  clock_.advance(seconds(2));
  server_->drain(seconds(10));
  for (auto& peer : clients) EXPECT_EQ(peer.read_to_end(), 0);
  server_->stopped().wait();
  EXPECT_EQ(server_->cut_off(), 0);
}

TEST_F(ServerTest, DrainAnswersTheNextRequestOfABusyConnection) {
  start();
  auto peer = client();
  ASSERT_EQ(peer.ask("x"), "x");
  server_->drain(seconds(10));
  let_core_run();
  EXPECT_FALSE(peer.has_input());
  EXPECT_EQ(peer.ask("y"), "y");
  EXPECT_EQ(peer.read_to_end(), 0);
  peer.finish_sending();
  server_->stopped().wait();
}

TEST_F(ServerTest, DrainServesAConnectionThatTheKernelHasCompleted) {
  auto holding = std::promise<void>();
  auto go_on = std::promise<void>();
  start();
  server_->post(0, [&] {
    holding.set_value();
    go_on.get_future().wait();
  });
  holding.get_future().wait();  // the core is held: it accepts nothing
  auto peer = client();
  ASSERT_TRUE(peer.send("x"));
  server_->drain(seconds(10));
  go_on.set_value();
  EXPECT_EQ(peer.receive(1), "x");
  EXPECT_EQ(peer.read_to_end(), 0);
  peer.finish_sending();
  server_->stopped().wait();
}

// A session with unfinished work.
struct StubbornSession : EchoSession {
  void drain() override {}
};

TEST_F(ServerTest, DrainCutsOffWhoTakesTooLong) {
  start(1, [](const Peer&, Instant) { return std::make_unique<StubbornSession>(); });
  auto peer = client();
  ASSERT_EQ(peer.ask("x"), "x");
  server_->drain(seconds(10));
  let_core_run();
  clock_.advance(seconds(11));
  server_->post(0, [] {});
  server_->stopped().wait();
  EXPECT_EQ(server_->cut_off(), 1);
  EXPECT_EQ(peer.read_to_end(), ECONNRESET);
}

TEST_F(ServerTest, WhatLivesOnTheLoopLeavesWhenTheLastClientHasGone) {
  std::atomic<int> asked = 0;
  std::atomic<bool> has_said_all = false;
  std::atomic<bool> has_ended = false;
  const auto leaves = [&](std::size_t) {
    ++asked;
    return has_said_all.load();
  };
  start(1, nullptr, {.admission = nullptr, .core_leaves = leaves, .core_ends = [&](std::size_t) {
                       has_ended = true;
                     }});
  {
    auto peer = client();
    ASSERT_EQ(peer.ask("x"), "x");
    server_->drain(seconds(10));
    let_core_run();
    EXPECT_EQ(asked, 0);
    EXPECT_EQ(peer.ask("y"), "y");
    EXPECT_EQ(peer.read_to_end(), 0);
  }
  while (asked == 0) advance(std::chrono::milliseconds(1));  // the loop goes on
  EXPECT_FALSE(has_ended);
  has_said_all = true;
  clock_.advance(std::chrono::milliseconds(1));
  server_->stopped().wait();
  EXPECT_TRUE(has_ended);
}

TEST_F(ServerTest, WhoNeverLeavesIsGivenASecondWithinThePatienceOfTheDrain) {
  using std::chrono::milliseconds;
  for (const Duration patience : {seconds(100), seconds(5)}) {
    const Duration given = patience == seconds(5) ? milliseconds(500) : milliseconds(1'000);
    std::atomic<bool> is_asked = false;
    const auto leaves = [&](std::size_t) {
      is_asked = true;
      return false;
    };
    start(1, [](const Peer&, Instant) { return std::make_unique<StubbornSession>(); },
          {.admission = nullptr, .core_leaves = leaves});
    auto peer = client();
    ASSERT_EQ(peer.ask("x"), "x");
    server_->drain(patience);
    let_core_run();
    advance(patience - given - Duration(1));
    EXPECT_FALSE(is_asked);
    clock_.advance(Duration(1));  // sessions that have not finished by now are cut off
    let_core_run();
    advance(milliseconds(1));
    EXPECT_TRUE(is_asked);
    clock_.advance(given);
    server_->stopped().wait();
    EXPECT_EQ(server_->cut_off(), 1);
    server_.reset();  // its threads know what goes now
  }
}

TEST_F(ServerTest, NobodyCanConnectAfterADrain) {
  start();
  const auto address = server_->address(0);
  server_->drain(seconds(10));
  server_->stopped().wait();
  const auto peer = TestClient();
  EXPECT_EQ(::connect(peer.fd(), address.data(), address.size()), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST_F(ServerTest, SurvivesPeersThatVanish) {
  start(2);
  for (int i = 0; i < 200; ++i) {
    auto peer = client();
    peer.send("x");
    reset_on_close(peer.fd());
  }
  EXPECT_EQ(client().ask("x"), "x");
}

// A session that must be looked at in time.
struct PunctualSession : EchoSession {
  void received(std::size_t size, Instant now) override {
    EchoSession::received(size, now);
    deadline_ = now + std::chrono::milliseconds(200);
    waker_->look_at(deadline_);
    waker_->look_at(deadline_ + seconds(1));  // the earliest counts
  }
  void expired(Instant) override {
    output_ = "in time";
    finished_ = true;
  }
};

TEST_F(ServerTest, LooksAtADeadlineWhenASessionWantsIt) {
  start(1, [](const Peer&, Instant) { return std::make_unique<PunctualSession>(); });
  auto punctual = client();
  auto gone = client();
  EXPECT_EQ(punctual.ask("x"), "x");
  EXPECT_EQ(gone.ask("y"), "y");
  gone = TestClient();
  let_core_run();
  advance(std::chrono::milliseconds(200));
  EXPECT_EQ(punctual.receive(7), "in time");
  EXPECT_EQ(punctual.read_to_end(), 0);
}

// A session with memory for its replies only.
struct PoorSession : EchoSession {
  explicit PoorSession(Instant deadline) { deadline_ = deadline; }
  void expired(Instant) override { throw std::bad_alloc(); }
  void drain() override { throw std::bad_alloc(); }
};

class NoMemoryTest : public ServerTest {
 protected:
  // The first of the connections is poor.
  void start_with_a_poor_one(Duration patience) {
    start(1, [this, patience](const Peer&, Instant now) -> std::unique_ptr<Session> {
      if (made_++ == 0) return std::make_unique<PoorSession>(now + patience);
      return std::make_unique<EchoSession>();
    });
  }

  int made_ = 0;
};

TEST_F(NoMemoryTest, ForASessionCostsThatConnectionOnly) {
  start(1, [this](const Peer&, Instant) -> std::unique_ptr<Session> {
    if (++made_ % 2 == 1) throw std::bad_alloc();
    return std::make_unique<EchoSession>();
  });
  for (int i = 0; i < 3; ++i) {
    auto unlucky = client();
    EXPECT_EQ(unlucky.read_to_end(), 0);
    auto other = client();
    EXPECT_EQ(other.ask("x"), "x");
    let_core_run();
    EXPECT_EQ(server_->connections().open, 1) << "the place of the first is free";
    other.finish_sending();
    EXPECT_EQ(other.read_to_end(), 0);
  }
}

TEST_F(NoMemoryTest, AtTheEndOfATimeCostsThatConnectionOnly) {
  start_with_a_poor_one(seconds(5));
  auto poor = client();
  ASSERT_EQ(poor.ask("x"), "x");
  auto other = client();
  ASSERT_EQ(other.ask("y"), "y");
  advance(seconds(10));
  EXPECT_EQ(poor.read_to_end(), 0);
  EXPECT_EQ(other.ask("still here"), "still here");
}

TEST_F(NoMemoryTest, InADrainCostsThatConnectionOnly) {
  start_with_a_poor_one(seconds(1'000));
  auto poor = client();
  ASSERT_EQ(poor.ask("x"), "x");
  auto other = client();
  ASSERT_EQ(other.ask("y"), "y");
  clock_.advance(seconds(2));  // silent for long enough to be told at once
  let_core_run();
  server_->drain(seconds(1'000));
  EXPECT_EQ(poor.read_to_end(), 0);
  EXPECT_EQ(other.read_to_end(), 0);
  server_->stopped().wait();
  EXPECT_EQ(server_->cut_off(), 0);
}

}  // namespace
}  // namespace weir
