// What the script does besides deciding: expiry, keys that are not ours, leases, syncs.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "redis/admitted.h"
#include "redis/script_redis.h"
#include "store/redis/script/charge_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::is_within_bound;
using testing::Script;
using testing::Spent;

[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=150", 0);

constexpr Instant kStart = instant_from_epoch_us(1'700'000'040'000'000);  // a minute begins

Quota made(const QuotaSpec& spec) { return *Quota::make(spec); }

class ChargeEffects : public ::testing::Test {
 protected:
  static Script& script() {
    static Script only;
    return only;
  }
};

TEST_F(ChargeEffects, AKeyGoesByItselfWhenItIsAsGoodAsNew) {
  Script script;  // whose calls have no time of a test's
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingLog, Algorithm::kSlidingWindow,
        Algorithm::kTokenBucket, Algorithm::kExponentialBackoff}) {
    const Quota quota = made({algorithm, 5, 24h});
    const KeyHash key = script.fresh_key();
    const Decision decision = script.spend({key, &quota, 2}, Instant{});
    const std::string name = script.name_of(key);
    const auto left_ms = script.redis.call({"PTTL", name}).integer().value_or(-1);
    const std::int64_t reset_ms = decision.reset_after / 1ms + 2;  // each rounds up
    EXPECT_GT(left_ms, reset_ms - 60'000) << algorithm_name(algorithm);
    EXPECT_LE(left_ms, reset_ms) << algorithm_name(algorithm);
  }
}

TEST_F(ChargeEffects, AKeyEndsWhenItsStateSaysWhateverItIsChargedLater) {
  Script script;
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingLog, Algorithm::kSlidingWindow,
        Algorithm::kTokenBucket, Algorithm::kExponentialBackoff}) {
    const Quota quota = made({algorithm, 50, 24h});
    const KeyHash key = script.fresh_key();
    const std::string name = script.name_of(key);
    for (const std::int64_t cost : {1, 1, 20, -5, 28, 1, 1, -40, 3}) {
      const Decision decision = script.spend({key, &quota, cost}, Instant{});
      const auto left_ms = script.redis.call({"PTTL", name}).integer().value_or(-1);
      const std::int64_t reset_ms = decision.reset_after / 1ms + 2;  // each rounds up
      EXPECT_GT(left_ms, reset_ms - 60'000) << algorithm_name(algorithm) << " " << cost;
      EXPECT_LE(left_ms, reset_ms) << algorithm_name(algorithm) << " " << cost;
    }
  }
}

TEST_F(ChargeEffects, WhatHoldsNothingIsDeleted) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                    Algorithm::kSlidingWindow, Algorithm::kExponentialBackoff}) {
    const Quota quota = made({algorithm, 5, 1min});
    const KeyHash key = script().fresh_key();
    script().spend({key, &quota, 2}, kStart);
    const std::string name = script().name_of(key);
    EXPECT_EQ(script().redis.call({"EXISTS", name}).integer(), 1);
    script().spend({key, &quota, -2}, kStart);
    EXPECT_EQ(script().redis.call({"EXISTS", name}).integer(), 0) << algorithm_name(algorithm);
  }
}

