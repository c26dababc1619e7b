// Nodes have slots on lease from one Redis. Each has a slow link and a clock of its own.

#include "store/redis/slots/leased_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
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

constexpr std::int64_t kLimit = 40;
constexpr Duration kLease = SlotShare::kLength;

struct LendingNode : SimulatedNode {
  static constexpr Duration kStep = 1ms;
  LendingNode(testing::SimulatedRedis& of, Duration clock_skew, std::uint64_t number)
      : SimulatedNode(of, clock_skew), core(number * LeasedSlots::kCoresMax) {}

  // One that stands still does nothing, and hears it all when it goes on.
  void run() {
    if (!is_stopped) SimulatedNode::run();
  }
  // Tokens that are good.
  std::int64_t held(const KeyHash& key) {
    return tokens.held(LeasedSlots::name_on(core, key), now()).units;
  }

  const std::uint64_t core;
  bool is_stopped = false;
  HoldingStore tokens{*own_counters};
  RedisHolds holds{options, sender, reactor};
  LeasedSlots slots{{.core = core, .deadline = options.deadline, .tokens = tokens, .redis = holds},
                    sender,
                    reactor};
};

struct Acquired {
  Acquired(LendingNode& of, const Charge& charge, Duration length)
      : node(of), order{.length = length, .is_slot = true}, asked({charge}, Operation::kSpendEach) {
    node.slots.reserve(asked.batch, order, node.now());
    node.run();
  }
  bool has_slot() const { return asked.is_answered() && order.outcome == Outcome::kHeld; }

  LendingNode& node;
  HoldOrder order;
  Asked asked;
};

struct Released {
  Released(LendingNode& node, const Charge& charge, const HoldOrder& slot)
      : order{.token = slot.token, .end = slot.end, .lender = slot.lender},
        asked({charge}, Operation::kReset) {
    node.slots.commit(asked.batch, order, node.now());
    node.run();
  }
  CommitOrder order;
  Asked asked;
};

class LeasedSlotsTest : public SimulatedFleet<LendingNode> {
 protected:
  // Redis has never lent anything before, so it waits for a lease.
  LeasedSlotsTest() {
    Acquired first(here_, {fresh_key(), &quota_, 1}, 1h);
    EXPECT_TRUE(first.asked.is_answered());
    EXPECT_EQ(first.order.outcome, Outcome::kDenied);
    EXPECT_EQ(first.asked.decisions[0].retry_after, kLease);
    let_pass(kLease);
  }
  bool acquire(LendingNode& node, Duration length = 1h) {
    slots_.push_back(std::make_unique<Acquired>(node, charge_, length));
    return slots_.back()->has_slot();
  }
  int acquire_many(LendingNode& node, int attempts) {
    int got = 0;
    for (int i = 0; i < attempts; ++i) got += acquire(node) ? 1 : 0;
    return got;
  }
  Commit release(LendingNode& node, const Acquired& slot) {
    Released released(node, charge_, slot.order);
    EXPECT_TRUE(released.asked.is_answered() && !released.asked.has_failed());
    return released.order.outcome;
  }
  // Time until the node has as many as the limit, or a second.
  Duration until_all_are_had_by(LendingNode& node) {
    const Instant start = redis_.now;
    while (node.held(key_) < kLimit && redis_.now - start < 1s) {
      while (node.held(key_) < kLimit && acquire(node)) continue;
      let_pass(5ms);
    }
    return redis_.now - start;
  }
  std::int64_t held() {
    std::int64_t sum = 0;
    for (const auto& node : nodes_) sum += node->held(key_);
    return sum;
  }
  // Another server is master from now on. What it has may be as old as this: without those keys.
  void fail_over() {
    EXPECT_FALSE(redis_.connection.call({"SET", "weir:slots", "abcdef 1"}).is_error());
  }
  void forget_all() { EXPECT_FALSE(redis_.connection.call({"FLUSHALL"}).is_error()); }

  const Quota quota_ = *slot_quota(kLimit);
  LendingNode& here_ = add_node(0ms, 1u);
  LendingNode& there_ = add_node(-3s, 2u);
  const KeyHash key_ = fresh_key();
  const Charge charge_{key_, &quota_, 1};
  std::vector<std::unique_ptr<Acquired>> slots_;
};

