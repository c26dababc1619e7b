// Nodes that share a table of tenants through a model of what beat.lua does.

#include "engine/tenants/shared_tenants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Head = SharedTenants::Head;
using Outcome = SharedTenants::Outcome;
using Kind = SharedTenants::Step::Kind;

struct ModelRedis {
  struct Bucket {
    std::uint64_t place;
    std::string bytes;
  };
  using Rows = std::map<std::uint16_t, Bucket>;

  Head head;
  HashSecret secret;
  Rows rows;
  Rows aside;
  const void* who_puts_aside = nullptr;
  int refused = 0;

  bool do_step(const SharedTenants::Step& step, const void* who) {
    if (step.kind != Kind::kPutAside && step.from != head) return false;
    if (step.kind == Kind::kChange && is_torn()) return false;
    if (step.kind != Kind::kChange) {
      if (step.aside == 0 && (who_puts_aside == nullptr || who_puts_aside == who)) {
        aside.clear();
        who_puts_aside = who;
      }
      if (who_puts_aside != who || aside.size() < step.aside) {
        if (++refused == 20) who_puts_aside = nullptr;  // it has been silent for long
        return false;
      }
      refused = 0;
    }
    Rows& to = step.kind == Kind::kChange ? rows : aside;
    for (const std::uint16_t bucket : step.buckets) {
      to[bucket] = {step.to.head.number * TenantTable::kBuckets + bucket,
                    step.to.table->bucket_bytes(bucket)};
    }
    if (step.kind == Kind::kPutAside) return true;
    if (step.kind == Kind::kSwitch) {
      rows = std::exchange(aside, {});
      who_puts_aside = nullptr;
    }
    head = step.to.head;
    secret = step.to.table->secret();
    return true;
  }

  bool is_torn() const { return head.number > 0 && rows.empty(); }
  SharedTenants::Heard answer(const SharedTenants::Said& said, const void* who) {
    SharedTenants::Heard heard;
    if (said.step) heard.has_done = do_step(*said.step, who);
    heard.head = head;
    heard.is_torn = is_torn();
    if (head == said.known || heard.is_torn) return heard;
    heard.secret = secret;
    std::map<std::uint64_t, std::uint16_t> by_place;
    for (const auto& [number, bucket] : rows) {
      if (bucket.place > said.place) by_place[bucket.place] = number;
    }
    for (const auto& [place, number] : by_place) {
      if (heard.buckets.size() == SharedTenants::kPage) {
        heard.is_all = false;
        break;
      }
      heard.place = place;
      heard.buckets.emplace_back(number, rows[number].bytes);
    }
    return heard;
  }
};

HashSecret secret_of(int number) {
  HashSecret secret;
  for (std::size_t i = 0; i < secret.bytes.size(); ++i) {
    secret.bytes[i] = std::byte(i * 5 + static_cast<std::size_t>(number));
  }
  return secret;
}

// Keeps its table as cli/node/tenant_keeper.h does.
class Node {
 public:
  Node(ModelRedis& redis, int number)
      : redis_(redis), table_(std::make_shared<const TenantTable>(secret_of(number))) {}
  Node(ModelRedis& redis, int number, const SharedTenants::Version& kept) : Node(redis, number) {
    table_ = kept.table;
    shared.begin(kept);
  }

  void beat() {
    shared.hear(redis_.answer(shared.say(), this), Instant{});
    follow();
  }
  void follow() {
    auto news = shared.news();
    if (!news) return;
    const TenantTable none(news->secret);
    const TenantTable& base = news->is_whole ? none : *table_;
    TenantTable::Edits edits;
    bool is_right = base.secret().bytes == news->secret.bytes;
    for (const auto& [bucket, bytes] : news->buckets) {
      is_right = is_right && base.read_bucket(bucket, bytes, edits);
    }
    auto table = is_right ? base.edited(std::move(edits)).table : nullptr;
    if (table == nullptr || table->digest() != news->head.digest) table = nullptr;
    if (table != nullptr) table_ = table;
    shared.take(news->head, table);
    ++followed;
  }