TEST_F(ChargeEffects, AForeignKeyFailsItsBatchAndNoOther) {
  struct Row {
    std::vector<std::string_view> command;  // the key's name in place of KEY
    ChargeFailure expected;
  };
  const std::string future_state = std::string("F") + std::string(16, '\xff');
  const std::vector<Row> rows = {
      {{"HSET", "KEY", "field", "value"}, ChargeFailure::kForeignType},
      {{"RPUSH", "KEY", "value"}, ChargeFailure::kForeignType},
      {{"SET", "KEY", "17"}, ChargeFailure::kUnreadable},
      {{"SET", "KEY", ""}, ChargeFailure::kUnreadable},
      {{"SET", "KEY", "S23456789012345678901234"}, ChargeFailure::kUnreadable},
      {{"SET", "KEY", future_state}, ChargeFailure::kUnreadable},
  };
  const Quota quota = made({Algorithm::kFixedWindow, 5, 1min});
  for (const Row& row : rows) {
    const KeyHash key = script().fresh_key();
    const std::string name = script().name_of(key);
    auto command = row.command;
    command[1] = name;
    script().redis.call(command);
    const std::vector<Charge> bad = {{script().fresh_key(), &quota}, {key, &quota}};
    const std::vector<Charge> good = {{script().fresh_key(), &quota}};
    std::vector<Decision> decisions(2);
    auto& call = script().call;
    call.clear();
    call.add(ScriptOperation::kSpendEach, bad);
    call.add(ScriptOperation::kSpendEach, good);
    ChargeReplies replies(script().run(kStart));
    EXPECT_EQ(replies.read(bad, decisions), row.expected) << row.command[0] << row.command[2];
    EXPECT_EQ(replies.read(good, decisions), ChargeFailure::kNone);
    EXPECT_EQ(decisions[0].remaining, 4);
    EXPECT_EQ(script().spend({bad[0].key, &quota, 0}, kStart).remaining, 5);
    EXPECT_NE(script().redis.call({"TYPE", name}).text(), "none");

    call.clear();
    call.add(ScriptOperation::kReset, {&bad[1], 1});
    script().run(kStart);
    EXPECT_EQ(script().spend(bad[1], kStart).remaining, 4);
  }
}

// A number as it is within a state.
std::string bytes_of(std::int64_t number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

TEST_F(ChargeEffects, AForgedHoldIsUnreadable) {
  const std::int64_t now_us = epoch_us(kStart);
  const Quota quota = made({Algorithm::kTokenBucket, 5, 27'106'457'281'871us});
  const KeyHash key = script().fresh_key();
  const Charge charge{key, &quota};
  const std::string state = "T" + bytes_of(now_us + 5) + bytes_of(0) + bytes_of(now_us + 1000) +
                            bytes_of(0x7abc'def1'2345'6789);
  script().redis.call({"SET", script().name_of(key), state});
  Decision decision;
  script().call.clear();
  script().call.add(ScriptOperation::kSpendEach, {&charge, 1});
  ChargeReplies replies(script().run(kStart));
  EXPECT_EQ(replies.read({&charge, 1}, {&decision, 1}), ChargeFailure::kUnreadable);
}

TEST_F(ChargeEffects, ALogWhoseTotalIsForgedIsDecidedByWhatItHas) {
  const std::int64_t now_us = epoch_us(kStart);
  const auto entry = [&](std::int64_t units) { return bytes_of(now_us - 1) + bytes_of(units); };
  const Quota quota = made({Algorithm::kSlidingLog, 5, 1min});
  const auto spend = [&](const std::string& state, std::int64_t cost) {
    const KeyHash key = script().fresh_key();
    script().redis.call({"SET", script().name_of(key), "L" + state});
    return script().spend({key, &quota, cost}, kStart);
  };
  EXPECT_EQ(spend(bytes_of(100), 1).remaining, 4);
  EXPECT_EQ(spend(bytes_of(100) + entry(1), 1).retry_after, 1min - 1us);
  EXPECT_EQ(spend(bytes_of(100) + entry(1), -1).remaining, 5);
  EXPECT_EQ(spend(bytes_of(1) + entry(100), 1).remaining, 3);
  EXPECT_EQ(spend(bytes_of(1) + entry(100), -200).remaining, 5);
}

TEST_F(ChargeEffects, ALongLogMergesItsOldestEntries) {
  const Quota quota = made({Algorithm::kSlidingLog, 5000, 1min});
  const KeyHash key = script().fresh_key();
  for (int i = 0; i < 1030; ++i) script().spend({key, &quota, 1}, kStart + Duration{i});
  const std::string name = script().name_of(key);
  EXPECT_EQ(script().redis.call({"STRLEN", name}).integer(), 9 + 16 * 1024);
  EXPECT_EQ(script().spend({key, &quota, 0}, kStart + 1min - 1us).remaining, 5000 - 1030);
  // Seven were merged, into the seventh's time.
  EXPECT_EQ(script().spend({key, &quota, 0}, kStart + 1min + 5us).remaining, 5000 - 1030);
  EXPECT_EQ(script().spend({key, &quota, 0}, kStart + 1min + 6us).remaining, 5000 - 1023);
}

// ---- leases ----------------------------------------------------------------------------

TEST_F(ChargeEffects, LeasesGetSmallerAsTheQuotaRunsOut) {
  const Quota quota = made({Algorithm::kFixedWindow, 20, 1min});
  const KeyHash key = script().fresh_key();
  std::vector<std::int64_t> granted;
  for (int i = 0; i < 12; ++i) {
    const Lease lease = script().lease({key, &quota, 8}, {.share = 2, .length = 10s}, kStart);
    granted.push_back(lease.units);
    EXPECT_EQ(lease.length, lease.units > 0 ? 10s : 0s);
    if (granted.back() == 0) break;
  }
  EXPECT_EQ(granted, (std::vector<std::int64_t>{8, 6, 3, 1, 1, 1, 0}));
}

TEST_F(ChargeEffects, ALeaseIsWhatIsNeededAtOnceIfItIsThere) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                    Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
    const Quota quota = made({algorithm, 20, 1min});
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

TEST_F(ChargeEffects, ALeaseEndsWithTheWindow) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow}) {
    const Quota quota = made({algorithm, 20, 1min});
    const Charge charge{script().fresh_key(), &quota, 8};
    EXPECT_EQ(script().lease(charge, {.share = 2, .length = 10s}, kStart + 57s).length, 3s);
  }
}

