// A connection's cost for others: memory and time.

#include <algorithm>
#include <cerrno>
#include <future>
#include <memory>
#include <semaphore>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "net/process_limits.h"
#include "net/server_testing.h"

namespace weir {
namespace {

// Each byte from the peer makes the session hold a KiB.
class HoardingSession final : public EchoSession {
 public:
  void received(std::size_t size, Instant now) override {
    held_ += size << 10;
    EchoSession::received(size, now);
  }
  std::size_t held() const override { return held_; }

 private:
  std::size_t held_ = 0;
};

// The bytes that the server holds. A client may have its answer before the core has counted it.
std::size_t held_by(const Server& server, std::size_t wanted) {
  for (int i = 0; i < 10'000'000 && server.connections().buffered != wanted; ++i) {
    std::this_thread::yield();
  }
  return server.connections().buffered;
}

TEST_F(ServerTest, ShedsThoseThatHoldMostOnWhateverCoreTheyAre) {
  auto shed = std::promise<std::size_t>();
  start(2, [](const Peer&, Instant) { return std::make_unique<HoardingSession>(); },
        {.buffered_max = 1 << 20, .on_shed = [&](std::size_t count) { shed.set_value(count); }});
  auto small = std::vector<TestClient>();
  for (int i = 0; i < 8; ++i) small.push_back(client());
  for (auto& peer : small) ASSERT_EQ(peer.ask("0123456789").size(), 10u);
  auto greedy = client();
  ASSERT_EQ(greedy.ask(std::string(600, 'g')).size(), 600u);
  EXPECT_EQ(server_->connections().shed, 0);
  EXPECT_EQ(held_by(*server_, 680u << 10), 680u << 10);

  ASSERT_EQ(small.front().ask(std::string(400, 's')).size(), 400u);
  EXPECT_EQ(greedy.read_to_end(), ECONNRESET);
  EXPECT_EQ(shed.get_future().get(), 1u);
  EXPECT_EQ(server_->connections().shed, 1);
  EXPECT_EQ(held_by(*server_, 480u << 10), 480u << 10);
  for (auto& peer : small) EXPECT_EQ(peer.ask("x"), "x");
  server_.reset();
}

// A session with unfinished work.
class StubbornHoarder final : public EchoSession {
 public:
  explicit StubbornHoarder(std::vector<std::thread::id>& cores) : cores_(cores) {}
  void received(std::size_t size, Instant now) override {
    if (held_ == 0) cores_.push_back(std::this_thread::get_id());
    held_ += size << 10;
    EchoSession::received(size, now);
  }
  std::size_t held() const override { return held_; }
  void drain() override {}

 private:
  std::vector<std::thread::id>& cores_;  // of the sessions, one after the other
  std::size_t held_ = 0;
};

// Once the core that had stopped never shed, and the other core waited for it.
TEST_F(ServerTest, ShedsAgainAndAgainThoughOneCoreHasStoppedInADrain) {
  auto cores = std::vector<std::thread::id>();
  auto ended = std::counting_semaphore<2>(0);
  start(2, [&](const Peer&, Instant) { return std::make_unique<StubbornHoarder>(cores); },
        {.buffered_max = 512 << 10, .admission = nullptr, .core_ends = [&](std::size_t) {
           ended.release();
         }});
  auto clients = std::vector<TestClient>();
  for (std::size_t i = 0; i < 5; ++i) {
    clients.push_back(client());
    ASSERT_EQ(clients.back().ask("x"), "x");
  }
  const bool is_first = std::ranges::count(cores, cores.front()) >= 3;
  auto stay = std::vector<TestClient>();  // on one core
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if ((cores[i] == cores.front()) == is_first) stay.push_back(std::move(clients[i]));
  }
  clients.clear();
  server_->drain(std::chrono::seconds(100));
  ended.acquire();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stay[i].send(std::string(600, 'g')));
    EXPECT_EQ(stay[i].read_to_end(), ECONNRESET) << i;
  }
  server_.reset();
}

// A session that always has more to do.
class BusySession final : public EchoSession {
 public:
  BusySession(int number, std::vector<int>& turns) : number_(number), turns_(turns) {}
  void received(std::size_t size, Instant now) override {
    EchoSession::received(size, now);
    waker_->yield();
  }
  void woken(Instant) override {
    turns_.push_back(number_);
    waker_->yield();
  }

 private:
  const int number_;
  std::vector<int>& turns_;
};

