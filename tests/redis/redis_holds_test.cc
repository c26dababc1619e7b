// Two nodes hold units in one Redis. Each has a slow link and a clock of its own.

#include "store/redis/strict/redis_holds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"
#include "redis/simulated_node.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::Asked;
using testing::SimulatedFleet;
using testing::SimulatedNode;
using Commit = HoldingStore::Commit;
using Outcome = HoldOrder::Outcome;

constexpr std::int64_t kLimit = 100;

struct HoldingNode : SimulatedNode {
  static constexpr Duration kStep = 1ms;
  HoldingNode(testing::SimulatedRedis& of, Duration clock_skew) : SimulatedNode(of, clock_skew) {
    mode = &holds.store();
  }
  RedisHolds holds{options, sender, reactor};
};

// A reservation, and what became of it.
struct Reserved {
  Reserved(HoldingNode& node, const Charge& charge, const HoldOrder& wanted)
      : order(wanted), asked({charge}, Operation::kSpendAll) {
    node.holds.reserve(asked.batch, order, node.now());
  }
  HoldOrder order;
  Asked asked;
};

struct Committed {
  Committed(HoldingNode& node, const Charge& charge, const CommitOrder& wanted)
      : order(wanted), asked({charge}, Operation::kReset) {
    node.holds.commit(asked.batch, order, node.now());
  }
  CommitOrder order;
  Asked asked;
};

