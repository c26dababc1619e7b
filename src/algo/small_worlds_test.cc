// Tries every sequence of a few costs and steps in time, up to some length, with tiny quotas. Each
// decision must be the slow model's (testing/models.h).
//
// A world's steps lie on its edges and next to them: a microsecond around a window's end or a
// token's arrival. Clocks step back a little, a window, and more.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "algo/testing/any_key.h"
#include "algo/testing/models.h"
#include "base/duration_text.h"

namespace weir::algo::testing {
namespace {

using namespace std::chrono_literals;

// No cost: the request was denied by something else, so many times.
constexpr std::int64_t kDeniedElsewhere = 1'000'000;

struct World {
  QuotaSpec quota;
  std::vector<std::int64_t> costs;
  std::vector<std::int64_t> steps_us;
  int length;
};

template <typename Model>
class Explorer {
 public:
  explicit Explorer(const World& world) : world_(world), quota_(*Quota::make(world.quota)) {}

  // Returns how many decisions were compared.
  std::int64_t run() {
    explore(AnyKey(quota_.algorithm()), Model(quota_), kStart, world_.length);
    return decisions_;
  }

 private:
  static constexpr Instant kStart = Instant{} + 1000s;  // a window begins in any world

  void explore(const AnyKey& key, const Model& model, Instant now, int length) {
    if (length == 0) return;
    for (const std::int64_t step_us : world_.steps_us) {
      for (const std::int64_t cost : world_.costs) {
        if (::testing::Test::HasFailure()) return;
        AnyKey next_key = key;
        Model next_model = model;
        path_.push_back({step_us, cost});
        step(next_key, next_model, cost, now + Duration{step_us});
        explore(next_key, next_model, now + Duration{step_us}, length - 1);
        path_.pop_back();
      }
    }
  }

  void step(AnyKey& key, Model& model, std::int64_t cost, Instant now) {
    ++decisions_;
    Verdict expected = Verdict::kAllowed;
    Decision decision;
    if (cost >= kDeniedElsewhere) {
      expected = Verdict::kDenied;
      decision = deny(key, model, cost - kDeniedElsewhere, now);
      cost = 1;
    } else {
      if (cost > 0) expected = verdict(model, cost, now);
      if (cost == 0 && !model.admits(0, epoch_us(now))) expected = Verdict::kDenied;
      decision = key.decide(quota_, cost, now);
      model.apply(cost, epoch_us(now));
    }
    EXPECT_EQ(decision.verdict, expected);
    EXPECT_EQ(decision.limit, model.limit(epoch_us(now)));
    EXPECT_EQ(decision.remaining, left(model, now));
    // If a look did not correct the state, a later look judges it by another `now`.
    if (!model.is_mistaken(epoch_us(now))) compare_future(decision, model, cost, now);
    if (::testing::Test::HasFailure()) ADD_FAILURE() << "at the end of " << path_text();
  }

  Verdict verdict(const Model& model, std::int64_t cost, Instant now) const {
    if (cost > quota_.capacity()) return Verdict::kNever;
    return model.admits(cost, epoch_us(now)) ? Verdict::kAllowed : Verdict::kDenied;
  }

  Decision deny(AnyKey& key, Model& model, std::int64_t times, Instant now) {
    Decision decision;
    if constexpr (std::is_same_v<Model, ExponentialBackoffModel>) {
      for (; times > 0; --times) {
        decision = key.record_denial(quota_, now);
        model.apply_denial(epoch_us(now));
      }
    }
    return decision;
  }

  static std::int64_t left(const Model& model, Instant now) {
    std::int64_t units = 0;
    while (units < model.limit(epoch_us(now)) && model.admits(units + 1, epoch_us(now))) ++units;
    return units;
  }

