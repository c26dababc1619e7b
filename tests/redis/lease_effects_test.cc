// Leases in Redis: what they hold, for how long, what comes back, and that nobody gets more than
// the bound, whatever an adaptive key switches to meanwhile.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "algo/testing/admitted.h"
#include "algo/testing/random_life.h"
#include "redis/script_redis.h"
#include "store/redis/script/charge_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using algo::testing::Admitted;
using algo::testing::any_active;
using algo::testing::is_within_bound;
using algo::testing::kLeasable;
using algo::testing::within;
using testing::kStart;
using testing::script;
using testing::stored;

[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=200", 0);

constexpr ActiveAlgorithm kSliding{Algorithm::kSlidingWindow, 1};
constexpr ActiveAlgorithm kBucket{Algorithm::kTokenBucket, 2};
constexpr ActiveAlgorithm kBackoff{Algorithm::kExponentialBackoff, 3};

Quota quota_of(Algorithm algorithm, std::int64_t limit) {
  return *Quota::make({algorithm, limit, 1min});
}
Quota adaptive(std::int64_t limit, ActiveAlgorithm active) {
  return quota_of(Algorithm::kAdaptive, limit).following(active);
}

TEST(LeaseEffects, LeasesGetSmallerAsTheQuotaRunsOut) {
  const Quota quota = quota_of(Algorithm::kFixedWindow, 20);
  const Charge charge{script().fresh_key(), &quota, 8};
  std::vector<std::int64_t> granted;
  do {
    const Lease lease = script().lease(charge, {.share = 2, .length = 10s}, kStart);
    granted.push_back(lease.units);
    EXPECT_EQ(lease.length, lease.units > 0 ? 10s : 0s);
  } while (granted.back() > 0 && granted.size() < 12);
  EXPECT_EQ(granted, (std::vector<std::int64_t>{8, 6, 3, 1, 1, 1, 0}));
}

TEST(LeaseEffects, ALeaseIsWhatIsNeededAtOnceIfItIsThere) {
  for (const Algorithm algorithm : kLeasable) {
    const Quota quota = quota_of(algorithm, 20);
    const Charge charge{script().fresh_key(), &quota, 15};
    const LeaseTerms terms{.share = 8, .needed = 12, .length = 1s, .long_length = 2s};
    const Lease all = script().lease(charge, terms, kStart);
    EXPECT_EQ(all.units, 12) << algorithm_name(algorithm);
    EXPECT_TRUE(all.decision.allowed());
    EXPECT_FALSE(all.is_long);
    const Lease some = script().lease(charge, terms, kStart);
    EXPECT_GE(some.units, 7);  // a lease of a bucket costs more than its units
    EXPECT_LE(some.units, 8);
    EXPECT_FALSE(some.decision.allowed());
    EXPECT_GT(some.decision.retry_after, 0s);
  }
}

TEST(LeaseEffects, ALeaseEndsWithTheWindow) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow}) {
    const Quota quota = quota_of(algorithm, 20);
    const Charge charge{script().fresh_key(), &quota, 8};
    EXPECT_EQ(script().lease(charge, {.share = 2, .length = 10s}, kStart + 57s).length, 3s);
  }
}

TEST(LeaseEffects, WhatIsLeftOfALeaseGoesBackUntilItEnds) {
  const Quota quota = quota_of(Algorithm::kFixedWindow, 20);
  const Charge charge{script().fresh_key(), &quota, 8};
  const Instant end = kStart + script().lease(charge, {.share = 2, .length = 10s}, kStart).length;
  for (const Instant now : {end - 1us, end}) {
    EXPECT_EQ(script().give_back({charge.key, &quota, -3}, end, 0, now).remaining, 15);
  }
}

TEST(LeaseEffects, BackoffIsNotLeased) {
  const Quota quota = quota_of(Algorithm::kExponentialBackoff, 20);
  const Charge charge{script().fresh_key(), &quota, 8};
  script().call.clear();
  script().call.add_lease(charge, {.share = 2, .length = 10s});
  Lease lease;
  ChargeReplies replies(script().run(kStart));
  EXPECT_EQ(replies.read_lease(charge, lease), ChargeFailure::kUnsupported);

  const Quota backoff = adaptive(100, kBackoff);
  const Quota lags = adaptive(100, kSliding);
  const KeyHash key = script().fresh_key();
  script().spend({key, &backoff, 40}, kStart);
  lease = script().lease({key, &lags, 8}, {.share = 2, .needed = 3, .length = 1s}, kStart);
  EXPECT_EQ(lease.units, 0);
  EXPECT_TRUE(lease.decision.allowed());  // Redis decides what the node wanted it for
  EXPECT_EQ(lease.decision.remaining, 60);
}

// ---- what a bucket owes of long leases ----

constexpr LeaseTerms kLong{.share = 1, .length = 1s, .long_length = 1min};

TEST(LeaseEffects, ABucketOwesWhatWasSpentLongAfterItWasLeased) {
  const Quota quota = quota_of(Algorithm::kTokenBucket, 60);
  const Charge charge{script().fresh_key(), &quota, 7};
  const Instant end = kStart + script().lease(charge, kLong, kStart).length;
  const Instant now = kStart + 50s;  // the bucket would be full without what is held
  LeaseTerms terms = kLong;
  terms.settled = 7;  // spent just now
  terms.settled_until = end;
  EXPECT_EQ(script().lease(charge, terms, now).units, 7);
  EXPECT_EQ(script().look({charge.key, &quota, 0}, now).remaining, 60 - 7 - 7);
}

TEST(LeaseEffects, ABucketOwesWhatNobodySettledUntilItsEpochIsOver) {
  const Quota quota = quota_of(Algorithm::kTokenBucket, 60);
  const KeyHash key = script().fresh_key();
  EXPECT_EQ(script().lease({key, &quota, 2}, kLong, kStart).units, 2);
  const Instant later = kStart + 1min - 1us;
  const Lease lease = script().lease({key, &quota, 5}, kLong, later);
  EXPECT_EQ(lease.units, 5);
  const Instant over = later + lease.length + 1us;  // it may be spent until just before that
  EXPECT_LE(script().look({key, &quota, 0}, over).remaining, 60 - 2 - 5);
  EXPECT_EQ(script().look({key, &quota, 0}, over + 7s).remaining, 60);
}

TEST(LeaseEffects, AShortLeaseOfABucketTakesNothingThatALongOneHolds) {
  const Quota quota = quota_of(Algorithm::kTokenBucket, 60);
  const KeyHash key = script().fresh_key();
  EXPECT_EQ(script().lease({key, &quota, 7}, kLong, kStart).units, 7);
  const LeaseTerms terms{.share = 1, .needed = 30, .length = 3s};
  const Lease lease = script().lease({key, &quota, 30}, terms, kStart);
  EXPECT_EQ(lease.units, 30);
  const Instant end = kStart + lease.length;
  EXPECT_EQ(script().look({key, &quota, 0}, end - 1us).remaining, 60 - 30 - 7 - 1);
}

// ---- by chance -------------------------------------------------------------------------

struct Held {
  std::int64_t units;
  Instant end;
  bool is_long;
};