TEST_F(LeasedSlotsTest, StreamsOfABusyNodeCostFewCalls) {
  here_.link.calls = 0;
  EXPECT_EQ(acquire_many(here_, kLimit + 5), kLimit);
  EXPECT_LT(here_.link.calls, 15);
  here_.link.calls = 0;
  EXPECT_EQ(acquire_many(here_, 50), 0);
  EXPECT_LE(here_.link.calls, 1);
  here_.link.calls = 0;
  for (int i = 0; i < 2000; ++i) {
    auto& slot = slots_[static_cast<std::size_t>(i) % kLimit];
    ASSERT_EQ(release(here_, *slot), Commit::kCharged);
    slot = std::make_unique<Acquired>(here_, charge_, 1h);
    ASSERT_TRUE(slot->has_slot());
    EXPECT_EQ(slot->asked.decisions[0].limit, kLimit);
    let_pass(2ms);
  }
  EXPECT_LE(here_.link.calls, 6);  // renewals
}

TEST_F(LeasedSlotsTest, ManyKeysKeepTheirSlotsThoughRedisIsSlowWithEach) {
  constexpr std::size_t kKeys = 4000;
  for (std::size_t i = 0; i < kKeys; ++i) {
    slots_.push_back(std::make_unique<Acquired>(here_, Charge{fresh_key(), &quota_, 1}, 1h));
  }
  here_.link.work = 40us;  // for all of them 8 times as long as a check waits
  let_pass(3 * kLease);
  EXPECT_EQ(here_.sender.counts().failures, FailureCounts{});
  EXPECT_EQ(acquire_many(here_, 1), 0);
  let_pass(10ms);
  EXPECT_TRUE(slots_.back()->has_slot());
  for (const auto& slot : slots_) ASSERT_GT(here_.held(slot->asked.charges[0].key), 0);
}

TEST_F(LeasedSlotsTest, ThoseWhoComeWhileAnErrandIsOutWaitForIt) {
  here_.link.delay = 4ms;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(acquire(here_));
  let_pass(2ms);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(acquire(here_));
  let_pass(10ms);
  for (const auto& slot : slots_) EXPECT_TRUE(slot->has_slot());
}

// They would need two errands.
TEST_F(LeasedSlotsTest, NobodyWaitsPastItsDeadline) {
  here_.link.delay = 16ms;
  EXPECT_FALSE(acquire(here_));
  let_pass(1ms);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(acquire(here_));
  let_pass(here_.options.deadline - 1ms);
  EXPECT_TRUE(slots_.front()->has_slot());
  EXPECT_FALSE(slots_.back()->asked.is_answered());
  let_pass(1ms);
  EXPECT_TRUE(slots_.back()->asked.has_failed());
  let_pass(12ms);
  EXPECT_TRUE(acquire(here_));  // of what came too late for them
}

TEST_F(LeasedSlotsTest, WhatIsIdleComesToWhoeverNeedsIt) {
  EXPECT_EQ(acquire_many(here_, 30), 30);
  for (const auto& slot : slots_) release(here_, *slot);
  EXPECT_LT(until_all_are_had_by(there_), 200ms);
  EXPECT_EQ(here_.held(key_), 0);
}

TEST_F(LeasedSlotsTest, NodesThatWantMoreThanThereIsShareFairly) {
  EXPECT_EQ(acquire_many(here_, kLimit), kLimit);
  Prng chance(1);
  for (int i = 0; i < 400; ++i) {
    for (LendingNode* node : {&here_, &there_}) {
      acquire(*node);
      acquire(*node);
    }
    const auto any = static_cast<std::uint32_t>(slots_.size());
    for (int ends = 0; ends < 2; ++ends) {
      const Acquired& slot = *slots_[chance.below(any)];
      if (slot.has_slot()) release(slot.node, slot);
    }
    let_pass(5ms);
    ASSERT_LE(held(), kLimit);
  }
  EXPECT_GE(there_.held(key_), kLimit / 2 - 2);
  EXPECT_GE(here_.held(key_), kLimit / 2 - 2);
}

// Each gets the slot in its turn, and others do not keep it from being used.
TEST_F(LeasedSlotsTest, FewerSlotsThanNodesGoRound) {
  const Quota one = *slot_quota(1);
  std::array<int, 2> streams{};
  for (const Instant end = redis_.now + 6 * kLease; redis_.now < end; let_pass(20ms)) {
    for (LendingNode* const node : {&here_, &there_}) {
      Acquired slot(*node, Charge{key_, &one, 1}, 1h);
      if (!slot.has_slot()) continue;
      ++streams[node == &there_];
      ASSERT_EQ(held(), 1);
      EXPECT_EQ(release(*node, slot), Commit::kCharged);
    }
  }
  EXPECT_GT(std::min(streams[0], streams[1]), 100);
  EXPECT_GT(streams[0] + streams[1], 600);  // of some 900
}

TEST_F(LeasedSlotsTest, AnotherNodeReleasesThroughTheOneThatHasLent) {
  acquire(here_);
  const Acquired& slot = *slots_.front();
  EXPECT_EQ(release(there_, slot), Commit::kCharged);
  EXPECT_EQ(release(there_, slot), Commit::kUnknown);
  EXPECT_EQ(here_.held(key_), 1);
  let_pass(kLease / 3 + SlotShare::kTurn);
  EXPECT_EQ(here_.held(key_), 0);
  EXPECT_EQ(release(here_, slot), Commit::kUnknown);
}

TEST_F(LeasedSlotsTest, AnotherNodeReleasesMoreThanOneErrandTells) {
  acquire_many(here_, 21);
  for (const auto& slot : slots_) EXPECT_EQ(release(there_, *slot), Commit::kCharged);
  let_pass(kLease / 3 + SlotShare::kTurn);
  EXPECT_EQ(here_.held(key_), 0);
  acquire(here_);
  EXPECT_EQ(release(there_, *slots_.back()), Commit::kCharged);
  let_pass(kLease / 3 + SlotShare::kTurn);
  EXPECT_EQ(here_.held(key_), 0);
}

TEST_F(LeasedSlotsTest, NobodyReleasesASlotThatHasEnded) {
  acquire(here_, 100ms);
  acquire(here_);
  here_.is_stopped = true;
  let_pass(101ms);
  EXPECT_EQ(release(there_, *slots_[0]), Commit::kUnknown);
  let_pass(kLease);
  EXPECT_EQ(release(there_, *slots_[1]), Commit::kUnknown);
}

TEST_F(LeasedSlotsTest, SlotsOfANodeThatDiesComeBackWhenItsLeaseEnds) {
  EXPECT_EQ(acquire_many(here_, kLimit), kLimit);
  here_.is_stopped = true;  // for good
  const Instant died = redis_.now;
  while (here_.held(key_) > 0) {
    EXPECT_FALSE(acquire(there_));
    let_pass(5ms);
    ASSERT_LE(redis_.now - died, kLease);
  }
  EXPECT_LT(until_all_are_had_by(there_), 300ms);
}

TEST_F(LeasedSlotsTest, ANodeThatStoodStillGivesOutNothingUntilItHasAsked) {
  EXPECT_EQ(acquire_many(here_, kLimit), kLimit);
  here_.is_stopped = true;
  let_pass(kLease);
  EXPECT_LT(until_all_are_had_by(there_), 300ms);
  let_pass(2s);
  for (const auto& slot : slots_) {
    if (&slot->node == &here_) {
      EXPECT_EQ(release(here_, *slot), Commit::kUnknown);
    }
  }
  here_.link.cut(here_.now());
  here_.is_stopped = false;
  Acquired late(here_, charge_, 1h);
  EXPECT_TRUE(late.asked.has_failed());
  here_.link.restore();
  let_pass(1s);
  EXPECT_FALSE(acquire(here_));
  EXPECT_EQ(held(), kLimit);
}

TEST_F(LeasedSlotsTest, ANodeWithoutRedisLivesOnWhatItHas) {
  EXPECT_EQ(acquire_many(here_, 8), 8);
  here_.link.cut(here_.now());
  for (int i = 0; i < 29; ++i) {
    let_pass(100ms);
    const auto slot = std::move(slots_.front());
    slots_.erase(slots_.begin());
    ASSERT_EQ(release(here_, *slot), Commit::kCharged) << i;
    ASSERT_TRUE(acquire(here_)) << i;
  }
  let_pass(100ms);
  EXPECT_EQ(here_.held(key_), 0);
  EXPECT_FALSE(acquire(here_));
  EXPECT_TRUE(slots_.back()->asked.has_failed());
}

TEST_F(LeasedSlotsTest, AFailoverGrantsNothingForALeaseWhileNodesSayWhatTheyHave) {
  for (const bool has_forgotten : {false, true}) {
    slots_.clear();
    EXPECT_EQ(acquire_many(here_, 10), 10);
    EXPECT_EQ(acquire_many(there_, 20), 20);
    has_forgotten ? forget_all() : fail_over();
    const Instant then = redis_.now;
    EXPECT_EQ(acquire_many(here_, 30) + 10, here_.held(key_));
    EXPECT_LE(here_.held(key_), 20);  // what it had ahead of need
    while (redis_.now - then < kLease) {
      acquire(there_);
      let_pass(20ms);
      ASSERT_LE(held(), kLimit);
    }
    const auto good =
        std::ranges::count_if(slots_, [](const auto& slot) { return slot->has_slot(); });
    EXPECT_EQ(held(), good);  // none is lost
    let_pass(kLease);
    acquire_many(there_, 40);
    EXPECT_EQ(held(), kLimit);
    for (const auto& slot : slots_) {
      if (slot->has_slot()) {
        EXPECT_EQ(release(slot->node, *slot), Commit::kCharged);
      }
    }
    let_pass(1s);
  }
}

