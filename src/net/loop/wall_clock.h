// The wall clock, and how far it is ahead of the timeline that limits use.
//
// Limits use a timeline that never steps (SystemClock). Dates from people or other machines (when a
// token ends, the hours of a rule) mean the wall clock. People set it, NTP corrects it, and it
// alone goes on while a machine is suspended.
//
// Thread rule: WallClock any; WallFollower the core of its reactor.
// Tested by wall_clock_test.cc.

#pragma once

#include <functional>
#include <memory>

#include "proto/reactor.h"
#include "weir/clock.h"

namespace weir {

// The machine's wall clock. It steps when it is set.
class WallClock final : public Clock {
 public:
  Instant now() const noexcept override;
};

// How far one clock is ahead of the other, to a hundredth of a second. The time between the two
// reads must not move the second in which a window ends.
Duration lead_of(const Clock& wall, const Clock& clock);

// Tells, at once and then every kInterval, the lead of one clock over another.
class WallFollower {
 public:
  using Tell = std::function<void(Duration lead)>;
  static constexpr Duration kInterval = std::chrono::seconds(1);

  // All must outlive the follower.
  WallFollower(Reactor& reactor, const Clock& wall, const Clock& clock, Tell tell);

 private:
  void look(Instant now);

  const Clock& wall_;
  const Clock& clock_;
  const Tell tell_;
  std::unique_ptr<Alarm> alarm_;
};

}  // namespace weir