TEST_F(ServerTest, ThoseWithMoreToDoTakeTurns) {
  constexpr int kBusy = 40;
  auto turns = std::vector<int>();  // the core's
  auto made = 0;
  start(1, [&](const Peer&, Instant) -> std::unique_ptr<Session> {
    if (made == kBusy) return std::make_unique<EchoSession>();
    return std::make_unique<BusySession>(made++, turns);
  });
  auto busy = std::vector<TestClient>();
  for (int i = 0; i < kBusy; ++i) {
    busy.push_back(client());
    ASSERT_EQ(busy.back().ask("x"), "x");
  }
  auto other = client();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(other.ask("and I?"), "and I?");

  auto seen = std::promise<std::vector<int>>();
  server_->post(0, [&] { seen.set_value(turns); });
  auto last = seen.get_future().get();
  ASSERT_GE(last.size(), 2u * kBusy);
  last.erase(last.begin(), last.end() - 2 * kBusy);
  for (int i = 0; i < kBusy; ++i) EXPECT_EQ(last[i], last[i + kBusy]);
  const auto first = std::set<int>(last.begin(), last.begin() + kBusy);
  EXPECT_EQ(first.size(), kBusy);
  server_.reset();  // its sessions write to `turns`
}

// Its turns take a while.
class SlowSession final : public EchoSession {
 public:
  SlowSession(ManualClock& clock, int& turns) : clock_(clock), turns_(turns) {}
  void received(std::size_t size, Instant now) override {
    EchoSession::received(size, now);
    waker_->yield();
  }
  void woken(Instant) override {
    ++turns_;
    clock_.advance(std::chrono::microseconds(400));
    waker_->yield();
  }

 private:
  ManualClock& clock_;
  int& turns_;
};

// Counts, in each round of the loop, the turns since the last round.
class RoundWatch {
 public:
  RoundWatch(Server& server, const int& turns) : server_(server), turns_(turns) {}

  int most_turns() {
    server_.post(0, [this] { look(); });
    return most_.get_future().get();
  }

 private:
  static constexpr int kRounds = 20;

  void look() {
    if (round_ > 0) seen_ = std::max(seen_, turns_ - before_);
    before_ = turns_;
    if (++round_ > kRounds) return most_.set_value(seen_);
    server_.post(0, [this] { look(); });
  }

  Server& server_;
  const int& turns_;
  int round_ = 0;
  int before_ = 0;
  int seen_ = 0;
  std::promise<int> most_;
};

TEST_F(ServerTest, TurnsTakeAMillisecondInARoundOfTheLoop) {
  constexpr int kSlow = 40;
  auto turns = 0;
  start(1, [&](const Peer&, Instant) { return std::make_unique<SlowSession>(clock_, turns); });
  auto slow = std::vector<TestClient>();
  for (int i = 0; i < kSlow; ++i) {
    slow.push_back(client());
    ASSERT_EQ(slow.back().ask("x"), "x");
  }
  const int most = RoundWatch(*server_, turns).most_turns();
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 3) << "of 400 us each";
  server_.reset();
}

// A session with most of a request, which takes a while for each further byte.
class LadenSession final : public EchoSession {
 public:
  LadenSession(ManualClock& clock, int& reads) : clock_(clock), reads_(reads) {}
  void received(std::size_t size, Instant now) override {
    ++reads_;
    clock_.advance(std::chrono::microseconds(400));
    EchoSession::received(size, now);
  }
  std::size_t input_waiting() const override { return Connection::kTurnInput; }

 private:
  ManualClock& clock_;
  int& reads_;
};

// Once bodies in small pieces were moved as they grew, all in one round: 25 ms.
TEST_F(ServerTest, SmallReadsBehindMuchInputTakeTurns) {
  constexpr int kLaden = 40;
  auto reads = 0;
  start(1, [&](const Peer&, Instant) { return std::make_unique<LadenSession>(clock_, reads); });
  auto laden = std::vector<TestClient>();
  for (int i = 0; i < kLaden; ++i) {
    laden.push_back(client());
    ASSERT_EQ(laden.back().ask("x"), "x");
  }
  auto all_sent = std::promise<void>();
  auto in_a_round = std::promise<int>();
  server_->post(0, [&] {
    all_sent.get_future().wait();
    server_->post(0, [&, before = reads] { in_a_round.set_value(reads - before); });
  });
  for (auto& peer : laden) ASSERT_TRUE(peer.send("y"));
  all_sent.set_value();
  EXPECT_LE(in_a_round.get_future().get(), 3) << "of 400 us each";
  for (auto& peer : laden) EXPECT_EQ(peer.receive(1), "y");
  server_.reset();
}

TEST(MemoryLimit, IsOfThisMachine) {
  EXPECT_GT(memory_limit(), std::uint64_t{1} << 20);
  EXPECT_EQ(default_buffered_max(0), std::uint64_t{64} << 20);
  EXPECT_EQ(default_buffered_max(std::uint64_t{8} << 30), std::uint64_t{1} << 30);
  EXPECT_EQ(default_buffered_max(std::uint64_t{1} << 50), std::uint64_t{4} << 30);
}

TEST(OpenFiles, LeavesRoomForWhatIsNoConnection) {
  EXPECT_EQ(connections_possible(1'024, 2), 1'024 - 48);
  EXPECT_EQ(connections_possible(16, 64), 1);  // hopeless, but not nonsense
  EXPECT_GE(raise_open_files_limit(), 256);
}

}  // namespace
}  // namespace weir
