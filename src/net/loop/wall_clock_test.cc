#include "net/loop/wall_clock.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "net/net_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// A reactor with one alarm, rung by hand.
class OneAlarm final : public Reactor {
 public:
  std::unique_ptr<Alarm> make_alarm(std::function<void(Instant now)> ring) override {
    ring_ = std::move(ring);
    return std::make_unique<Setter>(*this);
  }
  void ring_at(Instant now) { ring_(now); }
  Instant set_for() const { return set_for_; }

 private:
  struct Setter final : Alarm {
    explicit Setter(OneAlarm& alarm) : owner(alarm) {}
    void set(Instant when) override { owner.set_for_ = when; }
    OneAlarm& owner;
  };

  std::function<void(Instant)> ring_;
  Instant set_for_ = Instant::max();
};

TEST(WallFollower, TellsTheLeadAtOnceAndEachTimeItLooks) {
  OneAlarm reactor;
  ManualClock wall;
  ManualClock clock;
  wall.advance(5s);
  std::vector<Duration> told;
  const WallFollower follower(reactor, wall, clock, [&](Duration lead) { told.push_back(lead); });
  EXPECT_EQ(told, std::vector<Duration>({5s}));
  EXPECT_EQ(reactor.set_for(), clock.now() + WallFollower::kInterval);

  wall.advance(1h);  // set forward, or a suspend, in which the other stood still
  reactor.ring_at(clock.now());
  wall.advance(-2h);
  reactor.ring_at(clock.now());
  EXPECT_EQ(told, std::vector<Duration>({5s, 1h + 5s, 5s - 1h}));
}

// The window's end is a whole second of the clock that limits use, and stays one.
TEST(WallFollower, DoesNotTellTheTimeBetweenTwoReads) {
  OneAlarm reactor;
  ManualClock wall;
  ManualClock clock;
  wall.advance(1h + 130ms);
  std::vector<Duration> told;
  const WallFollower follower(reactor, wall, clock, [&](Duration lead) { told.push_back(lead); });
  for (const Duration between : std::vector<Duration>{3us, 250us, 4ms, -3us, -4ms}) {
    wall.advance(between);
    reactor.ring_at(clock.now());
    wall.advance(-between);
  }
  EXPECT_EQ(told, std::vector<Duration>(6, 1h + 130ms));
}

TEST(WallClock, LeadsTheTimelineOfLimitsByNothingAtTheStart) {
  const WallClock wall;
  const SystemClock clock;
  EXPECT_LT(std::chrono::abs(wall.now() - clock.now()), 10s);
}

}  // namespace
}  // namespace weir
