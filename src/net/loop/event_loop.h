// EventLoop: one core's loop. Tells watchers that their sockets are ready.
//
// Straight on epoll, not on Boost.Asio. A request that is not pipelined should cost
// three system calls: epoll_wait, recv, send. Asio 1.81's reactor cannot do without a
// fourth: async_wait() arms the socket again (epoll_ctl), async_read_some() first
// tries a recv that has to fail. Measured on one core with 64 connections, CPU time a request
// before anything is done with it: nginx `return 200` 5.8 to 6.1 us, async_wait and async_read_some
// 5.2 to 5.5. Epoll directly: 5.05, which saves half of what a check costs. Level-triggered,
// because edge-triggered measured the same and leaves more to get wrong.
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

  // Watchers that will be woken. A list through them: waking allocates nothing, and one that
  // goes away leaves the list by itself.
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

  // Calls watcher.ready() when `fd` is, until unwatch(): the kernel forgets a descriptor that
  // is closed only if no process that was forked meanwhile has it, too. False if the kernel
  // has no room for another.
  [[nodiscard]] bool watch(int fd, std::uint32_t events, Watcher& watcher);
  void change(int fd, std::uint32_t events, Watcher& watcher);
  // Nothing happens if it is not watched. An event of this round may still reach its watcher.
  void unwatch(int fd);

  // Calls watcher.woken() once, behind the events of this round and whatever else is to be
  // done in it. A watcher that it wakes is called in the same round, if that is not endless.
  void wake_soon(Watcher& watcher) noexcept {
    if (!watcher.is_linked()) wake_.push_back(watcher);
  }

  // When the current batch of events was fetched, or later (read_clock).
  Instant now() const { return now_; }

  // Brings now() up to date.
  Instant read_clock() { return now_ = clock_.now(); }

  // Alarms ring to the millisecond, and never early. One whose `ring` throws std::bad_alloc
  // rings again after kNoMemoryPause, unless it is set to ring before.
  std::unique_ptr<Alarm> make_alarm(std::function<void(Instant now)> ring) override;

  // Runs `action` on the loop's thread, after the events of the moment. From any
  // thread, also before run(). Actions posted after the loop has stopped don't run. One that
  // throws std::bad_alloc is run again after kNoMemoryPause, before those behind it.
  void post(std::function<void()> action);

  // Turn after turn, until stop().
  void run();
  void stop() { stopped_ = true; }

  // One round: waits until there is something to do, for `wait` at most, and does it. If time
  // has passed since the last one, and this is to wait, read_clock() comes first.
  void turn(Duration wait);

  // For a loop that lives within another: turn(0) whenever the descriptor is readable, and
  // when it is next_timeout() though the descriptor is silent. Ask for both after each turn
  // and after whatever else set alarms.
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
  Instant soonest_ = Instant::max();  // none rings before; one that was set again may ring later
  WakeList wake_;                     // in the order they asked

  std::vector<std::function<void()>> actions_;  // posted, being run from next_action_ on
  std::size_t next_action_ = 0;
  bool has_posts_ = false;  // or may have

  std::mutex mutex_;  // guards posted_
  std::vector<std::function<void()>> posted_;
};

}  // namespace weir
