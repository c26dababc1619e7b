#include "net/loop/event_loop.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "net/net_testing.h"

namespace weir {
namespace {

std::pair<UniqueFd, UniqueFd> socket_pair() {
  auto ends = std::array<int, 2>();
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

struct CountingWatcher final : EventLoop::Watcher {
  void ready(std::uint32_t events) override {
    ++calls;
    last_events = events;
    if (then) then();
  }
  void woken() override {
    ++wakes;
    if (then_woken) then_woken();
  }
  int calls = 0;
  int wakes = 0;
  std::uint32_t last_events = 0;
  std::function<void()> then;
  std::function<void()> then_woken;
};

TEST(EventLoop, CallsAWatcherWhenItsSocketIsReadyAndAsLongAsItIs) {
  const auto clock = ManualClock();
  auto loop = EventLoop(clock);
  const auto [ours, theirs] = socket_pair();
  auto watcher = CountingWatcher();
  ASSERT_TRUE(loop.watch(ours.get(), EPOLLIN, watcher));
  watcher.then = [&] {
    if (watcher.calls == 3) loop.stop();
  };
  ASSERT_EQ(::send(theirs.get(), "x", 1, 0), 1);
  loop.run();
  EXPECT_EQ(watcher.calls, 3);
  EXPECT_EQ(watcher.last_events, EPOLLIN);
}

TEST(EventLoop, AsksForWhatItWasLastToldTo) {
  const auto clock = ManualClock();
  auto loop = EventLoop(clock);
  const auto [ours, theirs] = socket_pair();
  auto watcher = CountingWatcher();
  ASSERT_TRUE(loop.watch(ours.get(), EPOLLIN, watcher));
  loop.change(ours.get(), EPOLLOUT, watcher);
  watcher.then = [&] { loop.stop(); };
  loop.run();
  EXPECT_EQ(watcher.last_events, EPOLLOUT);
}

TEST(EventLoop, RunsPostsOfOtherThreadsInTheirOrder) {
  const auto clock = ManualClock();
  auto loop = EventLoop(clock);
  auto order = std::vector<int>();
  auto poster = std::thread([&] {
    for (int i = 0; i < 1'000; ++i) loop.post([&order, i] { order.push_back(i); });
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  poster.join();
  ASSERT_EQ(order.size(), 1'000);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(EventLoop, RunsWhatWasPostedBeforeItRan) {
  const auto clock = ManualClock();
  auto loop = EventLoop(clock);
  loop.post([&] { loop.post([&] { loop.stop(); }); });
  loop.run();
}

TEST(EventLoop, TheAlarmRingsOnceAndNotBeforeItsTime) {
  auto clock = ManualClock();
  auto loop = EventLoop(clock);
  const auto start = loop.now();
  auto rang_at = std::vector<Duration>();
  const auto alarm = loop.make_alarm([&](Instant now) { rang_at.push_back(now - start); });
  alarm->set(start + std::chrono::seconds(3));
  alarm->set(start + std::chrono::seconds(5));
  for (int second = 0; second < 10; ++second) {
    // One turn of the loop a second.
    loop.post([&] { clock.advance(std::chrono::seconds(1)); });
  }
  auto turns = 0;
  auto turn = std::function<void()>();
  turn = [&] {
    if (++turns == 20) return loop.stop();
    loop.post(turn);
  };
  loop.post(turn);
  loop.run();
  ASSERT_EQ(rang_at.size(), 1);
  EXPECT_GE(rang_at.front(), std::chrono::seconds(5));
}

TEST(EventLoop, AnAlarmWithoutAnyEventRings) {
  const SystemClock clock;
  auto loop = EventLoop(clock);
  const auto alarm = loop.make_alarm([&](Instant) { loop.stop(); });
  alarm->set(loop.now() + std::chrono::milliseconds(2));
  const auto start = clock.now();
  loop.run();
  EXPECT_GE(clock.now() - start, std::chrono::milliseconds(2));
}

TEST(EventLoop, AnAlarmMayBeDestroyedWhileItRingsAndNeverRingsAfter) {
  const SystemClock clock;
  auto loop = EventLoop(clock);
  auto rings = 0;
  std::unique_ptr<Alarm> first;
  std::unique_ptr<Alarm> second;
  first = loop.make_alarm([&](Instant) {
    ++rings;
    first.reset();
    second.reset();
  });
  second = loop.make_alarm([&](Instant) { ++rings; });
  first->set(loop.now());
  second->set(loop.now());
  const auto last = loop.make_alarm([&](Instant) { loop.stop(); });
  last->set(loop.now() + std::chrono::milliseconds(2));
  loop.run();
  EXPECT_EQ(rings, 1);
}

TEST(EventLoop, WakesOnceBehindTheEventsOfTheRound) {
  const auto clock = ManualClock();
  auto loop = EventLoop(clock);
  auto order = std::string();
  auto watcher = CountingWatcher();
  auto other = CountingWatcher();
  watcher.then_woken = [&] {
    order += "woken ";
    loop.wake_soon(other);
  };
  other.then_woken = [&] {
    order += "other";
    loop.stop();
  };
  loop.post([&] {
    loop.wake_soon(watcher);
    order += "first ";
  });
  loop.post([&] { order += "second "; });
  loop.run();
  EXPECT_EQ(order, "first second woken other");
}

TEST(EventLoop, DoesNotWakeWhoWasForgotten) {
  const auto clock = ManualClock();
  auto loop = EventLoop(clock);
  auto watcher = CountingWatcher();
  auto other = CountingWatcher();
  watcher.then_woken = [&] { other.unlink(); };
  loop.post([&] {
    loop.wake_soon(watcher);
    loop.wake_soon(other);
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  EXPECT_EQ(watcher.wakes, 1);
  EXPECT_EQ(other.wakes, 0);
}

TEST(EventLoop, WatchersThatWakeThemselvesDoNotStarveTheOthers) {
  const auto clock = ManualClock();
  auto loop = EventLoop(clock);
  auto watcher = CountingWatcher();
  watcher.then_woken = [&] { loop.wake_soon(watcher); };
  loop.post([&] { loop.wake_soon(watcher); });
  auto turns = 0;
  auto turn = std::function<void()>();
  turn = [&] { ++turns == 3 ? loop.stop() : loop.post(turn); };
  loop.post(turn);
  loop.run();
  EXPECT_GT(watcher.wakes, 3);
}

TEST(EventLoop, ASignalIsNoEvent) {
  struct sigaction ours {};
  struct sigaction theirs {};
  ours.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &ours, &theirs), 0);
  const auto clock = ManualClock();
  auto loop = EventLoop(clock);
  auto watcher = CountingWatcher();
  const auto [first, second] = socket_pair();
  ASSERT_TRUE(loop.watch(first.get(), EPOLLIN, watcher));
  const ::pthread_t waiting = ::pthread_self();
  auto other = std::thread([&] {
    for (int i = 0; i < 100; ++i) ::pthread_kill(waiting, SIGUSR1);
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  other.join();
  ::sigaction(SIGUSR1, &theirs, nullptr);
  EXPECT_EQ(watcher.calls, 0);
}

TEST(EventLoopDeathTest, DoesNotSpinWhenItCannotWait) {
  const auto clock = ManualClock();
  auto loop = EventLoop(clock);
  EXPECT_DEATH(
      {
        ::close(loop.descriptor());
        loop.turn(Duration{0});
      },
      "errno == EINTR");
}

TEST(EventLoop, AnAlarmWithoutMemoryRingsAgainAndOthersRing) {
  const SystemClock clock;
  auto loop = EventLoop(clock);
  int attempts = 0;
  int rings = 0;
  std::unique_ptr<Alarm> gone;
  const auto first = loop.make_alarm([&](Instant) {
    if (++attempts == 1) throw std::bad_alloc();
    loop.stop();
  });
  gone = loop.make_alarm([&](Instant) {
    gone.reset();
    throw std::bad_alloc();
  });
  const auto last = loop.make_alarm([&](Instant) { ++rings; });
  for (Alarm* alarm : {first.get(), gone.get(), last.get()}) alarm->set(loop.now());
  loop.run();
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(rings, 1);
  EXPECT_EQ(gone, nullptr);
}

TEST(EventLoop, APostWithoutMemoryIsRunAgainBeforeThoseBehindIt) {
  const SystemClock clock;
  auto loop = EventLoop(clock);
  std::string order;
  bool has_memory = false;
  loop.post([&] { order += "first "; });
  loop.post([&] {
    if (!std::exchange(has_memory, true)) {
      loop.post([&] {
        order += "fourth";
        loop.stop();
      });
      throw std::bad_alloc();
    }
    order += "second ";
  });
  loop.post([&] { order += "third "; });
  loop.run();
  EXPECT_EQ(order, "first second third fourth");
}

// The work of a loop around another loop. False if that took too long.
bool turn_from_outside(EventLoop& loop, const Clock& clock, const std::function<bool()>& done) {
  using std::chrono::milliseconds;
  const Instant give_up_at = clock.now() + std::chrono::seconds(30);
  while (!done() && clock.now() < give_up_at) {
    const Instant until = std::min(loop.next_timeout(), give_up_at);
    const auto wait = std::chrono::ceil<milliseconds>(until - clock.now());
    auto waiting = pollfd{.fd = loop.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(0, wait.count())));
    loop.turn(Duration{0});
  }
  return done();
}

TEST(NestedEventLoop, TellsTheOtherLoopOfSocketsAndPosts) {
  const SystemClock clock;
  auto loop = EventLoop(clock);
  const auto [ours, theirs] = socket_pair();
  auto watcher = CountingWatcher();
  ASSERT_TRUE(loop.watch(ours.get(), EPOLLIN, watcher));
  EXPECT_EQ(loop.next_timeout(), Instant::max());
  watcher.then = [&] { loop.unwatch(ours.get()); };
  ASSERT_EQ(::send(theirs.get(), "x", 1, 0), 1);
  EXPECT_TRUE(turn_from_outside(loop, clock, [&] { return watcher.calls == 1; }));

  bool posted = false;
  auto poster = std::thread([&] { loop.post([&] { posted = true; }); });
  EXPECT_TRUE(turn_from_outside(loop, clock, [&] { return posted; }));
  poster.join();
}

TEST(NestedEventLoop, TellsTheOtherLoopWhenItsAlarmRings) {
  const SystemClock clock;
  auto loop = EventLoop(clock);
  auto rang_at = Instant::max();
  const auto alarm = loop.make_alarm([&](Instant now) { rang_at = now; });
  const auto due = clock.now() + std::chrono::milliseconds(5);
  alarm->set(due);
  EXPECT_EQ(loop.next_timeout(), due);
  EXPECT_TRUE(turn_from_outside(loop, clock, [&] { return rang_at != Instant::max(); }));
  EXPECT_GE(rang_at, due);
  EXPECT_EQ(loop.next_timeout(), Instant::max());
}

TEST(NestedEventLoop, IsDueAtOnceForWhoIsStillToBeWoken) {
  const SystemClock clock;
  auto loop = EventLoop(clock);
  auto watcher = CountingWatcher();
  loop.wake_soon(watcher);
  EXPECT_EQ(loop.next_timeout(), loop.now());
  EXPECT_TRUE(turn_from_outside(loop, clock, [&] { return watcher.wakes == 1; }));
}

TEST(NestedEventLoop, ATurnWaitsNoLongerThanItIsAllowedTo) {
  const SystemClock clock;
  auto loop = EventLoop(clock);
  int rings = 0;
  const auto alarm = loop.make_alarm([&](Instant) { ++rings; });
  const auto start = clock.now();
  loop.turn(std::chrono::milliseconds(1));  // nothing will ever happen
  alarm->set(start + std::chrono::hours(1));
  loop.turn(Duration{0});
  loop.turn(std::chrono::milliseconds(1));
  EXPECT_LT(clock.now() - start, std::chrono::seconds(30));
  EXPECT_EQ(rings, 0);
}

TEST(UniqueFd, ClosesOnceAndMoves) {
  auto [ours, theirs] = socket_pair();
  const auto number = ours.get();
  auto moved = std::move(ours);
  EXPECT_EQ(moved.get(), number);
  moved = UniqueFd();
  EXPECT_FALSE(moved.is_open());
  char byte = 0;
  EXPECT_EQ(::recv(theirs.get(), &byte, 1, 0), 0);  // the end: the other side is closed
}

}  // namespace
}  // namespace weir
