// EventLoop: one core's loop. Tells watchers that their sockets are ready.
//
// Straight on epoll, not on Boost.Asio. A request that is not pipelined should cost three system
// calls: epoll_wait, recv, send. Asio 1.81's reactor needs a fourth: async_wait() arms the socket
// again (epoll_ctl), async_read_some() first tries a recv that has to fail. Measured on one core
// with 64 connections, CPU time a request before anything is done with it: nginx `return 200` 5.8
// to 6.1 us, async_wait and async_read_some 5.2 to 5.5. Epoll directly: 5.05, which saves half of
// what a check costs. Level-triggered, because edge-triggered measured the same and leaves more to
// get wrong.
//
// Thread rule: everything on the thread that calls run() or turn(), except post().
// Tested by event_loop_test.cc.

#pragma once

#include <boost/intrusive/list.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/unique_fd.h"
#include "proto/reactor.h"
#include "weir/clock.h"

namespace weir {

class EventLoop final : public Reactor {
 public:
  static constexpr Duration kNoMemoryPause = std::chrono::milliseconds(10);

  // Watchers that will be woken, linked through the watchers: waking allocates nothing, and a
  // watcher that goes away leaves the list by itself.
  using WakeHook =
      boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

  // Something that waits for its descriptor.
  class Watcher : public WakeHook {
   public:
    // `events` are epoll's. May destroy this watcher, and no other.
    virtual void ready(std::uint32_t events) = 0;

    // After wake_soon(). May destroy this watcher, and no other.
    virtual void woken() {}

   protected:
    ~Watcher() = default;
  };

  // `clock` must outlive the loop. Throws std::system_error if the process is out of
  // descriptors.
  explicit EventLoop(const Clock& clock);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Calls watcher.ready() when `fd` is ready, until unwatch(). Closing a descriptor is not enough:
  // the kernel keeps it while a process that was forked meanwhile has it. False if the kernel has
  // no room for another.
  [[nodiscard]] bool watch(int fd, std::uint32_t events, Watcher& watcher);
  void change(int fd, std::uint32_t events, Watcher& watcher);
  // Harmless if it is not watched. An event of this round may still reach its watcher.
  void unwatch(int fd);

  // Calls watcher.woken() once, after all other work of this round. A watcher that it wakes is
  // called in the same round, unless that would go on for ever.
  void wake_soon(Watcher& watcher) noexcept {
    if (!watcher.is_linked()) wake_.push_back(watcher);
  }

  // The time when the current batch of events was fetched, or later (read_clock).
  Instant now() const { return now_; }

  // Brings now() up to date.
  Instant read_clock() { return now_ = clock_.now(); }

  // Alarms ring to the millisecond, and never early. If `ring` throws std::bad_alloc, the alarm
  // rings again after kNoMemoryPause, unless it is set to an earlier time.
  std::unique_ptr<Alarm> make_alarm(std::function<void(Instant now)> ring) override;

  // Runs `action` on the loop's thread, after the current events. From any thread, also before
  // run(). Actions posted after the loop has stopped don't run. An action that throws
  // std::bad_alloc runs again after kNoMemoryPause, before those behind it.
  void post(std::function<void()> action);

  // Turn after turn, until stop().
  void run();
  void stop() { stopped_ = true; }

  // One round: waits until there is something to do, for `wait` at most, and does it. If time has
  // passed since the last round, and this one is to wait, call read_clock() first.
  void turn(Duration wait);

  // For a loop that lives within another: call turn(0) whenever the descriptor is readable, and at
  // next_timeout() even if it is not. Ask for both after each turn, and after setting alarms
  // elsewhere.
  int descriptor() const { return epoll_.get(); }
  // Never too late. Instant::max(): not before the descriptor is readable.
  Instant next_timeout() const;

 private:
  class LoopAlarm;

  using WakeList = boost::intrusive::list<Watcher, boost::intrusive::constant_time_size<false>>;

  int timeout_ms(Duration wait) const;
  void run_alarms();
  void run_posted();
  void run_woken();

  const Clock& clock_;
  Instant now_;
  UniqueFd epoll_;
  UniqueFd wakeup_;  // an eventfd: readable when something has been posted
  bool stopped_ = false;
  std::vector<LoopAlarm*> alarms_;    // null: a place for another
  Instant soonest_ = Instant::max();  // none rings earlier; may be too early
  WakeList wake_;                     // in the order they asked

  std::vector<std::function<void()>> actions_;  // posted, being run from next_action_ on
  std::size_t next_action_ = 0;
  bool has_posts_ = false;  // or may have

  std::mutex mutex_;  // guards posted_
  std::vector<std::function<void()>> posted_;
};

}  // namespace weir
