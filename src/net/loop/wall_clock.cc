#include "net/loop/wall_clock.h"

#include <chrono>
#include <utility>

namespace weir {

Instant WallClock::now() const noexcept {
  return Instant{std::chrono::floor<Duration>(std::chrono::system_clock::now().time_since_epoch())};
}

WallFollower::WallFollower(Reactor& reactor, const Clock& wall, const Clock& clock, Tell tell)
    : wall_(wall),
      clock_(clock),
      tell_(std::move(tell)),
      alarm_(reactor.make_alarm([this](Instant now) { look(now); })) {
  look(clock_.now());
}

void WallFollower::look(Instant now) {
  tell_(wall_.now() - clock_.now());
  alarm_->set(now + kInterval);
}

}  // namespace weir