  // Rows "PREFIX0" and so on, of that limit.
  Outcome put(const std::string& prefix, int rows, std::int64_t limit, Duration patience = 10s) {
    TenantTable::Edits edits;
    for (int i = 0; i < rows; ++i) {
      edits.rows.push_back({.key = table_->hash(prefix + std::to_string(i)), .limit = limit});
    }
    std::ranges::sort(edits.rows, std::less(), &TenantTable::Row::key);
    auto edited = table_->edited(std::move(edits));
    const Head head{shared.next_number(), edited.table->digest()};
    const Outcome outcome =
        shared.offer({{head, edited.table}, edited.changed, replaces_all}, patience);
    if (shared.known() == head) table_ = edited.table;
    return outcome;
  }
  // The same, while all of these beat.
  Outcome put(const std::vector<Node*>& beating, const std::string& prefix, int rows,
              std::int64_t limit) {
    auto outcome = std::async(std::launch::async, [&] { return put(prefix, rows, limit); });
    while (outcome.wait_for(1us) != std::future_status::ready) {
      for (Node* const node : beating) {
        if (node == this) shared.hear(redis_.answer(shared.say(), this), Instant{});
        if (node != this) node->beat();
      }
    }
    return outcome.get();
  }
  std::int64_t limit(const std::string& key) const {
    const auto terms = table_->find(key);
    return terms ? terms->limit : -1;
  }
  const TenantTable& table() const { return *table_; }

  bool replaces_all = false;  // what it puts
  std::atomic<int> told{0};
  SharedTenants shared{[this](Instant) { ++told; }};
  int followed = 0;

 private:
  ModelRedis& redis_;
  TenantTablePtr table_;
};

class SharedTenantsTest : public ::testing::Test {
 protected:
  void settle(const std::vector<Node*>& nodes) {
    for (int i = 0; i < 3000; ++i) {
      for (Node* const node : nodes) node->beat();
      const bool is_over = std::ranges::all_of(nodes, [&](Node* node) {
        return node->shared.known() == redis_.head && !node->shared.has_more();
      });
      if (is_over) break;
    }
    for (Node* const node : nodes) {
      EXPECT_EQ(node->shared.known(), redis_.head);
      if (redis_.head.number == 0) continue;
      EXPECT_EQ(node->table().digest(), redis_.head.digest);
    }
  }

  ModelRedis redis_;
  Node one_{redis_, 1};
  Node two_{redis_, 2};
  const std::vector<Node*> both_ = {&one_, &two_};
};

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

TEST_F(SharedTenantsTest, ALargeOneIsPutAsideAndHoldsAtOnce) {
  ASSERT_EQ(one_.put({&one_}, "old", 1, 1), Outcome::kTaken);
  settle(both_);
  auto outcome = std::async(std::launch::async, [&] { return one_.put("k", 3000, 2); });
  int beats = 0;
  while (outcome.wait_for(1us) != std::future_status::ready) {
    one_.shared.hear(redis_.answer(one_.shared.say(), &one_), Instant{});
    two_.beat();
    ++beats;
    EXPECT_TRUE(two_.table().size() <= 1 || two_.table().size() == 3001) << "all or nothing";
  }
  EXPECT_EQ(outcome.get(), Outcome::kTaken);
  settle(both_);
  EXPECT_EQ(two_.table().size(), 3001u);
  EXPECT_GT(beats, 3000 / 512) << "a beat carries so many buckets";
}

// The pages that were read before it have rows that are gone since.
TEST_F(SharedTenantsTest, ALargeOneWhileAnotherNodeReadsIsReadAgain) {
  ASSERT_EQ(one_.put({&one_}, "k", 3000, 2), Outcome::kTaken);
  two_.beat();
  two_.beat();
  ASSERT_EQ(two_.table().size(), 0u) << "it has read some pages";
  ASSERT_EQ(one_.put({&one_}, "k", 2000, TenantTable::kGone), Outcome::kTaken);
  settle(both_);
  EXPECT_EQ(two_.table().size(), 1000u);
  EXPECT_EQ(two_.put(both_, "bob", 1, 7), Outcome::kTaken);
}

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
  // Both have changed it alone: the first that reaches Redis counts.
  EXPECT_EQ(one_.put("bob", 1, 6, 0s), Outcome::kAway);
  EXPECT_EQ(two_.put("bob", 1, 7, 0s), Outcome::kAway);
  settle(both_);
  EXPECT_EQ(one_.limit("bob0"), two_.limit("bob0"));
}

TEST_F(SharedTenantsTest, WhatWasChangedAloneGivesWayToWhatOthersHaveChanged) {
  ASSERT_EQ(one_.put(both_, "ann", 1, 5), Outcome::kTaken);
  settle(both_);
  const Head before = redis_.head;
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

TEST_F(SharedTenantsTest, ATableWithoutRowsIsNotTorn) {
  settle(both_);
  EXPECT_EQ(one_.put("ann", 1, 5, 0s), Outcome::kAway);
  EXPECT_EQ(one_.put("ann", 1, TenantTable::kGone, 0s), Outcome::kAway);
  settle(both_);
  EXPECT_EQ(redis_.head.number, 2u);
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