class RedisHoldsTest : public SimulatedFleet<HoldingNode> {
 protected:
  HoldOrder order_of(std::int64_t cost, Duration length) {
    return {.token = {++tokens_, tokens_ * 0x9e37'79b9'7f4a'7c15},
            .length = length,
            .holds_max = 50,
            .due = cost};
  }
  // Of a window that does not end while a test runs.
  const Quota quota_ = *Quota::make({Algorithm::kFixedWindow, kLimit, 24h});
  const KeyHash key_ = fresh_key();
  HoldingNode& here_ = add_node(0ms);
  HoldingNode& there_ = add_node(-3s);
  std::uint64_t tokens_ = 0;
};

TEST_F(RedisHoldsTest, AnotherNodeCommits) {
  Reserved reserved(here_, {key_, &quota_, 60}, order_of(60, 30s));
  let_pass(10ms);
  ASSERT_TRUE(reserved.asked.is_allowed());
  ASSERT_EQ(reserved.order.outcome, Outcome::kHeld);
  EXPECT_EQ(there_.decide(Operation::kSpendEach, {key_, &quota_, 41}).verdict, Verdict::kDenied);
  const CommitOrder order{reserved.order.token, reserved.order.end, 10};
  Committed first(there_, {key_, &quota_, 1}, order);
  let_pass(10ms);
  Committed again(here_, {key_, &quota_, 1}, order);
  let_pass(10ms);
  EXPECT_EQ(first.order.outcome, Commit::kCharged);
  EXPECT_EQ(again.order.outcome, Commit::kUnknown);
  EXPECT_EQ(here_.decide(Operation::kSpendEach, {key_, &quota_, 90}).remaining, 0);
}

TEST_F(RedisHoldsTest, ALookSaysWhatIsHeldOfEachKey) {
  const Charge one{key_, &quota_, 40};
  Reserved first(here_, one, order_of(40, 30s));
  let_pass(10ms);
  HoldOrder order = order_of(20, 50s);
  Reserved second(here_, {key_, &quota_, 20}, order);
  let_pass(10ms);
  std::array<HoldingStore::Held, 2> held;
  Asked look({{key_, &quota_, 0}, {fresh_key(), &quota_, 0}}, Operation::kLook);
  there_.holds.look(look.batch, held, there_.now());
  let_pass(10ms);
  ASSERT_TRUE(look.is_answered());
  EXPECT_EQ(held[0].units, 60);
  EXPECT_EQ(held[0].holds, 2u);
  EXPECT_GT(held[0].lapses_after, 29s);
  EXPECT_LE(held[0].lapses_after, 30s);
  EXPECT_EQ(held[1].holds, 0u);
  EXPECT_EQ(look.decisions[0].remaining, 40);

  order.token = order_of(1, 1s).token;
  order.holds_max = 2;
  Reserved third(there_, {key_, &quota_, 1}, order);
  let_pass(10ms);
  EXPECT_EQ(third.order.outcome, Outcome::kTooMany);
  EXPECT_GT(third.order.wait, 29s);
  EXPECT_LE(third.order.wait, 30s);
}

TEST_F(RedisHoldsTest, ADenialEndsWithACommitAtAnotherNode) {
  Reserved reserved(here_, {key_, &quota_, kLimit}, order_of(kLimit, 30s));
  let_pass(10ms);
  EXPECT_FALSE(there_.decide(Operation::kSpendEach, {key_, &quota_, 1}).allowed());
  Committed committed(here_, {key_, &quota_, 1}, {reserved.order.token, reserved.order.end, 10});
  let_pass(10ms);
  EXPECT_TRUE(there_.decide(Operation::kSpendEach, {key_, &quota_, 1}).allowed());
}

TEST_F(RedisHoldsTest, ALimitOfNoneIsHeldInShadow) {
  for (const Algorithm algorithm : {Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
    const Quota none = *Quota::make({algorithm, 0, 1min});
    const KeyHash key = fresh_key();
    HoldOrder order = order_of(5, 30s);
    order.is_always = true;
    Reserved reserved(here_, {key, &none, 5}, order);
    let_pass(10ms);
    EXPECT_EQ(reserved.order.outcome, Outcome::kHeld);
    const Decision look = there_.decide(Operation::kLook, {key, &none, 0});
    EXPECT_EQ(look.remaining, 0);
    EXPECT_GT(look.reset_after, 29s);
    EXPECT_LE(look.reset_after, algorithm == Algorithm::kTokenBucket ? 30s : 90s);
  }
}

TEST_F(RedisHoldsTest, FailWhileRedisIsAway) {
  Reserved reserved(here_, {key_, &quota_, 60}, order_of(60, 30s));
  let_pass(10ms);
  here_.link.cut(here_.now());
  const CommitOrder order{reserved.order.token, reserved.order.end, 10};
  Reserved cut(here_, {key_, &quota_, 1}, order_of(1, 30s));
  Committed late(here_, {key_, &quota_, 1}, order);
  let_pass(10ms);
  EXPECT_TRUE(cut.asked.has_failed());
  EXPECT_TRUE(late.asked.has_failed());
  Committed committed(there_, {key_, &quota_, 1}, order);
  let_pass(10ms);
  EXPECT_EQ(committed.order.outcome, Commit::kCharged);
}

TEST_F(RedisHoldsTest, WhatNobodyWasToldIsGivenBack) {
  there_.decide(Operation::kLook, {key_, &quota_, 0});  // Redis knows the script from then on
  here_.link.delay = 200ms;
  auto reserved = std::make_unique<Reserved>(here_, Charge{key_, &quota_, 60}, order_of(60, 30s));
  let_pass(100ms);
  EXPECT_TRUE(reserved->asked.has_failed());
  reserved.reset();
  let_pass(1s);
  Reserved other(there_, {key_, &quota_, 7}, order_of(7, 30s));
  let_pass(2s);
  EXPECT_EQ(there_.decide(Operation::kLook, {key_, &quota_, 0}).remaining, kLimit - 7);
  EXPECT_EQ(other.order.outcome, Outcome::kHeld);
}

// A hold that Redis makes before it stops, so that the node cannot tell it for a while.
TEST_F(RedisHoldsTest, WhatNobodyWasToldIsGivenBackOnceRedisIsThere) {
  there_.decide(Operation::kLook, {key_, &quota_, 0});
  here_.link.delay = 200ms;
  Reserved reserved(here_, {key_, &quota_, 60}, order_of(60, 24h));
  let_pass(110ms);
  ASSERT_TRUE(reserved.asked.has_failed());
  here_.link.cut(here_.now());
  let_pass(3s);
  const auto left = [&] { return there_.decide(Operation::kLook, {key_, &quota_, 0}).remaining; };
  ASSERT_EQ(left(), kLimit - 60);
  here_.link.delay = {};
  here_.link.restore();
  let_pass(3s);
  EXPECT_EQ(left(), kLimit);
}

// A slot of a request that has ended, so nobody will ask for its release again.
struct RedisHoldsReleaseTest : RedisHoldsTest {
  CommitOrder acquire(HoldingNode& node, Duration length) {
    Reserved reserved(node, {key_, &quota_, 1}, order_of(0, length));
    let_pass(10ms);
    EXPECT_EQ(reserved.order.outcome, Outcome::kHeld);
    return {reserved.order.token, reserved.order.end};
  }
  std::int64_t held() {
    return kLimit - there_.decide(Operation::kLook, {key_, &quota_, 0}).remaining;
  }
  bool fails(HoldingNode& node, const CommitOrder& order) {
    auto release = std::make_unique<Committed>(node, Charge{key_, &quota_, 1}, order);
    let_pass(100ms);
    return release->asked.has_failed();
  }
};

TEST_F(RedisHoldsReleaseTest, IsAskedAgainOnceRedisIsThere) {
  const CommitOrder first = acquire(here_, 1h);
  const CommitOrder second = acquire(here_, 1h);
  here_.link.delay = 200ms;
  Committed late(here_, {key_, &quota_, 1}, first);  // leaves, and is lost on its way
  let_pass(50ms);
  EXPECT_TRUE(late.asked.has_failed());
  here_.link.cut(here_.now());
  EXPECT_TRUE(fails(here_, second));  // does not leave
  let_pass(10min);
  EXPECT_EQ(held(), 2);
  EXPECT_FALSE(here_.holds.has_ended_all());
  here_.link.delay = {};
  here_.link.restore();
  let_pass(LostHolds::kRetryMax + 100ms);
  EXPECT_EQ(held(), 0);
  EXPECT_TRUE(here_.holds.has_ended_all());
}

TEST_F(RedisHoldsReleaseTest, IsOwedWhileItIsOnItsWay) {
  const CommitOrder slot = acquire(here_, 1h);
  here_.link.delay = 5ms;
  Committed release(here_, {key_, &quota_, 1}, slot);
  EXPECT_FALSE(here_.holds.has_ended_all());
  let_pass(10ms);
  EXPECT_FALSE(release.asked.has_failed());
  EXPECT_TRUE(here_.holds.has_ended_all());
}

// By Redis's clock, however far ahead the node's is.
TEST_F(RedisHoldsReleaseTest, IsAskedAgainUntilTheSlotHasEnded) {
  HoldingNode& ahead = add_node(1min);
  for (const bool is_back_in_time : {true, false}) {
    const CommitOrder slot = acquire(ahead, 10s);
    ahead.link.cut(ahead.now());
    EXPECT_TRUE(fails(ahead, slot));
    let_pass(is_back_in_time ? 5s : 12s);
    EXPECT_EQ(held(), is_back_in_time ? 1 : 0);
    const int calls = ahead.link.calls;
    ahead.link.restore();
    let_pass(1s);
    EXPECT_EQ(held(), 0);
    EXPECT_EQ(ahead.link.calls, is_back_in_time ? calls + 1 : calls);
    EXPECT_TRUE(ahead.holds.has_ended_all());
  }
}

// A node remembers so many, and later ones end by themselves.
TEST_F(RedisHoldsReleaseTest, AreBoundedInNumber) {
  CommitOrder order = acquire(here_, 1h);
  here_.link.cut(here_.now());
  for (std::size_t i = 0; i < LostHolds::kWaitingMax + 1; ++i) {
    order.token.low += 1;
    Committed release(here_, {key_, &quota_, 1}, order);
    ASSERT_TRUE(release.asked.has_failed());
  }
  const int calls = here_.link.calls;
  here_.link.restore();
  let_pass(1s);
  EXPECT_EQ(here_.link.calls, calls + static_cast<int>(LostHolds::kWaitingMax));
}

// A caller who was told that a commit failed may say it again: it must charge once.
TEST_F(RedisHoldsReleaseTest, ACommitThatChargesIsNotAskedAgain) {
  CommitOrder order = acquire(here_, 1h);
  order.cost = 5;
  here_.link.cut(here_.now());
  EXPECT_TRUE(fails(here_, order));
  EXPECT_TRUE(here_.holds.has_ended_all());
  here_.link.restore();
  let_pass(1s);
  EXPECT_EQ(held(), 1);
  Committed again(here_, {key_, &quota_, 1}, order);
  let_pass(10ms);
  EXPECT_EQ(again.order.outcome, Commit::kCharged);
  EXPECT_EQ(held(), 5);
}

// Redis cannot read what another key holds.
TEST_F(RedisHoldsReleaseTest, OneThatFailsHoldsUpNoOther) {
  const KeyHash other = fresh_key();
  Reserved reserved(here_, {other, &quota_, 1}, order_of(0, 1h));
  let_pass(10ms);
  std::string name;
  for (const resp::Reply& only : redis_.connection.call({"KEYS", "*:holds"})) name = only.text();
  redis_.connection.call({"SET", name, "no holds"});
  const CommitOrder slot = acquire(here_, 1h);
  here_.link.cut(here_.now());
  Committed first(here_, {other, &quota_, 1}, {reserved.order.token, reserved.order.end});
  EXPECT_TRUE(fails(here_, slot));
  here_.link.restore();
  let_pass(1s);
  EXPECT_EQ(held(), 0);
  EXPECT_FALSE(here_.holds.has_ended_all());
}

// What nodes have asked of one key.
struct AskedOfAKey {
  std::vector<std::unique_ptr<Reserved>> reserved;
  std::vector<std::unique_ptr<Committed>> commits;
  std::vector<std::unique_ptr<Asked>> hits;

  // What is done, and what is held for certain.
  std::int64_t used_at_least() const {
    std::int64_t used = used_by_hits();
    std::vector<HoldToken> over;
    for (const auto& commit : commits) {
      const bool is_answered = commit->asked.is_answered();
      if (is_answered && commit->order.outcome != Commit::kCharged) continue;
      if (is_answered) used += commit->order.cost;
      over.push_back(commit->order.token);  // if it is not answered, perhaps
    }
    for (const auto& one : reserved) {
      const bool is_held = one->asked.is_allowed() && one->order.outcome == Outcome::kHeld;
      if (is_held && !std::ranges::count(over, one->order.token)) used += one->order.due;
    }
    return used;
  }

  // After all holds have ended.
  std::int64_t used_in_the_end() const {
    std::int64_t used = used_by_hits();
    std::vector<HoldToken> committed;
    for (const auto& hit : hits) EXPECT_FALSE(hit->has_failed());
    for (const auto& commit : commits) {
      EXPECT_FALSE(commit->asked.has_failed());
      if (commit->order.outcome != Commit::kCharged) continue;
      EXPECT_FALSE(std::ranges::count(committed, commit->order.token)) << "committed twice";
      committed.push_back(commit->order.token);
      used += commit->order.cost;
    }
    for (const auto& one : reserved) {
      const bool lapsed =
          one->order.outcome == Outcome::kHeld && !std::ranges::count(committed, one->order.token);
      used += lapsed ? one->order.due : 0;
    }
    return used;
  }

 private:
  std::int64_t used_by_hits() const {
    std::int64_t used = 0;
    for (const auto& hit : hits) used += hit->is_allowed() ? hit->charges[0].cost : 0;
    return used;
  }
};

// Hits, holds and charges of all nodes are within the limit at any time, and all that was held is
// charged or given back in the end.
TEST_F(RedisHoldsTest, NeverHoldMoreThanTheLimitAndLoseNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Prng chance(seed);
    const Charge charge{fresh_key(), &quota_, 1};
    here_.link.delay = 1ms * chance.below(12);
    there_.link.delay = 1ms * chance.below(12);
    AskedOfAKey all;
    auto& [reserved, commits, hits] = all;
    const auto node = [&]() -> HoldingNode& { return chance.below(2) == 0 ? here_ : there_; };
    for (int i = 0; i < 300; ++i) {
      Charge costing = charge;
      costing.cost = 1 + chance.below(9);
      switch (chance.below(5)) {
        case 0: {
          HoldingNode& asked = node();
          hits.push_back(std::make_unique<Asked>(std::vector{costing}));
          asked.mode->decide(hits.back()->batch, asked.now());
          break;
        }
        case 1:
        case 2:
          reserved.push_back(std::make_unique<Reserved>(
              node(), costing, order_of(costing.cost, 10ms + 1ms * chance.below(400))));
          break;
        default: {
          if (reserved.empty()) break;
          // Some are committed twice, or after their end.
          const Reserved& one =
              *reserved[chance.below(static_cast<std::uint32_t>(reserved.size()))];
          if (one.order.outcome != Outcome::kHeld) break;
          commits.push_back(std::make_unique<Committed>(
              node(), charge,
              CommitOrder{one.order.token, one.order.end,
                          chance.below(static_cast<std::uint32_t>(one.order.due) + 1)}));
        }
      }
      let_pass(1ms * chance.below(10));
      ASSERT_LE(all.used_at_least(), kLimit) << "seed " << seed << ", step " << i;
    }
    let_pass(600ms);
    here_.link.delay = 0ms;
    EXPECT_EQ(here_.decide(Operation::kLook, {charge.key, &quota_, 0}).remaining,
              kLimit - all.used_in_the_end());
  }
}

}  // namespace
}  // namespace weir
