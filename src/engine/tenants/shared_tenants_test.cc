// Nodes agree on one table, whatever Redis loses.

#include "engine/tenants/shared_tenants.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "engine/tenants/shared_tenants_testing.h"

namespace weir {
namespace {

using namespace testing;

TEST_F(SharedTenantsTest, AChangeOfOneNodeHoldsOnTheOther) {
  EXPECT_EQ(one_.put(both_, "ann", 1, 5), Outcome::kTaken);
  settle(both_);
  EXPECT_EQ(two_.limit("ann0"), 5);
  EXPECT_EQ(two_.put(both_, "bob", 300, 7), Outcome::kTaken);
  settle(both_);
  EXPECT_EQ(one_.limit("bob299"), 7);
  EXPECT_EQ(one_.limit("ann0"), 5);
  EXPECT_TRUE(one_.shared.is_told());
  EXPECT_GE(one_.told, 1);
}

// Pages that were read before have rows that are gone since.
TEST_F(SharedTenantsTest, OfTwoChangesAtOnceOneCounts) {
  settle(both_);
  auto first = std::async(std::launch::async, [&] { return one_.put("a", 1, 1); });
  auto second = std::async(std::launch::async, [&] { return two_.put("b", 1, 2); });
  const auto waits = [](auto& outcome) {
    return outcome.wait_for(1us) != std::future_status::ready;
  };
  while (waits(first) || waits(second)) {
    for (Node* const node : both_) {
      // Both offer before Redis hears of either.
      node->shared.hear(redis_.answer(node->shared.say(), node), Instant{});
    }
  }
  const auto outcomes = std::pair(first.get(), second.get());
  const bool both_came = outcomes == std::pair(Outcome::kTaken, Outcome::kTaken);
  EXPECT_FALSE(both_came) << "each was made on an empty table";
  EXPECT_TRUE(outcomes.first == Outcome::kTaken || outcomes.second == Outcome::kTaken);
  settle(both_);
  EXPECT_EQ(one_.table().size(), 1u);
}

// Both make the same head: of two callers that compare and set, one is too late.
TEST_F(SharedTenantsTest, OfTwoEqualChangesAtOnceOneCounts) {
  settle(both_);
  EXPECT_EQ(one_.begin("a", 1), std::nullopt);
  EXPECT_EQ(two_.begin("a", 1), std::nullopt);
  for (int i = 0; i < 3; ++i) {
    for (Node* const node : both_) {
      node->shared.hear(redis_.answer(node->shared.say(), node), Instant{});
    }
  }
  EXPECT_EQ(one_.shared.outcome(SharedTenants::Patience::kGoesOn), Outcome::kTaken);
  EXPECT_EQ(two_.shared.outcome(SharedTenants::Patience::kGoesOn), Outcome::kOutdated);
  EXPECT_FALSE(one_.shared.has_more());
  EXPECT_TRUE(two_.shared.has_more()) << "it offers again at once, or others overtake it for ever";
  for (int i = 0; i < SharedTenants::kHurriedMax; ++i) two_.beat();
  EXPECT_FALSE(two_.shared.has_more());
}

TEST_F(SharedTenantsTest, AChangeWhoseAnswerWasLostWasMade) {
  settle(both_);
  EXPECT_EQ(one_.begin("a", 1), std::nullopt);
  redis_.answer(one_.shared.say(), &one_);
  one_.shared.fail();
  one_.shared.hear(redis_.answer(one_.shared.say(), &one_), Instant{});
  EXPECT_EQ(one_.shared.outcome(SharedTenants::Patience::kGoesOn), Outcome::kTaken);
}

TEST_F(SharedTenantsTest, ARedisThatHasLostItGetsItAgain) {
  ASSERT_EQ(one_.put(both_, "k", 2000, 3), Outcome::kTaken);
  settle(both_);
  redis_ = ModelRedis();
  settle(both_);
  EXPECT_EQ(redis_.rows.size(), std::min<std::size_t>(redis_.rows.size(), 2000));
  EXPECT_EQ(redis_.head.number, 1u);
  Node third(redis_, 3);
  settle({&one_, &two_, &third});
  EXPECT_EQ(third.limit("k1999"), 3);
}

TEST_F(SharedTenantsTest, WithoutRedisItHoldsHereAndIsToldLater) {
  settle(both_);
  EXPECT_EQ(one_.put("ann", 1, 5, 0s), Outcome::kAway);
  EXPECT_EQ(one_.limit("ann0"), 5);
  EXPECT_FALSE(one_.shared.is_told());
  settle(both_);
  EXPECT_EQ(two_.limit("ann0"), 5);
  // Both have changed the table alone: the first change to reach Redis counts.
  EXPECT_EQ(one_.put("bob", 1, 6, 0s), Outcome::kAway);
  EXPECT_EQ(two_.put("bob", 1, 7, 0s), Outcome::kAway);
  settle(both_);
  EXPECT_EQ(one_.limit("bob0"), two_.limit("bob0"));
}

TEST_F(SharedTenantsTest, WhatWasChangedAloneGivesWayToWhatOthersHaveChanged) {
  ASSERT_EQ(one_.put(both_, "ann", 1, 5), Outcome::kTaken);
  settle(both_);
  const SharedHead before = redis_.head;
  for (int round = 0; round < 4; ++round) EXPECT_EQ(one_.put("bob", 1, 6, 0s), Outcome::kAway);
  EXPECT_EQ(one_.shared.since(), before);
  ASSERT_EQ(two_.put({&two_}, "ann", 1, 7), Outcome::kTaken);
  EXPECT_LT(redis_.head.number, one_.shared.known().number);
  const SharedTenants::Version kept{one_.shared.known(),
                                    std::make_shared<const TenantTable>(one_.table()), before};
  settle(both_);
  EXPECT_EQ(one_.shared.since(), std::nullopt);
  Node again(redis_, 3, kept);
  settle({&again, &two_});
  for (const Node* node : {&one_, &two_, &again}) {
    EXPECT_EQ(node->limit("ann0"), 7);
    EXPECT_EQ(node->limit("bob0"), -1);
  }
}

TEST_F(SharedTenantsTest, WhatWasChangedAloneIsToldToARedisThatHasGoneBack) {
  ASSERT_EQ(one_.put(both_, "ann", 1, 5), Outcome::kTaken);
  settle(both_);
  const ModelRedis earlier = redis_;
  ASSERT_EQ(one_.put(both_, "ann", 1, 6), Outcome::kTaken);
  settle(both_);
  EXPECT_EQ(one_.put("bob", 1, 7, 0s), Outcome::kAway);
  redis_ = earlier;
  settle(both_);
  EXPECT_EQ(two_.limit("bob0"), 7);
  EXPECT_EQ(two_.limit("ann0"), 6);
  EXPECT_EQ(one_.shared.since(), std::nullopt);
}

TEST_F(SharedTenantsTest, RowsThatWereEvictedArePutBack) {
  ASSERT_EQ(one_.put(both_, "k", 3000, 2), Outcome::kTaken);
  settle(both_);
  redis_.rows.clear();
  Node third(redis_, 3);
  for (int i = 0; i < 3; ++i) third.beat();
  EXPECT_FALSE(third.shared.has_more()) << "it asks again and again for what is not there";
  EXPECT_EQ(third.followed, 0);
  settle({&one_, &two_, &third});
  EXPECT_EQ(third.limit("k2999"), 2);
  EXPECT_FALSE(redis_.is_torn());
  redis_.rows.clear();
  EXPECT_EQ(two_.put(both_, "ann", 1, 5), Outcome::kTaken);
  settle({&one_, &two_, &third});
  EXPECT_EQ(third.table().size(), 3001u);
}

// Every node that had the table is gone.
TEST_F(SharedTenantsTest, AWholeTableTakesThePlaceOfRowsThatNobodyHas) {
  ASSERT_EQ(one_.put({&one_}, "k", 3000, 2), Outcome::kTaken);
  redis_.rows.clear();
  two_.beat();
  EXPECT_EQ(two_.put("ann", 1, 5), Outcome::kOutdated) << "a node may have it yet";
  for (int i = 0; i < SharedTenants::kTornMax; ++i) two_.beat();
  EXPECT_EQ(two_.put({&two_}, "ann", 1, 5), Outcome::kUnreadable) << "rows would be lost unseen";
  two_.replaces_all = true;
  EXPECT_EQ(two_.put({&two_}, "ann", 1, 5), Outcome::kTaken);
  settle(both_);
  EXPECT_EQ(one_.limit("ann0"), 5);
  EXPECT_EQ(one_.table().size(), 1u);
}

TEST_F(SharedTenantsTest, RowsThatComeBackLateAreRead) {
  ASSERT_EQ(one_.put({&one_}, "k", 3000, 2), Outcome::kTaken);
  redis_.rows.clear();
  for (int i = 0; i < 2 * SharedTenants::kTornMax; ++i) two_.beat();
  settle(both_);
  EXPECT_EQ(two_.limit("k2999"), 2);
}

TEST_F(SharedTenantsTest, ATableWithoutRowsIsNotTorn) {
  settle(both_);
  EXPECT_EQ(one_.put(both_, "ann", 1, TenantTable::kGone), Outcome::kTaken);
  EXPECT_FALSE(redis_.is_torn()) << "the first change has changed nothing";
  EXPECT_EQ(one_.put("ann", 1, 5, 0s), Outcome::kAway);
  EXPECT_EQ(one_.put("ann", 1, TenantTable::kGone, 0s), Outcome::kAway);
  settle(both_);
  EXPECT_EQ(redis_.head.number, 3u);
  EXPECT_FALSE(redis_.is_torn());
}

TEST_F(SharedTenantsTest, WhoIsBehindWaitsForTheNews) {
  settle(both_);
  ASSERT_EQ(one_.put({&one_}, "k", 3000, 2), Outcome::kTaken);
  two_.shared.hear(redis_.answer(two_.shared.say(), &two_), Instant{});
  EXPECT_FALSE(two_.shared.await_news(0s));
  auto waits = std::async(std::launch::async, [&] { return two_.shared.await_news(10s); });
  for (int i = 0; i < 10; ++i) {
    two_.shared.hear(redis_.answer(two_.shared.say(), &two_), Instant{});
  }
  EXPECT_TRUE(waits.get());
  two_.follow();
  EXPECT_EQ(two_.table().size(), 3000u);
}

// Regression: it was not woken while nobody changed the table.
TEST_F(SharedTenantsTest, ThatThereAreNoNewsIsAWord) {
  one_.shared.say();
  one_.shared.hear_no_news();
  EXPECT_FALSE(one_.shared.await_word(0s)) << "Redis has never said what it has";
  settle(both_);
  auto word = std::async(std::launch::async, [&] { return one_.shared.await_word(30s); });
  while (word.wait_for(1us) != std::future_status::ready) {
    one_.shared.say();
    one_.shared.hear_no_news();
  }
  EXPECT_TRUE(word.get());
}

// A step needs an answer of its own: "no news" does not say whether Redis did it.
TEST_F(SharedTenantsTest, NoNewsAreNoAnswerToAStep) {
  settle(both_);
  EXPECT_EQ(one_.put("ann", 1, 5, 0s), Outcome::kAway);
  EXPECT_TRUE(one_.shared.say().step);
  one_.shared.hear_no_news();
  EXPECT_FALSE(one_.shared.is_told());
  EXPECT_TRUE(one_.shared.await_word(0s)) << "it has failed";
}

TEST_F(SharedTenantsTest, WhatWasKeptOverARestartCountsWhereRedisHasNothingNewer) {
  ASSERT_EQ(one_.put(both_, "ann", 1, 5), Outcome::kTaken);
  settle(both_);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(one_.put(both_, "ann", 1, 6), Outcome::kTaken);
  }
  const auto kept = SharedTenants::Version{one_.shared.known(),
                                           std::make_shared<const TenantTable>(one_.table())};
  const ModelRedis full = redis_;
  redis_ = ModelRedis();
  Node again(redis_, 4, kept);
  settle({&again});
  EXPECT_EQ(redis_.head, kept.head) << "it had nothing";
  redis_ = full;
  redis_.head.number = 2;
  settle({&again});
  EXPECT_EQ(redis_.head, kept.head) << "it had an earlier version";
  redis_ = ModelRedis();
  Node stranger(redis_, 5);
  ASSERT_EQ(stranger.put({&stranger}, "x", 1, 9), Outcome::kTaken);
  Node late(redis_, 6, kept);
  settle({&late, &stranger});
  EXPECT_EQ(late.limit("x0"), 9) << "another table is in force";
  EXPECT_EQ(late.limit("ann0"), -1);
}

TEST_F(SharedTenantsTest, WhatIsNoTableIsReadTwiceAndLeftAlone) {
  ASSERT_EQ(one_.put({&one_}, "ann", 1, 5), Outcome::kTaken);
  redis_.rows.begin()->second.bytes += "x";
  for (int i = 0; i < 100; ++i) two_.beat();
  EXPECT_EQ(two_.table().size(), 0u);
  EXPECT_EQ(two_.followed, 1) << "a node without a table reads all at once";
  EXPECT_FALSE(two_.shared.has_more());
  redis_.rows.begin()->second.bytes.pop_back();
  ++redis_.head.number;
  settle({&two_});
  EXPECT_EQ(two_.limit("ann0"), 5);
}

TEST_F(SharedTenantsTest, WhatIsNoTableGivesWayToAWholeOne) {
  ASSERT_EQ(one_.put(both_, "ann", 1, 5), Outcome::kTaken);
  settle(both_);
  redis_.rows.begin()->second.bytes += "x";
  redis_.head = {.number = 40, .digest = 4};
  for (int i = 0; i < 100; ++i) two_.beat();
  EXPECT_EQ(two_.put({&two_}, "bob", 1, 6), Outcome::kUnreadable);
  EXPECT_EQ(redis_.head.number, 40u);
  two_.replaces_all = true;
  EXPECT_EQ(two_.put({&two_}, "bob", 1, 6), Outcome::kTaken);
  EXPECT_EQ(redis_.head.number, 41u) << "else no node would read it";
  settle(both_);
  EXPECT_EQ(one_.limit("bob0"), 6);
  EXPECT_EQ(one_.limit("ann0"), 5);
  EXPECT_EQ(one_.put(both_, "eve", 1, 7), Outcome::kTaken) << "all is as before";
}

TEST_F(SharedTenantsTest, NodesAgreeAfterAnyChangesAndLosses) {
  Prng prng(3);
  Node three(redis_, 3);
  const std::vector<Node*> nodes = {&one_, &two_, &three};
  ModelRedis earlier;
  for (int round = 0; round < 60; ++round) {
    Node& node = *nodes[prng.below(3)];
    const auto prefix = std::string(1, static_cast<char>('a' + prng.below(4)));
    const int rows = prng.below(5) == 0 ? 1500 : static_cast<int>(prng.below(20));
    switch (prng.below(5)) {
      case 0: node.put(prefix, rows, round, 0s); break;
      case 1: redis_ = earlier; break;
      case 2: earlier = redis_; break;
      default: node.put(nodes, prefix, rows, round);
    }
    if (prng.below(3) == 0) {
      for (int i = 0; i < 3; ++i) nodes[prng.below(3)]->beat();
    }
    if (prng.below(4) == 0) settle(nodes);
  }
  settle(nodes);
}

}  // namespace
}  // namespace weir