TEST_F(ChargeEffects, BackoffIsNotLeased) {
  const Quota quota = made({Algorithm::kExponentialBackoff, 20, 1min});
  const Charge charge{script().fresh_key(), &quota, 8};
  script().call.clear();
  script().call.add_lease(charge, {.share = 2, .length = 10s});
  Lease lease;
  ChargeReplies replies(script().run(kStart));
  EXPECT_EQ(replies.read_lease(charge, lease), ChargeFailure::kUnsupported);
}

struct Held {
  std::int64_t units;
  Instant end;
  bool is_long;
};

// What was spent of long leases and not settled, and when the first of them ends.
struct Settled {
  void add(std::int64_t more, Instant end) {
    until = units == 0 ? end : std::min(until, end);
    units += more;
  }
  std::int64_t units = 0;
  Instant until;
};

// Nodes that lease, spend what they hold whenever they like, and give some back; and
// others that ask Redis each time.
void live_on_leases(Script& script, Algorithm algorithm) {
  const auto limit = *rc::gen::inRange<std::int64_t>(1, 300);
  const auto window = Duration{*rc::gen::inRange<std::int64_t>(1'000, 3'000'000)};
  const Quota quota = made({algorithm, limit, window});
  const KeyHash key = script.fresh_key();
  std::vector<Held> leases;
  Settled settled;
  std::vector<Spent> spent;
  Instant now = kStart;
  const auto within = [](std::int64_t from, std::int64_t to) {
    return *rc::gen::inRange<std::int64_t>(from, to + 1);
  };
  for (int step = 0; step < 60; ++step) {
    now += Duration{within(0, window.count() / 7)};
    std::erase_if(leases, [&](const Held& held) { return held.units == 0 || held.end <= now; });
    const auto action = within(0, 5);
    if (action == 0) {
      const std::int64_t units = within(1, 3);
      if (!script.spend({key, &quota, units}, now).allowed()) continue;
      spent.push_back({epoch_us(now), units});
    } else if (action <= 2 || leases.empty()) {
      const Settled told = within(0, 1) == 0 ? Settled{} : std::exchange(settled, {});
      const LeaseTerms terms{.share = within(1, 4),
                             .needed = within(0, 5),
                             .length = Duration{within(1, window.count())},
                             .long_length = Duration{within(0, 1) * within(1, window.count())},
                             .settled = told.units,
                             .settled_until = told.until};
      const Lease lease = script.lease({key, &quota, within(1, 40)}, terms, now);
      RC_ASSERT(lease.length <= (lease.is_long ? terms.long_length : terms.length));
      leases.push_back({lease.units, now + lease.length, lease.is_long});
    } else {
      Held& held = leases[static_cast<std::size_t>(within(0, std::ssize(leases) - 1))];
      const std::int64_t units = within(1, held.units);
      held.units -= units;
      if (action == 5) {
        script.give_back({key, &quota, -units}, held.end, held.is_long ? units : 0, now);
      } else {
        spent.push_back({epoch_us(now), units});
        if (held.is_long) settled.add(units, held.end);
      }
    }
    if (!spent.empty()) RC_ASSERT(is_within_bound(quota, spent));
  }
}

TEST_F(ChargeEffects, LeasesNeverExceedTheLimit) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                    Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
    EXPECT_TRUE(rc::check("within the bound", [&] { live_on_leases(script(), algorithm); }))
        << algorithm_name(algorithm);
  }
}