TEST_F(LeasedSlotsTest, ALookSaysWhatNodesHave) {
  acquire_many(here_, 3);
  let_pass(kLease);
  std::array<HoldingStore::Held, 1> all;
  Asked look({charge_}, Operation::kLook);
  there_.slots.look(look.batch, all, there_.now());
  let_pass(10ms);
  ASSERT_TRUE(look.is_answered() && !look.has_failed());
  EXPECT_EQ(all[0].units, 3);
  EXPECT_LE(all[0].lapses_after, kLease);
  EXPECT_EQ(look.decisions[0].remaining, kLimit - 3);
  EXPECT_TRUE(look.decisions[0].allowed());
}

TEST_F(LeasedSlotsTest, ALowerLimitDeniesUntilEnoughHaveEnded) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(acquire(here_));
    ASSERT_TRUE(acquire(there_));
  }
  const Quota lower = *slot_quota(2);
  const auto may_acquire = [&](LendingNode& node) {
    slots_.push_back(std::make_unique<Acquired>(node, Charge{key_, &lower, 1}, 1h));
    return slots_.back()->has_slot();
  };
  for (std::size_t i = 0; i < 8; ++i) release(i % 2 == 0 ? here_ : there_, *slots_[i]);
  for (int wait = 0; wait < 10; ++wait) {
    EXPECT_FALSE(may_acquire(here_));
    EXPECT_FALSE(may_acquire(there_));
    let_pass(500ms);
  }
  EXPECT_EQ(held(), 2);
}

TEST_F(LeasedSlotsTest, NoSlotsAreNeverLent) {
  const Quota none = *slot_quota(0);
  Acquired slot(here_, {key_, &none, 1}, 1h);
  EXPECT_TRUE(slot.asked.is_answered());
  EXPECT_EQ(slot.asked.decisions[0].verdict, Verdict::kNever);
}

// At no time are more tokens good than the limit says, whatever becomes of nodes, links and Redis.
TEST_F(LeasedSlotsTest, NeverMoreThanTheLimit) {
  for (std::uint64_t number = 3; number <= 5; ++number) {
    add_node(1s * static_cast<int>(number), number);
  }
  std::int64_t most = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const bool forgets = seed % 2 == 0;  // and with it who has released at another node
    Prng chance(seed);
    const auto any_node = [&]() -> LendingNode& {
      return *nodes_[chance.below(static_cast<std::uint32_t>(nodes_.size()))];
    };
    for (int i = 0; i < 4000; ++i) {
      const std::uint32_t event = chance.below(1000);
      LendingNode& node = any_node();
      if (event < 500 && !node.is_stopped) {
        acquire(node, chance.below(10) == 0 ? 1ms * (1 + chance.below(2000)) : Duration(30s));
      } else if (event < 900 && !slots_.empty() && !node.is_stopped) {
        auto& slot = slots_[chance.below(static_cast<std::uint32_t>(slots_.size()))];
        if (slot->has_slot()) {
          LendingNode& by = chance.below(4) > 0 && !slot->node.is_stopped ? slot->node : node;
          Released released(by, charge_, slot->order);
          let_pass(by.link.delay);
          let_pass(25ms * (released.asked.is_answered() ? 0 : 1));
          if (released.asked.has_failed()) continue;
          std::swap(slot, slots_.back());
          slots_.pop_back();
        }
      } else if (event < 902) {
        node.is_stopped = true;
      } else if (event < 904) {
        node.link.cut(node.now());
      } else if (event < 908) {  // often after its lease has ended
        node.link.restore();
        node.is_stopped = false;
      } else if (event < 980) {
        node.link.delay = 1ms * chance.below(chance.below(3) == 0 ? 60 : 8);
      } else if (event < 983) {
        forgets ? forget_all() : fail_over();
      }
      let_pass(1ms * chance.below(6));
      most = std::max(most, held());
      ASSERT_LE(held(), kLimit) << "seed " << seed << ", step " << i;
    }
    for (const auto& node : nodes_) {
      node->is_stopped = false;
      node->link.restore();
      node->link.delay = 0ms;
    }
    let_pass(kLease);
    for (const auto& slot : slots_) {
      if (slot->has_slot()) Released(slot->node, charge_, slot->order);
    }
    let_pass(kLease);
    if (!forgets) {
      EXPECT_EQ(held(), 0) << "seed " << seed;
    }
    let_pass(30s);
    EXPECT_EQ(held(), 0) << "seed " << seed;
    slots_.clear();
  }
  EXPECT_EQ(most, kLimit);
}

}  // namespace
}  // namespace weir
