// EventQueue: the events of a simulation in the order of their times. Two events at one time happen
// in the order in which they were set.
//
//   class Tick final : public Happening {
//     void happen(Instant now) override { ...; set(now + 1s); }
//   };
//
// Time is true time, which no machine of the simulation knows (machine.h).
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "weir/time.h"

namespace weir::sim {

class Happening;

class EventQueue {
 public:
  explicit EventQueue(Instant start) : now_(start) {}
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  Instant now() const { return now_; }
  std::uint64_t happened() const { return happened_; }

  // Makes the next event happen, if it is due by `end`. False: none is, and it is `end` now.
  bool step(Instant end);

 private:
  friend class Happening;

  struct Entry {
    Instant when;
    std::uint64_t order;
    std::uint32_t timer;

    bool operator>(const Entry& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  // One for each happening. At most one of its entries counts. That entry may be earlier than the
  // time set last: then it is set again when it comes up.
  struct Timer {
    Happening* what = nullptr;
    Instant when = Instant::max();
    Instant entry_when = Instant::max();
    std::uint64_t entry = 0;
  };

  std::uint32_t add(Happening& what);
  void remove(std::uint32_t timer);
  void set(std::uint32_t timer, Instant when);
  void push(std::uint32_t timer);

  Instant now_;
  std::uint64_t orders_ = 0;
  std::uint64_t happened_ = 0;
  std::vector<Entry> entries_;  // a heap
  std::vector<Timer> timers_;
  std::vector<std::uint32_t> free_;
};

// An event at the time that was set last. It happens once, and may set itself again.
class Happening {
 public:
  explicit Happening(EventQueue& queue) : queue_(queue), timer_(queue.add(*this)) {}
  virtual ~Happening() { queue_.remove(timer_); }
  Happening(const Happening&) = delete;
  Happening& operator=(const Happening&) = delete;

  // Instant::max(): never. A time in the past: as soon as its turn comes.
  void set(Instant when) { queue_.set(timer_, when); }
  EventQueue& queue() { return queue_; }

  // It may destroy itself.
  virtual void happen(Instant now) = 0;

 private:
  EventQueue& queue_;
  const std::uint32_t timer_;
};

// The same with a function.
class Task final : public Happening {
 public:
  Task(EventQueue& queue, std::function<void(Instant now)> act)
      : Happening(queue), act_(std::move(act)) {}
  void happen(Instant now) override { act_(now); }

 private:
  std::function<void(Instant)> act_;
};

}  // namespace weir::sim