TEST_F(ChargeEffects, WhatIsLeftOfALeaseGoesBackUntilItEnds) {
  const Quota quota = made({Algorithm::kFixedWindow, 20, 1min});
  const Charge charge{script().fresh_key(), &quota, 8};
  const Instant end = kStart + script().lease(charge, {.share = 2, .length = 10s}, kStart).length;
  const auto left_after_return = [&](std::int64_t units, Instant now) {
    return script().give_back({charge.key, &quota, -units}, end, 0, now).remaining;
  };
  EXPECT_EQ(left_after_return(3, end - 1us), 15);
  EXPECT_EQ(left_after_return(3, end), 15);
}

// ---- syncs -----------------------------------------------------------------------------

TEST_F(ChargeEffects, ASyncChargesUpToTwiceTheLimit) {
  const Quota fixed = made({Algorithm::kFixedWindow, 5, 1min});
  const Quota sliding = made({Algorithm::kSlidingWindow, 5, 1min});
  const std::int64_t minute_us = epoch_us(kStart);
  const Charge one{script().fresh_key(), &fixed, 7};
  EXPECT_EQ(script().sync(one, kStart), (SyncedState{minute_us, 7, 0}));
  EXPECT_EQ(script().sync(one, kStart + 59s), (SyncedState{minute_us, 10, 0}));
  EXPECT_EQ(script().spend({one.key, &fixed, 1}, kStart).verdict, Verdict::kDenied);
  const Charge two{script().fresh_key(), &sliding, 7};
  EXPECT_EQ(script().sync(two, kStart), (SyncedState{minute_us, 0, 7}));
  EXPECT_EQ(script().sync(two, kStart + 1min), (SyncedState{minute_us + 60'000'000, 7, 3}));
  EXPECT_EQ(script().sync({two.key, &sliding, 0}, kStart + 1min),
            (SyncedState{minute_us + 60'000'000, 7, 3}));
}

TEST_F(ChargeEffects, ASyncedBucketOwesNoMoreThanIsBelieved) {
  const Quota quota = made({Algorithm::kTokenBucket, 5, 1min});
  const KeyHash key = script().fresh_key();
  EXPECT_EQ(script().sync({key, &quota, 3}, kStart), (SyncedState{epoch_us(kStart + 36s), 0, 0}));
  EXPECT_EQ(script().sync({key, &quota, 3}, kStart), (SyncedState{epoch_us(kStart + 72s), 0, 0}));
  EXPECT_EQ(script().sync({key, &quota, kCostMax}, kStart),
            (SyncedState{epoch_us(kStart + 2min), 0, 0}));
  const Decision decision = script().spend({key, &quota, 1}, kStart);
  EXPECT_EQ(decision.verdict, Verdict::kDenied);
  EXPECT_EQ(decision.retry_after, 72s);
}

}  // namespace
}  // namespace weir