  void compare_future(const Decision& decision, const Model& model, std::int64_t cost,
                      Instant now) {
    const std::int64_t reset_us = epoch_us(now + decision.reset_after);
    EXPECT_TRUE(model.is_fresh(reset_us)) << "reset_after is too early";
    if (decision.reset_after > 0us) {
      EXPECT_FALSE(model.is_fresh(reset_us - 1)) << "reset_after is late";
    }
    if (decision.verdict != Verdict::kDenied) return;
    const std::int64_t retry_us = epoch_us(now + decision.retry_after);
    EXPECT_TRUE(model.admits(cost, retry_us)) << "retry_after is too early";
    if (decision.retry_after != backoff_least(model, now)) {
      EXPECT_FALSE(model.admits(cost, retry_us - 1)) << "retry_after is late";
    }
  }

  // The least retry_after, which may be longer than needed: 2^level seconds.
  Duration backoff_least([[maybe_unused]] const Model& model, [[maybe_unused]] Instant now) const {
    if constexpr (std::is_same_v<Model, ExponentialBackoffModel>) {
      return std::chrono::seconds(1 << model.level(epoch_us(now)));
    }
    return Duration{0};
  }

  std::string path_text() const {
    std::string text;
    Instant now = kStart;
    for (const auto& [step_us, cost] : path_) {
      now += Duration{step_us};
      text += "at " + format_duration(now - Instant{}) + " spend " + std::to_string(cost) + "; ";
    }
    return text;
  }

  struct PathStep {
    std::int64_t step_us;
    std::int64_t cost;
  };

