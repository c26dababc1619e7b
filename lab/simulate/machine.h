// Machine: runs a simulated program: it has a clock that is off, a processor that may stand still,
// and an event loop.
//
// A node's clock never steps (weir/clock.h), but begins wrong and drifts. A Redis's clock may step.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "proto/reactor.h"
#include "simulate/event_queue.h"

namespace weir::sim {

class MachineClock {
 public:
  // At `start` it is `ahead` of true time; it gains `drift_ppm` microseconds a second.
  MachineClock(Instant start, Duration ahead, std::int64_t drift_ppm)
      : since_(start), shown_(start + ahead), drift_ppm_(drift_ppm) {}

  // The time that this clock shows at a true time.
  Instant at(Instant time) const {
    const std::int64_t passed = (time - since_).count();
    return shown_ + Duration(passed + passed / 1'000'000 * drift_ppm_ +
                             passed % 1'000'000 * drift_ppm_ / 1'000'000);
  }
  // The first true time at which it shows `shown`.
  Instant when(Instant shown) const {
    if (shown == Instant::max()) return shown;
    const Duration ahead = shown - shown_;
    Instant time = since_ + ahead - Duration(ahead.count() / 1'000'000 * drift_ppm_);
    while (at(time) < shown) time += std::max(Duration(1), shown - at(time));
    while (at(time - Duration(1)) >= shown) time -= Duration(1);
    return time;
  }
  void step(Duration by, Instant time) {
    shown_ = at(time) + by;
    since_ = time;
  }

 private:
  Instant since_;
  Instant shown_;
  std::int64_t drift_ppm_;
};

struct Machine {
  Machine(EventQueue& of, Duration ahead, std::int64_t drift_ppm)
      : queue(of), clock(of.now(), ahead, drift_ppm) {}

  Instant now() const { return clock.at(queue.now()); }
  // Nothing runs here until frozen_until, in true time.
  bool stands_still() const { return queue.now() < frozen_until; }

  EventQueue& queue;
  MachineClock clock;
  Instant frozen_until{};
};

// The event loop of a machine. Alarms are set, and ring, in its clock's time.
class SimReactor final : public Reactor {
 public:
  explicit SimReactor(Machine& machine) : machine_(machine) {}

  std::unique_ptr<Alarm> make_alarm(std::function<void(Instant)> ring) override {
    return std::make_unique<SimAlarm>(machine_, std::move(ring));
  }

 private:
  class SimAlarm final : public Alarm, Happening {
   public:
    SimAlarm(Machine& machine, std::function<void(Instant)> ring)
        : Happening(machine.queue), machine_(machine), ring_(std::move(ring)) {}

    void set(Instant when) override {
      const bool is_due = when <= machine_.now();
      Happening::set(is_due ? machine_.queue.now() : machine_.clock.when(when));
    }
    void happen(Instant) override {
      if (machine_.stands_still()) return Happening::set(machine_.frozen_until);
      ring_(machine_.now());
    }

   private:
    Machine& machine_;
    std::function<void(Instant)> ring_;
  };

  Machine& machine_;
};

}  // namespace weir::sim