// Nodes that charge, lease, spend what they hold whenever they like, and give some back. Of an
// adaptive key they follow the last switch or one of the two before it.
class LifeOnLeases {
 public:
  explicit LifeOnLeases(Algorithm algorithm)
      : quota_(*Quota::make({algorithm, within(1, 300), Duration{within(1'000, 3'000'000)}})) {}

  void step() {
    const bool hurries = within(0, 2) > 0;  // so that leases last for several steps
    now_ += Duration{within(0, quota_.window().count() / (hurries ? 30 : 7))};
    std::erase_if(leases_, [&](const Held& held) { return held.units == 0 || held.end <= now_; });
    if (quota_.algorithm() == Algorithm::kAdaptive && within(0, 7) == 0) switch_now();
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
    if (!admitted_.empty()) RC_ASSERT(is_within_bound(quota_, admitted_));
  }

 private:
  std::int64_t left(const Quota& quota) { return script().look({key_, &quota, 0}, now_).remaining; }
  void admit(std::int64_t units) { admitted_.push_back({epoch_us(now_), units}); }

  // The node that follows it first finds no more than a node that knows of no switch, for which the
  // state's own algorithm decides.
  void switch_now() {
    const std::int64_t before = left(quota_as_of(0));
    switches_.push_back(any_active());
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
    if (script().spend({key_, &quota, units}, now_).allowed()) admit(units);
  }
  // The units that are held and those that are left, at once: the most that anybody can get.
  void spend_all() {
    for (Held& held : leases_) spend_of(held, held.units);
    const std::int64_t units = left(somebodys());
    if (units > 0) spend(units);
  }
  void spend_of(Held& held, std::int64_t units) {
    held.units -= units;
    admit(units);
    if (!held.is_long) return;
    settled_until_ = settled_ == 0 ? held.end : std::min(settled_until_, held.end);
    settled_ += units;
  }
  void lease() {
    const Quota quota = somebodys();
    const std::int64_t window_us = quota_.window().count();
    const std::int64_t told = within(0, 1) == 0 ? 0 : std::exchange(settled_, 0);
    const LeaseTerms terms{.share = within(1, 4),
                           .needed = within(0, 3) == 0 ? quota_.limit() : within(0, 2),
                           .length = Duration{within(1, window_us / 8)},
                           .long_length = Duration{within(0, 1) * within(1, window_us)},
                           .settled = told,
                           .settled_until = settled_until_};
    const Lease lease = script().lease({key_, &quota, within(1, 300)}, terms, now_);
    RC_ASSERT(lease.length <= (lease.is_long ? terms.long_length : terms.length));
    leases_.push_back({lease.units, now_ + lease.length, lease.is_long});
  }
  void use_lease(Held& held, std::int64_t action) {
    const std::int64_t units = within(1, held.units);
    if (action < 6) return spend_of(held, units);
    held.units -= units;
    const Quota quota = somebodys();
    script().give_back({key_, &quota, -units}, held.end, held.is_long ? units : 0, now_);
  }

  const Quota quota_;
  const KeyHash key_ = script().fresh_key();
  const std::int64_t idle_ = 15 * within(0, 1);  // or the bucket would never fill
  std::vector<Algorithm> switches_{Algorithm::kSlidingWindow};
  std::vector<Held> leases_;
  std::int64_t settled_ = 0;  // what was spent of long leases, and not told
  Instant settled_until_;     // when the first of them ends
  std::vector<Admitted> admitted_;
  Instant now_ = kStart;
};

TEST(LeaseEffects, NobodyExceedsTheBoundNorDoesASwitchRaiseWhatIsLeft) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    if (algorithm == Algorithm::kExponentialBackoff) continue;
    EXPECT_TRUE(rc::check("within the bound", [=] {
      LifeOnLeases life(algorithm);
      for (int step = 0; step < 100; ++step) life.step();
    })) << algorithm_name(algorithm);
  }
}

// ---- switches while a lease is out -----------------------------------------------------

TEST(LeaseEffects, ABucketOwesWhatIsLeftOfALease) {
  const Quota old = adaptive(60, kSliding);
  const Quota next = adaptive(60, kBucket);
  const KeyHash key = script().fresh_key();
  const Lease lease =
      script().lease({key, &old, 10}, {.share = 2, .needed = 10, .length = 1s}, kStart);
  EXPECT_EQ(lease.units, 10);
  EXPECT_EQ(script().look({key, &old, 0}, kStart).remaining, 50);
  EXPECT_EQ(script().look({key, &next, 0}, kStart).remaining, 49);  // and one a second comes back
  EXPECT_EQ(script().give_back({key, &next, -4}, kStart + lease.length, 0, kStart).remaining, 53);
}

// Just before a lease ends, what is held of it and what is left are no more than the limit.
TEST(LeaseEffects, NobodyElseGetsWhatALeaseHolds) {
  const Quota old = adaptive(600, kSliding);
  const Quota next = adaptive(600, kBucket);
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

TEST(LeaseEffects, CountsWithALongLeaseBecomeABucketWhenLittleOfItIsLeft) {
  const Quota old = adaptive(60, kSliding);
  const Quota next = adaptive(60, kBucket);
  const KeyHash key = script().fresh_key();
  const LeaseTerms terms{.share = 1, .length = 1s, .long_length = 30s};
  const Lease lease = script().lease({key, &old, 8}, terms, kStart);
  EXPECT_TRUE(lease.is_long);
  EXPECT_EQ(lease.length, 30s);
  for (const auto& [now, form] : {std::pair(kStart + 28s, 's'), std::pair(kStart + 29s, 't')}) {
    EXPECT_TRUE(script().spend({key, &next, 1}, now).allowed());
    EXPECT_EQ(stored(key).front(), form);
    EXPECT_FALSE(script().lease({key, &next, 8}, terms, now).is_long);
  }
}

TEST(LeaseEffects, AForgedLeaseHoldsAKeyBackForAWindow) {
  const Quota old = adaptive(60, kSliding);
  const Quota next = adaptive(60, kBucket);
  const KeyHash key = script().fresh_key();
  script().spend({key, &old, 1}, kStart);
  std::string state = stored(key);
  state.replace(5, 8, std::string("\xff\xff\xff\xff\xff\xff\x0f\0", 8));
  script().redis.call({"SET", script().name_of(key), state});
  for (const auto& [now, form] : {std::pair(kStart, 's'), std::pair(kStart + 1min, 't')}) {
    EXPECT_TRUE(script().spend({key, &next, 1}, now).allowed());
    EXPECT_EQ(stored(key).front(), form);
  }
}

}  // namespace
}  // namespace weir