  World world_;
  Quota quota_;
  std::vector<PathStep> path_;
  std::int64_t decisions_ = 0;
};

template <typename Model>
void explore_all(const std::vector<World>& worlds) {
  std::int64_t decisions = 0;
  for (const World& world : worlds) {
    SCOPED_TRACE(std::to_string(world.quota.limit) + " in " + format_duration(world.quota.window) +
                 " burst " + std::to_string(world.quota.burst));
    decisions += Explorer<Model>(world).run();
  }
  ::testing::Test::RecordProperty("decisions", std::to_string(decisions));
}

// Steps around the ends of windows of 1 ms, and back across one and two of them.
const std::vector<std::int64_t> kWindowSteps = {0,     1,  499,  500,    999,    1'000, 1'001,
                                                2'000, -1, -500, -1'000, -1'001, -2'600};

std::vector<World> window_worlds(Algorithm algorithm) {
  return {
      // Many different steps, short sequences.
      {{algorithm, 3, 1ms}, {0, 1, 2, 4, -1}, kWindowSteps, 3},
      // Few steps, long sequences.
      {{algorithm, 3, 1ms}, {1, 2}, {0, 250, 1'000}, 6},
      {{algorithm, 2, 1ms}, {1, -1}, {1, 999, -1'200}, 6},
      {{algorithm, 7, 1ms}, {3}, {0, 143, 500, 857}, 8},
      // Every cost around the bounds.
      {{algorithm, 0, 1ms}, {0, 1, -1}, {0, 1'000, -2'000}, 4},
      {{algorithm, 1, 1ms}, {0, 1, 2, -1}, {0, 1, 999, -1'500}, 4},
  };
}

TEST(SmallWorlds, FixedWindow) {
  explore_all<FixedWindowModel>(window_worlds(Algorithm::kFixedWindow));
}

TEST(SmallWorlds, SlidingWindow) {
  explore_all<SlidingWindowModel>(window_worlds(Algorithm::kSlidingWindow));
}

TEST(SmallWorlds, StrictWindow) {
  explore_all<SlidingWindowModel>(window_worlds(Algorithm::kStrictWindow));
  explore_all<SlidingWindowModel>({
      // Around the ends of sub-windows of 250 us; the last of 251 us is no quarter.
      {{Algorithm::kStrictWindow, 3, 1ms}, {1, 2, -1}, {0, 1, 249, 250, 1'001, -251, -1'251}, 4},
      {{Algorithm::kStrictWindow, 2, 1'001us}, {1}, {0, 250, 251, 1'003, 1'004}, 6},
  });
}

// At most the limit in any span of a window's length: tries every way to spend at these moments.
TEST(SmallWorlds, AStrictWindowAdmitsNoMoreThanAnExactLog) {
  for (const auto& [limit, window] : {std::pair(3, 1'000us), std::pair(2, 1'003us)}) {
    const Quota quota = *Quota::make({Algorithm::kStrictWindow, limit, window});
    const auto explore = [&](auto& self, const AnyKey& key, const SlidingLogModel& log, Instant now,
                             int length) -> void {
      for (const std::int64_t step_us : {0, 1, 125, 249, 250, 251, 500, 999}) {
        const Instant then = now + Duration{step_us};
        AnyKey next_key = key;
        SlidingLogModel next_log = log;
        if (next_key.decide(quota, 1, then).allowed()) {
          ASSERT_TRUE(next_log.admits(1, epoch_us(then)));
          next_log.apply(1, epoch_us(then));
        }
        if (length > 1) self(self, next_key, next_log, then, length - 1);
      }
    };
    explore(explore, AnyKey(Algorithm::kStrictWindow), SlidingLogModel(quota), Instant{} + 1000s,
            6);
  }
}

TEST(SmallWorlds, SlidingLog) {
  explore_all<SlidingLogModel>(window_worlds(Algorithm::kSlidingLog));
}

TEST(SmallWorlds, TokenBucket) {
  constexpr auto kBucket = Algorithm::kTokenBucket;
  explore_all<TokenBucketModel>({
      {{kBucket, 3, 1ms}, {0, 1, 2, 4, -1}, kWindowSteps, 3},
      {{kBucket, 3, 1ms, 2}, {1, 2}, {0, 333, 334}, 6},              // a token each 333.3 us
      {{kBucket, 7, 1ms, 3}, {1, -1}, {1, 142, -1'200}, 6},          // each 142.9 us
      {{kBucket, 5'000, 1ms, 2}, {0, 1, 2}, {0, 1, -1}, 5},          // five in a microsecond
      {{kBucket, 2, 1ms, 9}, {1, 9, -3}, {0, 499, 501, -4'500}, 5},  // five windows to fill
      {{kBucket, 0, 1ms}, {0, 1, -1}, {0, 1'000}, 4},
      {{kBucket, 1, 1ms}, {0, 1, 2, -1}, {0, 1, 999, -1'500}, 4},
  });
}

TEST(SmallWorlds, ExponentialBackoff) {
  constexpr auto kBackoff = Algorithm::kExponentialBackoff;
  explore_all<ExponentialBackoffModel>({
      {{kBackoff, 3, 1ms}, {0, 1, 2, 4, -1}, kWindowSteps, 3},
      // Levels and cooldowns, in windows far shorter and a bit longer than a cooldown.
      {{kBackoff, 9, 1ms},
       {1, 5, kDeniedElsewhere + 9, kDeniedElsewhere + 50},
       {0, 999, 31'999'000, -1'500},
       4},
      {{kBackoff, 9, 40s},
       {1, 5, 9, -1, kDeniedElsewhere + 9, kDeniedElsewhere + 49},
       {0, 32'000'000, 40'000'000, 85'000'000, -1'000'000},
       3},
      {{kBackoff, 9, 40s}, {9, kDeniedElsewhere + 49}, {0, 32'000'000, 85'000'000, -1'000'000}, 5},
      {{kBackoff, 4, 10s},
       {2, kDeniedElsewhere + 10, kDeniedElsewhere + 3},
       {0, 10'000'000, 25'000'000, -7'000'000},
       4},
      {{kBackoff, 0, 1ms}, {0, 1, -1}, {0, 1'000, -2'000}, 4},
  });
}

}  // namespace
}  // namespace weir::algo::testing
