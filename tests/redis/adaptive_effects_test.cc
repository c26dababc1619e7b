// What switches of adaptive keys leave alone in Redis: the bound, leases that are out, keys that
// are not ours.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "redis/admitted.h"
#include "redis/script_redis.h"
#include "store/redis/script/charge_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::is_within_adaptive_bound;
using testing::Script;
using testing::Spent;

[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=300", 0);

constexpr Instant kStart = instant_from_epoch_us(1'700'000'040'000'000);  // a minute begins
constexpr ActiveAlgorithm kSliding{Algorithm::kSlidingWindow, 1};
constexpr ActiveAlgorithm kBucket{Algorithm::kTokenBucket, 2};
constexpr ActiveAlgorithm kBackoff{Algorithm::kExponentialBackoff, 3};

std::int64_t within(std::int64_t from, std::int64_t to) {
  return *rc::gen::inRange<std::int64_t>(from, to + 1);
}

Quota adaptive(std::int64_t limit, Duration window, ActiveAlgorithm active = {}) {
  return Quota::make({Algorithm::kAdaptive, limit, window})->following(active);
}

class AdaptiveEffects : public ::testing::Test {
 protected:
  static Script& script() {
    static Script only;
    return only;
  }
  static std::string stored(KeyHash key) {
    return std::string(script().redis.call({"GET", script().name_of(key)}).text());
  }
};

// ---- switches at random ----------------------------------------------------------------

struct Held {
  std::int64_t units;
  Instant end;
};

// Nodes that charge, lease, spend what they hold whenever they like, give some back, and follow
// the last switch or one of the two before it.
class Switching {
 public:
  explicit Switching(Script& of)
      : script_(of),
        quota_(adaptive(within(1, 300), Duration{within(1'000, 3'000'000)})),
        key_(of.fresh_key()) {}

  void step() {
    const bool hurries = within(0, 2) > 0;  // so that leases last for several steps
    now_ += Duration{within(0, quota_.window().count() / (hurries ? 30 : 7))};
    std::erase_if(leases_, [&](const Held& held) { return held.units == 0 || held.end <= now_; });
    if (within(0, 7) == 0) switch_now();
    const auto action = within(0, 7 + idle_);
    if (action > 7) return;
    if (action == 7) {
      spend_all();
    } else if (action <= 1) {
      spend(within(1, 1 + quota_.limit() / 4));
    } else if (action <= 3 || leases_.empty()) {
      lease();
    } else {
      use_lease(leases_[static_cast<std::size_t>(within(0, std::ssize(leases_) - 1))], action);
    }
    if (!spent_.empty()) RC_ASSERT(is_within_adaptive_bound(quota_, spent_));
  }

 private:
  std::int64_t left(const Quota& quota) { return script_.look({key_, &quota, 0}, now_).remaining; }
  // Whoever follows it first finds no more than who knows of no switch, for whom the state's own
  // algorithm decides.
  void switch_now() {
    constexpr std::array kActive{Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                 Algorithm::kExponentialBackoff};
    const std::int64_t before = left(quota_as_of(0));
    switches_.push_back(kActive[static_cast<std::size_t>(within(0, 2))]);
    RC_ASSERT(left(quota_as_of(std::ssize(switches_) - 1)) <= before);
  }
  Quota quota_as_of(std::int64_t number) const {
    return quota_.following({.algorithm = switches_[static_cast<std::size_t>(number)],
                             .number = static_cast<std::uint32_t>(number)});
  }
  Quota somebodys() const {
    const std::int64_t last = std::ssize(switches_) - 1;
    return quota_as_of(within(std::max<std::int64_t>(0, last - 2), last));
  }

  void spend(std::int64_t units) {
    const Quota quota = somebodys();
    if (script_.spend({key_, &quota, units}, now_).allowed()) {
      spent_.push_back({epoch_us(now_), units});
    }
  }
  // The units that are held and those that are left, at once: the most that anybody can get.
  void spend_all() {
    for (Held& held : leases_) {
      spent_.push_back({epoch_us(now_), std::exchange(held.units, 0)});
    }
    const Quota quota = somebodys();
    const std::int64_t units = left(quota);
    if (units > 0 && script_.spend({key_, &quota, units}, now_).allowed()) {
      spent_.push_back({epoch_us(now_), units});
    }
  }
  void lease() {
    const Quota quota = somebodys();
    const std::int64_t window_us = quota_.window().count();
    const LeaseTerms terms{.share = within(1, 4),
                           .needed = within(0, 3) == 0 ? quota_.limit() : within(0, 2),
                           .length = Duration{within(1, window_us / 8)},
                           .long_length = Duration{within(0, 1) * within(1, window_us)}};
    const Lease lease = script_.lease({key_, &quota, within(1, 300)}, terms, now_);
    RC_ASSERT(lease.length <= (lease.is_long ? terms.long_length : terms.length));
    leases_.push_back({lease.units, now_ + lease.length});
  }
  void use_lease(Held& held, std::int64_t action) {
    const std::int64_t units = within(1, held.units);
    held.units -= units;
    if (action == 6) {
      const Quota quota = somebodys();
      script_.give_back({key_, &quota, -units}, held.end, 0, now_);
    } else {
      spent_.push_back({epoch_us(now_), units});
    }
  }

  Script& script_;
  const Quota quota_;
  const KeyHash key_;
  const std::int64_t idle_ = 15 * within(0, 1);  // or the bucket would never fill
  std::vector<Algorithm> switches_{Algorithm::kSlidingWindow};
  std::vector<Held> leases_;
  std::vector<Spent> spent_;
  Instant now_ = kStart;
};

TEST_F(AdaptiveEffects, NoSwitchExceedsTheBoundNorRaisesWhatIsLeft) {
  EXPECT_TRUE(rc::check("within the bound", [] {
    Switching life(script());
    for (int step = 0; step < 120; ++step) life.step();
  }));
}

// ---- who lags --------------------------------------------------------------------------

TEST_F(AdaptiveEffects, WhoLagsIsDecidedByTheStatesAlgorithm) {
  const Quota old = adaptive(60, 1min, kSliding);
  const Quota next = adaptive(60, 1min, kBucket);
  const KeyHash key = script().fresh_key();
  EXPECT_EQ(script().spend({key, &old, 60}, kStart).remaining, 0);
  EXPECT_EQ(script().spend({key, &next, 1}, kStart).retry_after, 1s);
  const Decision late = script().spend({key, &old, 1}, kStart);
  EXPECT_EQ(late.verdict, Verdict::kDenied);
  EXPECT_EQ(late.retry_after, 1s);  // 61 s as a sliding window
  EXPECT_TRUE(script().spend({key, &old, 2}, kStart + 2s).allowed());
  EXPECT_EQ(stored(key).substr(1, 1), "\2");
}

TEST_F(AdaptiveEffects, AKeyThatIsNewFollowsWhoeverComes) {
  const Quota old = adaptive(60, 1min, kSliding);
  const Quota next = adaptive(60, 1min, kBucket);
  const KeyHash key = script().fresh_key();
  script().spend({key, &next, 1}, kStart);
  script().call.clear();
  const Charge charge{key, &old, 1};
  script().call.add(ScriptOperation::kReset, {&charge, 1});
  script().run(kStart);
  EXPECT_EQ(stored(key), "");
  script().spend(charge, kStart);
  EXPECT_EQ(stored(key).substr(1, 1), "\1");
}

// ---- leases ----------------------------------------------------------------------------

TEST_F(AdaptiveEffects, AKeyInBackoffIsNotLeased) {
  const Quota backoff = adaptive(100, 1min, kBackoff);
  const Quota lags = adaptive(100, 1min, kSliding);
  const KeyHash key = script().fresh_key();
  script().spend({key, &backoff, 40}, kStart);
  const Lease lease =
      script().lease({key, &lags, 8}, {.share = 2, .needed = 3, .length = 1s}, kStart);
  EXPECT_EQ(lease.units, 0);
  EXPECT_TRUE(lease.decision.allowed());  // Redis decides what the node wanted it for
  EXPECT_EQ(lease.decision.remaining, 60);
}

TEST_F(AdaptiveEffects, ABucketOwesWhatIsLeftOfALease) {
  const Quota old = adaptive(60, 1min, kSliding);
  const Quota next = adaptive(60, 1min, kBucket);
  const KeyHash key = script().fresh_key();
  const Lease lease =
      script().lease({key, &old, 10}, {.share = 2, .needed = 10, .length = 1s}, kStart);
  EXPECT_EQ(lease.units, 10);
  EXPECT_EQ(script().look({key, &old, 0}, kStart).remaining, 50);
  EXPECT_EQ(script().look({key, &next, 0}, kStart).remaining, 49);  // and one a second comes back
  EXPECT_EQ(script().give_back({key, &next, -4}, kStart + lease.length, 0, kStart).remaining, 53);
}

// Just before a lease ends, what is held of it and what is left are no more than the limit.
TEST_F(AdaptiveEffects, NobodyElseGetsWhatALeaseHolds) {
  const Quota old = adaptive(600, 1min, kSliding);
  const Quota next = adaptive(600, 1min, kBucket);
  for (const Duration long_length : {0s, 30s}) {
    const KeyHash key = script().fresh_key();
    const LeaseTerms terms{.share = 1, .needed = 20, .length = 1s, .long_length = long_length};
    const Lease lease = script().lease({key, &old, 20}, terms, kStart);
    EXPECT_EQ(lease.is_long, long_length > 0s);
    EXPECT_EQ(lease.units, 20);
    EXPECT_TRUE(script().spend({key, &next, 1}, kStart).allowed());
    const Instant now = kStart + lease.length - 1ms;
    EXPECT_LE(script().look({key, &next, 0}, now).remaining + lease.units, 600);
  }
}

TEST_F(AdaptiveEffects, CountsWithALongLeaseBecomeABucketWhenLittleOfItIsLeft) {
  const Quota old = adaptive(60, 1min, kSliding);
  const Quota next = adaptive(60, 1min, kBucket);
  const KeyHash key = script().fresh_key();
  const LeaseTerms terms{.share = 1, .length = 1s, .long_length = 30s};
  const Lease lease = script().lease({key, &old, 8}, terms, kStart);
  EXPECT_TRUE(lease.is_long);
  EXPECT_EQ(lease.length, 30s);
  EXPECT_TRUE(script().spend({key, &next, 1}, kStart + 28s).allowed());
  EXPECT_EQ(stored(key).front(), 's');
  EXPECT_FALSE(script().lease({key, &next, 8}, terms, kStart + 28s).is_long);
  EXPECT_TRUE(script().spend({key, &next, 1}, kStart + 29s).allowed());
  EXPECT_EQ(stored(key).front(), 't');
  EXPECT_FALSE(script().lease({key, &next, 8}, terms, kStart + 29s).is_long);
}

// ---- keys that are not ours ------------------------------------------------------------

TEST_F(AdaptiveEffects, WhatIsNoStateFailsItsBatch) {
  const Quota quota = adaptive(5, 1min, kBucket);
  const Quota plain = *Quota::make({Algorithm::kSlidingWindow, 5, 1min});
  const KeyHash shaped = script().fresh_key();
  script().spend({shaped, &quota, 1}, kStart);
  const std::string good = stored(shaped);
  ASSERT_EQ(good.size(), 29u);
  const std::string head(12, '\0');  // the switch, and the end of a lease
  const std::string counts(24, '\0');
  struct Row {
    std::string value;
    const Quota& quota;
  };
  for (const Row& row :
       {Row{"", quota}, Row{"t", quota}, Row{good.substr(0, 13), quota},
        Row{good.substr(0, 28), quota}, Row{good + "x", quota}, Row{"s" + good.substr(1), quota},
        Row{"t" + head + std::string(16, '\xff'), quota},
        Row{"b" + head + counts + std::string("\x60\0\0\0\0\0\0\0", 8), quota},
        Row{"b" + head + counts + std::string("\x0a\0\0\0\0\0\0\0", 8), quota},
        Row{"S" + counts, quota}, Row{"s" + head + counts, plain}}) {
    const Charge charge{script().fresh_key(), &row.quota};
    const std::string name = script().name_of(charge.key);
    script().redis.call({"SET", name, row.value});
    script().call.clear();
    script().call.add(ScriptOperation::kSpendEach, {&charge, 1});
    Decision decision;
    ChargeReplies replies(script().run(kStart));
    EXPECT_EQ(replies.read({&charge, 1}, {&decision, 1}), ChargeFailure::kUnreadable);
    EXPECT_EQ(script().redis.call({"GET", name}).text(), row.value);
  }
  const Charge charge{script().fresh_key(), &quota};
  script().redis.call({"RPUSH", script().name_of(charge.key), "value"});
  script().call.clear();
  script().call.add(ScriptOperation::kSpendEach, {&charge, 1});
  Decision decision;
  ChargeReplies replies(script().run(kStart));
  EXPECT_EQ(replies.read({&charge, 1}, {&decision, 1}), ChargeFailure::kForeignType);
}

TEST_F(AdaptiveEffects, AForgedLeaseHoldsAKeyBackForAWindow) {
  const Quota old = adaptive(60, 1min, kSliding);
  const Quota next = adaptive(60, 1min, kBucket);
  const KeyHash key = script().fresh_key();
  script().spend({key, &old, 1}, kStart);
  std::string state = stored(key);
  state.replace(5, 8, std::string("\xff\xff\xff\xff\xff\xff\x0f\0", 8));
  script().redis.call({"SET", script().name_of(key), state});
  EXPECT_TRUE(script().spend({key, &next, 1}, kStart).allowed());
  EXPECT_EQ(stored(key).front(), 's');
  EXPECT_TRUE(script().spend({key, &next, 1}, kStart + 1min).allowed());
  EXPECT_EQ(stored(key).front(), 't');
}

TEST_F(AdaptiveEffects, AKeyGoesByItselfWhenItIsAsGoodAsNew) {
  Script script;  // whose calls have no time of a test's
  for (const ActiveAlgorithm active : {kSliding, kBucket, kBackoff}) {
    const Quota quota = adaptive(5, 24h, active);
    const KeyHash key = script.fresh_key();
    const Decision decision = script.spend({key, &quota, 2}, Instant{});
    const auto left_ms = script.redis.call({"PTTL", script.name_of(key)}).integer().value_or(-1);
    const std::int64_t reset_ms = decision.reset_after / 1ms + 2;  // each rounds up
    EXPECT_GT(left_ms, reset_ms - 60'000) << algorithm_name(active.algorithm);
    EXPECT_LE(left_ms, reset_ms) << algorithm_name(active.algorithm);
  }
}

}  // namespace
}  // namespace weir
