// What must hold for an adaptive key through any switches, tried on random lives.
//
// RC_PARAMS as in properties_test.cc.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "algo/testing/admitted.h"
#include "algo/testing/any_key.h"
#include "algo/testing/random_life.h"
#include "algo/testing/truth.h"
#include "algo/wide_math.h"

namespace weir::algo::testing {
namespace {

// Read by RapidCheck on first use.
[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=2000", 0);

enum class Clock : std::uint8_t { kSteady, kStepsBack };

// A key, its quota and a clock, through spending, hammering, switches and steps of the clock.
class Life {
 public:
  explicit Life(const Quota& quota, Clock clock = Clock::kStepsBack)
      : quota_(quota.following({any_active(), 0})), clock_(clock) {}

  void move_on(const Move& move) {
    now_ += step_of(quota_, move);
    passed_us_ += step_of(quota_, move).count();
    latest_ = std::max(latest_, now_);
  }

  // Steps back without time passing, at most a window behind the latest time.
  void step_back(int permille) {
    if (clock_ == Clock::kSteady) return;
    const Instant earliest = latest_ - quota_.window();
    now_ = std::max(earliest, now_ - Duration{part(quota_.window().count(), permille)});
  }

  void switch_to(Algorithm active) {
    quota_ = quota_.following({active, quota_.switch_number() + 1});
  }

  Decision spend(std::int64_t cost) {
    const Decision decision = key_.decide(quota_, cost, now_);
    if (cost > 0 && decision.allowed()) admitted_.push_back({passed_us_, cost});
    return decision;
  }

  // Spends until denials raise the level, if backoff counts them.
  void hammer() {
    if (quota_.active() != Algorithm::kExponentialBackoff) return;
    for (int denials = *rc::gen::inRange(0, 61); denials > 0; --denials) {
      key_.record_denial(quota_, now_);
    }
  }

  // Lets one of several events happen.
  void happen(const Move& move) {
    move_on(move);
    switch (*rc::gen::inRange(0, 6)) {
      case 0: switch_to(any_active()); break;
      case 1: step_back(move.step_permille); break;
      case 2: hammer(); break;
      default: break;
    }
  }

  std::int64_t remaining() const { return key_.look(quota_, 0, now_).remaining; }

  Quota quota_;
  Clock clock_;
  AnyKey key_{Algorithm::kAdaptive};
  Instant now_ = kStart;
  Instant latest_ = kStart;
  std::int64_t passed_us_ = 0;  // the time passed in this life, whatever its clock says
  std::vector<Admitted> admitted_;
};

TEST(AdaptiveProperty, ASwitchLeavesWhatWasLeft) {
  EXPECT_TRUE(rc::check([] {
    Life life(any_quota(Algorithm::kAdaptive));
    for (const Move& move : any_life()) {
      life.happen(move);
      life.spend(cost_of(life.quota_, move));
      const std::int64_t before = life.remaining();
      life.switch_to(any_active());
      RC_ASSERT(life.remaining() == before);
      life.spend(cost_of(life.quota_, move));
      RC_ASSERT(life.remaining() <= before);
    }
  }));
}

// Compares with an exact log of admitted units by the time passed. So it is also right for clocks
// that step back, whose time passes twice.
TEST(AdaptiveProperty, AnyWindowAdmitsTwiceTheLimitThroughAllSwitches) {
  EXPECT_TRUE(rc::check([] {
    Life life(any_quota(Algorithm::kAdaptive));
    for (const Move& move : any_life()) {
      life.happen(move);
      life.spend(cost_of(life.quota_, move));
    }
    for (const Admitted& one : life.admitted_) {
      const std::int64_t after_us = one.at_us - life.quota_.window().count();
      const Int128 units = units_between(life.admitted_, after_us, one.at_us);
      RC_ASSERT(units <= 2 * Int128{life.quota_.limit()});
    }
  }));
}

// A client takes all that is left, sixteen times a window, through two switches: from any phase of
// the window, after any time.
TEST(AdaptiveProperty, NobodyWhoTakesAllThereIsGetsMoreThanTwiceTheLimit) {
  constexpr int kSteps = 16;
  const Quota quota = *Quota::make({Algorithm::kAdaptive, 960, Duration{16'000'000}});
  for (int life = 0; life < 27 * kSteps * kSteps * 4; ++life) {
    const auto active_at = [&](int switches) {
      const int divisors[] = {1, 3, 9};
      return kActive[static_cast<std::size_t>(life / divisors[switches] % 3)];
    };
    const int first = life / 27 % kSteps;
    const int second = first + life / 27 / kSteps % kSteps;
    const int phase = life / 27 / kSteps / kSteps;
    AnyKey key(Algorithm::kAdaptive);
    std::vector<Admitted> admitted;
    for (int step = 0; step < 3 * kSteps; ++step) {
      const Instant now = instant_from_epoch_us(16'000'000 + (4 * phase + step) * 1'000'000);
      const int switches = (step >= first ? 1 : 0) + (step >= second ? 1 : 0);
      const Quota as_now = quota.following({active_at(switches), 0});
      const std::int64_t left = key.look(as_now, 0, now).remaining;
      if (left == 0) continue;
      ASSERT_TRUE(key.decide(as_now, left, now).allowed());
      admitted.push_back({epoch_us(now), left});
      const Int128 units = units_between(admitted, epoch_us(now) - 16'000'000, epoch_us(now));
      ASSERT_LE(static_cast<std::int64_t>(units), 2 * quota.limit()) << "life " << life;
    }
  }
}

// A key that spends the missing units under the new algorithm, right now, waits at least as long.
TEST(AdaptiveProperty, NobodyIsDeniedLongerThanTheNewAlgorithmMust) {
  EXPECT_TRUE(rc::check([] {
    Life life(any_quota(Algorithm::kAdaptive), Clock::kSteady);
    for (const Move& move : any_life()) {
      life.happen(move);
      life.spend(cost_of(life.quota_, move));
      const Algorithm before = life.quota_.active();
      life.switch_to(any_active());
      if (life.quota_.active() == before) continue;
      // Back in backoff, and nobody has asked meanwhile: the same as if it had never switched.
      const bool is_same = life.key_.state<AdaptiveState>().has_penalty() &&
                           life.quota_.active() == Algorithm::kExponentialBackoff;
      if (is_same) continue;
      const std::int64_t spent = life.quota_.limit() - life.remaining();
      AnyKey other(Algorithm::kAdaptive);
      if (spent > 0) RC_ASSERT(other.decide(life.quota_, spent, life.now_).allowed());
      const std::int64_t cost = cost_of(life.quota_, move);
      const Decision carried = life.key_.look(life.quota_, cost, life.now_);
      const Decision fresh = other.look(life.quota_, cost, life.now_);
      RC_ASSERT(carried.verdict == fresh.verdict);
      RC_ASSERT(carried.retry_after <= fresh.retry_after);
      RC_ASSERT(carried.reset_after <= fresh.reset_after);
    }
  }));
}

TEST(AdaptiveProperty, EveryDecisionIsTruthfulThroughAllSwitches) {
  EXPECT_TRUE(rc::check([] {
    Life life(any_quota(Algorithm::kAdaptive));
    for (const Move& move : any_life()) {
      life.happen(move);
      const int event = *rc::gen::inRange(0, 8);
      if (event == 0) life.spend(-cost_of(life.quota_, move));
      if (event == 1) {  // the limit changes, and the clock steps back far
        const std::int64_t limit =
            std::max<std::int64_t>(1, part(life.quota_.limit(), move.cost_permille));
        const ActiveAlgorithm active{life.quota_.active(), life.quota_.switch_number()};
        life.quota_ =
            Quota::make({Algorithm::kAdaptive, limit, life.quota_.window()})->following(active);
        life.now_ -= std::min(5 * step_of(life.quota_, move),
                              life.now_ - Instant{} - 3 * life.quota_.window());
      }
      RC_PRE(life.now_ > Instant{});
      const std::int64_t cost = cost_of(life.quota_, move);
      const Decision decision = life.spend(cost);
      RC_ASSERT(untruth(life.key_, life.quota_, cost, decision, life.now_) == "");
      RC_ASSERT(decision.retry_after <= 14 * life.quota_.window() + std::chrono::seconds(33));
    }
  }));
}

TEST(AdaptiveProperty, AClockSteppingBackFreesNothing) {
  EXPECT_TRUE(rc::check([] {
    Life life(any_quota(Algorithm::kAdaptive));
    for (const Move& move : any_life()) {
      life.move_on(move);
      life.spend(cost_of(life.quota_, move));
      life.hammer();
      const std::int64_t before = life.remaining();
      life.switch_to(any_active());
      life.step_back(move.cost_permille);
      RC_ASSERT(life.remaining() <= before);
      life.now_ = life.latest_;
    }
  }));
}

// Switches there and back, with no time between them, leave `remaining` as it is.
TEST(AdaptiveProperty, SwitchingToAndFroChangesNothing) {
  EXPECT_TRUE(rc::check([] {
    Life life(any_quota(Algorithm::kAdaptive));
    for (const Move& move : any_life()) {
      life.move_on(move);
      life.spend(cost_of(life.quota_, move));
      AdaptiveState state = life.key_.state<AdaptiveState>();
      const std::int64_t before = life.remaining();
      Quota quota = life.quota_;
      for (int i = 0; i < 6; ++i) {
        quota = quota.following({any_active(), 0});
        state = carried(quota, state, life.now_);
        RC_ASSERT(decide(quota, state, 0, life.now_).decision.remaining == before);
      }
    }
  }));
}

}  // namespace
}  // namespace weir::algo::testing
