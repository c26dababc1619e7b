// What Redis holds (holds.lua) is what a HoldingStore in memory holds, step by step.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "redis/script_redis.h"
#include "weir/holding_store.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::kStart;
using testing::script;
using Commit = HoldingStore::Commit;
using Outcome = HoldOrder::Outcome;
using Work = HoldingStore::Work;

Quota made(const QuotaSpec& spec) { return *Quota::make(spec); }

HoldToken fresh_token() {
  static std::uint64_t made = 0;
  return {++made, made * 0x9e37'79b9'7f4a'7c15};
}

std::int64_t left_of(KeyHash key, const Quota& quota, Instant now) {
  return script().decide_held(Operation::kLook, {key, &quota, 0}, now).remaining;
}

std::string holds_of(KeyHash key) { return script().name_of(key) + ":holds"; }

class HeldUnits : public ::testing::Test {
 protected:
  HoldOrder reserve(std::int64_t cost, Duration length, Instant now) {
    const Charge charge{key_, &quota_, cost};
    HoldOrder order{.token = fresh_token(), .length = length, .holds_max = 3, .due = cost};
    script().reserve({&charge, 1}, order, now);
    return order;
  }
  Commit commit(const HoldOrder& hold, std::int64_t cost, Instant now) {
    const Charge charge{key_, &quota_, 1};
    return script().commit({&charge, 1}, {hold.token, hold.end, cost}, now);
  }

  const Quota quota_ = made({Algorithm::kFixedWindow, 10, 1min});
  const KeyHash key_ = script().fresh_key();
};

TEST_F(HeldUnits, LeaveNothingInRedisWhenTheLastHoldHasEnded) {
  const HoldOrder first = reserve(1, 20s, kStart);
  const HoldOrder second = reserve(1, 10s, kStart);
  EXPECT_EQ(commit(first, 0, kStart + 1s), Commit::kCharged);
  EXPECT_EQ(script().redis.call({"EXISTS", holds_of(key_)}).integer(), 1);
  EXPECT_EQ(commit(second, 0, kStart + 1s), Commit::kCharged);
  EXPECT_EQ(script().redis.call({"EXISTS", holds_of(key_)}).integer(), 0);
}

TEST_F(HeldUnits, StayInRedisUntilTheirLapseNoLongerCounts) {
  testing::Script timed;  // whose calls have no time of a test's
  const Charge charge{key_, &quota_, 2};
  HoldOrder order{.token = fresh_token(), .length = 20s, .due = 2};
  timed.reserve({&charge, 1}, order, Instant{});
  const auto left_ms = timed.redis.call({"PTTL", timed.name_of(key_) + ":holds"}).integer();
  EXPECT_GT(left_ms, 139'000);
  EXPECT_LE(left_ms, 140'001);
}

TEST_F(HeldUnits, EndAtDifferentTimes) {
  EXPECT_EQ(reserve(1, 20s, kStart).end, kStart + 20s);
  EXPECT_EQ(reserve(1, 20s, kStart).end, kStart + 20s + 1us);
  EXPECT_EQ(reserve(1, 20s, kStart).end, kStart + 20s + 2us);
  EXPECT_EQ(reserve(1, 20s, kStart).outcome, Outcome::kTooMany);
}

TEST_F(HeldUnits, AreNotCommittedByTheTokenOfAnotherHold) {
  const HoldOrder hold = reserve(7, 30s, kStart);
  HoldOrder other = hold;
  other.token = fresh_token();
  EXPECT_EQ(commit(other, 1, kStart), Commit::kUnknown);
  other = hold;
  other.end += 1us;
  EXPECT_EQ(commit(other, 1, kStart), Commit::kUnknown);
  EXPECT_EQ(left_of(key_, quota_, kStart), 3);
}

TEST_F(HeldUnits, FailABatchWhereSomethingElseHasTheirName) {
  script().redis.call({"SET", holds_of(key_), "text"});
  const Charge charge{key_, &quota_, 1};
  script().call.clear();
  script().call.add_reserve({&charge, 1}, {.token = fresh_token(), .length = 1s});
  Decision decision;
  ChargeReplies replies(script().run(kStart));
  EXPECT_EQ(replies.read({&charge, 1}, {&decision, 1}), ChargeFailure::kForeignType);
}

// ---- the same in memory ----

struct World {
  explicit World(const QuotaSpec& spec) : quota(made(spec)) {}

  Quota quota;
  // A store in memory looks at both halves.
  const KeyHash first = script().fresh_key();
  std::array<KeyHash, 2> keys{KeyHash{first.high, first.high * 0x9e37'79b9'7f4a'7c15},
                              KeyHash{~first.high, first.high * 0xd6e8'feb8'6659'fd93}};
  std::unique_ptr<MemoryStore> memory = make_memory_store({.max_keys = 1024}, kStart);
  HoldingStore store{*memory};
  struct Pair {
    HoldOrder in_redis;
    HoldToken in_memory;
    std::vector<Charge> charges;
  };
  std::vector<Pair> pairs{};
  Instant now = kStart;
};

// Memory is asked at each end: it would charge as of the time at which it was asked last. Redis
// learns of several lapses at once.
void pass_time(World& world, Duration time) {
  const Instant until = world.now + time;
  std::vector<Instant> ends;
  for (const World::Pair& pair : world.pairs) {
    const Instant end = pair.in_redis.end;
    if (end > world.now && end <= until) ends.push_back(end);
  }
  std::ranges::sort(ends);
  for (const Instant end : ends) world.store.held(world.keys.front(), end);
  world.now = until;
}

void expect_same(const Decision& redis, const Decision& memory, const std::string& step) {
  EXPECT_EQ(redis.verdict, memory.verdict) << step;
  EXPECT_EQ(redis.remaining, memory.remaining) << step;
  EXPECT_EQ(redis.retry_after, memory.retry_after) << step;
  EXPECT_EQ(redis.reset_after, memory.reset_after) << step;
}

void reserve_somewhere(World& world, Prng& chance, const std::string& step) {
  const std::int64_t cost = 1 + static_cast<std::int64_t>(chance.below(6));
  std::vector<Charge> charges{{world.keys[0], &world.quota, cost}};
  if (chance.below(3) == 0) charges.push_back({world.keys[1], &world.quota, cost});
  const Duration length = 1ms * (1 + chance.below(60'000));
  const bool is_free = chance.below(4) == 0;
  HoldOrder order{
      .token = fresh_token(), .length = length, .holds_max = 4, .due = is_free ? 0 : cost};
  const std::vector<Decision> said = script().reserve(charges, order, world.now);
  const bool is_held = order.outcome == Outcome::kHeld;
  // A look charges nothing: what a log gives back does not become as it was.
  bool fits = true;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    Decision look = world.store.decide_one(Operation::kLook, charges[i], world.now);
    fits = fits && look.allowed();
    if (is_held) look.remaining -= cost;
    if (is_held) look.reset_after = said[i].reset_after;  // of this hold, too
    expect_same(said[i], look, step);
  }
  if (!fits) {
    EXPECT_EQ(order.outcome, Outcome::kDenied) << step;
    return;
  }
  const auto token = world.store.hold(charges,
                                      {.length = is_held ? order.end - world.now : length,
                                       .estimate = cost,
                                       .holds_max = 4,
                                       .is_charged = false,
                                       .is_free = is_free},
                                      world.now);
  EXPECT_EQ(order.outcome, token ? Outcome::kHeld : Outcome::kTooMany) << step;
  if (token) world.pairs.push_back({order, *token, charges});
}

void commit_something(World& world, Prng& chance, const std::string& step) {
  if (world.pairs.empty()) return;
  const auto& pair = world.pairs[chance.below(static_cast<std::uint32_t>(world.pairs.size()))];
  const auto cost = static_cast<std::int64_t>(chance.below(30));  // more than fits, too
  const Work work = chance.below(3) == 0 ? Work::kGoesOn : Work::kIsDone;
  const CommitOrder order{pair.in_redis.token, pair.in_redis.end, cost, work};
  EXPECT_EQ(script().commit(pair.charges, order, world.now),
            world.store.commit(pair.in_memory, cost, work, world.now))
      << step;
}

void ask_something(World& world, Prng& chance, const std::string& step) {
  constexpr std::array kOperations{Operation::kSpendEach, Operation::kSpendAll, Operation::kLook,
                                   Operation::kCharge,    Operation::kDrain,    Operation::kReset};
  Operation operation = kOperations[chance.below(kOperations.size())];
  std::vector<Charge> charges;
  for (std::uint32_t left = 1 + chance.below(3); left > 0; --left) {
    const auto cost = static_cast<std::int64_t>(chance.below(7));
    charges.push_back({world.keys[chance.below(2)], &world.quota, cost});
  }
  const std::vector<Decision> redis = script().decide_held(operation, charges, world.now);
  std::vector<Decision> memory(charges.size());
  Batch batch{.operation = operation,
              .charges = charges,
              .decisions = memory,
              .on_done = [](Batch&) noexcept {}};
  world.store.decide(batch, world.now);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    expect_same(redis[i], memory[i],
                step + ", operation " + std::to_string(static_cast<int>(operation)) + ", charge " +
                    std::to_string(i));
  }
}

// Also where the counter of the key is empty next to them.
TEST(HeldUnitsInRedis, SayAsThoseInMemoryWhenThereIsMore) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow,
                                    Algorithm::kSlidingLog, Algorithm::kTokenBucket}) {
    const std::string name(algorithm_name(algorithm));
    World world({algorithm, 10, 1min});
    const Charge charge{world.keys[0], &world.quota, 7};
    const Charge none{world.keys[0], &world.quota, 0};
    HoldOrder order{.token = fresh_token(), .length = 30s, .holds_max = 3, .due = 7};
    const Decision reserved = script().reserve({&charge, 1}, order, world.now)[0];
    const HoldTerms terms{.length = 30s, .estimate = 7, .is_charged = false};
    world.store.hold({&charge, 1}, terms, world.now);
    const Decision looked = script().decide_held(Operation::kLook, none, world.now);
    const Decision in_memory = world.store.decide_one(Operation::kLook, none, world.now);
    Duration first = in_memory.more_after;
    for (const Decision& said : {reserved, looked, in_memory}) {
      EXPECT_EQ(said.remaining, 3) << name;
      EXPECT_GT(said.more_after, 30s) << name << ": the lapse charges what is held";
      EXPECT_LE(said.more_after, said.reset_after) << name;
      first = std::min(first, said.more_after);
    }
    pass_time(world, first);
    world.store.held(world.keys[0], order.end);
    const Decision then = world.store.decide_one(Operation::kLook, none, world.now);
    EXPECT_GT(then.remaining, 3) << name << " after " << first.count();
  }
}

TEST(HeldUnitsInRedis, AreWhatAStoreInMemoryHolds) {
  for (const QuotaSpec& spec :
       {QuotaSpec{Algorithm::kFixedWindow, 12, 1min},
        QuotaSpec{Algorithm::kSlidingWindow, 12, 1min}, QuotaSpec{Algorithm::kSlidingLog, 12, 1min},
        QuotaSpec{Algorithm::kTokenBucket, 12, 1min, 20}}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      Prng chance(seed);
      World world(spec);
      for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
        const std::string step = std::string(algorithm_name(spec.algorithm)) + ", seed " +
                                 std::to_string(seed) + ", step " + std::to_string(i);
        pass_time(world, 1ms * chance.below(6'000));
        switch (chance.below(3)) {
          case 0: reserve_somewhere(world, chance, step); break;
          case 1: commit_something(world, chance, step); break;
          default: ask_something(world, chance, step);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir
