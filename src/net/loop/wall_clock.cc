#include "net/loop/wall_clock.h"

#include <chrono>
#include <cstdint>
#include <ratio>
#include <utility>

namespace weir {

Instant WallClock::now() const noexcept {
  return Instant{std::chrono::floor<Duration>(std::chrono::system_clock::now().time_since_epoch())};
}

Duration lead_of(const Clock& wall, const Clock& clock) {
  using Hundredths = std::chrono::duration<std::int64_t, std::centi>;
  return std::chrono::round<Hundredths>(wall.now() - clock.now());
}

WallFollower::WallFollower(Reactor& reactor, const Clock& wall, const Clock& clock, Tell tell)
    : wall_(wall),
      clock_(clock),
      tell_(std::move(tell)),
      alarm_(reactor.make_alarm([this](Instant now) { look(now); })) {
  look(clock_.now());
}

void WallFollower::look(Instant now) {
  tell_(lead_of(wall_, clock_));
  alarm_->set(now + kInterval);
}

}  // namespace weir
