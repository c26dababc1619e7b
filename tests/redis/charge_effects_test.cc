// Charges leave entries in Redis: how long they stay, how large they get, and what becomes of a key
// that is not ours, or forged.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "redis/script_redis.h"
#include "store/redis/script/charge_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::kStart;
using testing::Script;
using testing::script;
using testing::stored;

Quota made(const QuotaSpec& spec) { return *Quota::make(spec); }

constexpr ActiveAlgorithm kSliding{Algorithm::kSlidingWindow, 1};
constexpr ActiveAlgorithm kBucket{Algorithm::kTokenBucket, 2};

// One of each algorithm, adaptive in each of its kinds.
std::vector<Quota> quotas_of(std::int64_t limit, Duration window) {
  std::vector<Quota> quotas;
  for (int i = 0; i < kDecidingAlgorithmCount; ++i) {
    quotas.push_back(made({static_cast<Algorithm>(i), limit, window}));
  }
  const Quota adaptive = made({Algorithm::kAdaptive, limit, window});
  for (const ActiveAlgorithm active :
       {kSliding, kBucket, ActiveAlgorithm{Algorithm::kExponentialBackoff, 3}}) {
    quotas.push_back(adaptive.following(active));
  }
  return quotas;
}

TEST(ChargeEffects, AKeyEndsWhenItIsAsGoodAsNewWhateverItIsCharged) {
  Script timed;  // whose calls have no time of a test's
  for (const Quota& quota : quotas_of(50, 24h)) {
    const KeyHash key = timed.fresh_key();
    for (const std::int64_t cost : {1, 1, 20, -5, 28, 1, 1, -40, 3}) {
      const Decision decision = timed.spend({key, &quota, cost}, Instant{});
      const auto left_ms = timed.redis.call({"PTTL", timed.name_of(key)}).integer().value_or(-1);
      const std::int64_t reset_ms = decision.reset_after / 1ms + 2;  // each rounds up
      EXPECT_GT(left_ms, reset_ms - 60'000) << algorithm_name(quota.active()) << " " << cost;
      EXPECT_LE(left_ms, reset_ms) << algorithm_name(quota.active()) << " " << cost;
    }
  }
}

TEST(ChargeEffects, WhatHoldsNothingIsDeleted) {
  for (const Quota& quota : quotas_of(5, 1min)) {
    if (quota.active() == Algorithm::kTokenBucket) continue;  // of which a tick is gone
    const KeyHash key = script().fresh_key();
    script().spend({key, &quota, 2}, kStart);
    EXPECT_NE(stored(key), "");
    script().spend({key, &quota, -2}, kStart);
    EXPECT_EQ(stored(key), "") << algorithm_name(quota.algorithm());
  }
}

// A number as it is within a state.
std::string bytes_of(std::int64_t number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

TEST(ChargeEffects, AForeignKeyFailsItsBatchAndNoOther) {
  struct Row {
    Quota quota;
    std::vector<std::string> command;  // with KEY for the key's name
    ChargeFailure expected = ChargeFailure::kUnreadable;
  };
  const Quota fixed = made({Algorithm::kFixedWindow, 5, 1min});
  const Quota sliding = made({Algorithm::kSlidingWindow, 5, 1min});
  const Quota token_bucket = made({Algorithm::kTokenBucket, 5, 27'106'457'281'871us});
  const Quota adaptive = made({Algorithm::kAdaptive, 5, 1min}).following(kBucket);
  std::vector<Row> rows = {
      {fixed, {"HSET", "KEY", "field", "value"}, ChargeFailure::kForeignType},
      {adaptive, {"RPUSH", "KEY", "value"}, ChargeFailure::kForeignType},
      {fixed, {"SET", "KEY", "17"}},
  };
  const KeyHash shaped = script().fresh_key();
  script().spend({shaped, &adaptive, 1}, kStart);
  const std::string good = stored(shaped);
  ASSERT_EQ(good.size(), 29u);
  const std::string head(12, '\0');  // the switch, and the end of a lease
  const std::string counts(24, '\0');
  const std::int64_t now_us = epoch_us(kStart);
  const std::string forged_hold = "T" + bytes_of(now_us + 5) + bytes_of(0) +
                                  bytes_of(now_us + 1000) + bytes_of(0x7abc'def1'2345'6789);
  for (const auto& [quota, state] : std::vector<std::pair<Quota, std::string>>{
           {fixed, ""},
           {fixed, "S23456789012345678901234"},
           {fixed, "F" + std::string(16, '\xff')},  // of the far future
           {token_bucket, forged_hold},
           {adaptive, ""},
           {adaptive, "t"},
           {adaptive, good.substr(0, 13)},
           {adaptive, good.substr(0, 28)},
           {adaptive, good + "x"},
           {adaptive, "s" + good.substr(1)},
           {adaptive, "t" + head + std::string(16, '\xff')},
           {adaptive, "b" + head + counts + bytes_of(0x60)},
           {adaptive, "b" + head + counts + bytes_of(0x0a)},
           {adaptive, "S" + counts},
           {sliding, "s" + head + counts}}) {
    rows.push_back({quota, {"SET", "KEY", state}});
  }
  for (const Row& row : rows) {
    const KeyHash key = script().fresh_key();
    const std::string name = script().name_of(key);
    std::vector<std::string_view> command(row.command.begin(), row.command.end());
    command[1] = name;
    script().redis.call(command);
    const std::vector<Charge> bad = {{script().fresh_key(), &fixed}, {key, &row.quota}};
    const std::vector<Charge> fine = {{script().fresh_key(), &fixed}};
    std::vector<Decision> decisions(2);
    auto& call = script().call;
    call.clear();
    call.add(ScriptOperation::kSpendEach, bad);
    call.add(ScriptOperation::kSpendEach, fine);
    ChargeReplies replies(script().run(kStart));
    EXPECT_EQ(replies.read(bad, decisions), row.expected) << command[0] << command[2];
    EXPECT_EQ(replies.read(fine, decisions), ChargeFailure::kNone);
    EXPECT_EQ(decisions[0].remaining, 4);
    EXPECT_EQ(script().spend({bad[0].key, &fixed, 0}, kStart).remaining, 5);
    EXPECT_NE(script().redis.call({"TYPE", name}).text(), "none");

    call.clear();
    call.add(ScriptOperation::kReset, {&bad[1], 1});
    script().run(kStart);
    EXPECT_EQ(script().spend(bad[1], kStart).remaining, 4);
  }
}

TEST(ChargeEffects, ALogWhoseTotalIsForgedIsDecidedByWhatItHas) {
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

TEST(ChargeEffects, ALongLogMergesItsOldestEntries) {
  const Quota quota = made({Algorithm::kSlidingLog, 5000, 1min});
  const KeyHash key = script().fresh_key();
  for (int i = 0; i < 1030; ++i) script().spend({key, &quota, 1}, kStart + Duration{i});
  EXPECT_EQ(stored(key).size(), 9u + 16 * 1024);
  // Seven were merged, into the seventh's time.
  for (const auto& [after, spent] : {std::pair(-1us, 1030), {5us, 1030}, {6us, 1023}}) {
    EXPECT_EQ(script().spend({key, &quota, 0}, kStart + 1min + after).remaining, 5000 - spent);
  }
}

TEST(ChargeEffects, WhoLagsIsDecidedByTheStatesAlgorithm) {
  const Quota old = made({Algorithm::kAdaptive, 60, 1min}).following(kSliding);
  const Quota next = old.following(kBucket);
  const KeyHash key = script().fresh_key();
  EXPECT_EQ(script().spend({key, &old, 60}, kStart).remaining, 0);
  EXPECT_EQ(script().spend({key, &next, 1}, kStart).retry_after, 1s);
  EXPECT_EQ(script().spend({key, &old, 1}, kStart).retry_after, 1s);  // 61 s as a sliding window
  EXPECT_TRUE(script().spend({key, &old, 2}, kStart + 2s).allowed());
  EXPECT_EQ(stored(key).substr(1, 1), "\2");
}

}  // namespace
}  // namespace weir
