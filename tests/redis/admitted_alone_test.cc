// What nodes admit by themselves while Redis is away, and what becomes of it when Redis is back.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "redis/syncing_node.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::Asked;
using testing::kInterval;
using testing::SyncingNode;
using AdmittedAlone = testing::SyncingFleet;

// Notes that outlive their node.
struct Estate final : OwedUnits {
  struct Entry : Note {
    KeyHash key;
    std::uint64_t tag = 0;
    Quota quota;
  };
  Note* open(const Charge& charge) noexcept override {
    Entry& entry = *entries.emplace_back(std::make_unique<Entry>());
    entry.key = charge.key;
    entry.tag = charge.tag;
    entry.quota = *charge.quota;
    return &entry;
  }
  void close(Note& note) noexcept override {
    std::erase_if(entries, [&](const auto& entry) { return entry.get() == &note; });
  }
  void pass_to(SyncingNode& heir) {
    for (const auto& entry : entries) {
      heir.store.owe({entry->key, &entry->quota, entry->units, entry->tag}, entry->entered,
                     heir.now());
    }
    entries.clear();
  }

  std::vector<std::unique_ptr<Entry>> entries;
};

// nginx's workers are killed, and another worker of the same nginx goes on.
TEST_F(AdmittedAlone, ADeadNodesUnitsAreChargedByItsHeir) {
  Estate estate;
  auto dying = std::make_unique<SyncingNode>(redis_, 0s, 64, KeySpread{}, &estate);
  SyncingNode& heir = add_node(1s);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 100'000, 1h});
  const Charge calm{fresh_key(), &quota, 1};
  const Charge pushed{fresh_key(), &quota, 7};
  for (const Charge& charge : {calm, pushed}) {
    EXPECT_TRUE(dying->spend(charge).value());
    let_pass(1ms);
    dying->run();
  }
  EXPECT_TRUE(estate.entries.empty());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(dying->spend(calm).value());
  dying.reset();
  EXPECT_EQ(left_in_redis(calm), 100'000 - 1);
  ASSERT_EQ(estate.entries.size(), 1u);
  EXPECT_EQ(estate.entries.front()->units, 5);
  estate.pass_to(heir);
  let_pass(kInterval);
  EXPECT_EQ(left_in_redis(calm), 100'000 - 6);
  EXPECT_EQ(left_in_redis(pushed), 100'000 - 7);
}

TEST_F(AdmittedAlone, IsChargedWhenRedisIsBackWhateverTheAlgorithm) {
  SyncingNode& node = add_node(0s);
  std::vector<Quota> quotas;
  std::vector<Charge> charges;
  for (int i = 0; i < kAlgorithmCount; ++i) {
    quotas.push_back(*Quota::make({static_cast<Algorithm>(i), 10, 1h}));
  }
  node.link.cut(node.now());
  for (const Quota& quota : quotas) {
    charges.push_back({fresh_key(), &quota, 3});
    for (int i = 0; i < 2; ++i) node.store.note_admitted(charges.back(), node.now());
  }
  let_pass(1s);
  node.link.restore();
  node.store.catch_up(node.now());
  node.run();
  for (const Charge& charge : charges) {
    EXPECT_EQ(left_in_redis(charge), 10 - 6) << algorithm_name(charge.quota->algorithm());
  }
  Asked check({charges.begin(), charges.end()});
  node.ask(check);
  for (const Decision& decision : check.decisions) EXPECT_EQ(decision.remaining, 1);
}

// A Redis that is away for long fills no memory: windows end.
TEST_F(AdmittedAlone, MakesRoomWhenItsWindowHasEnded) {
  constexpr std::size_t kKeys = 64;
  SyncingNode& node = add_node(0s, kKeys);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 10, 1s});
  node.link.cut(node.now());
  std::vector<Charge> last;
  for (int outage = 0; outage < 3; ++outage) {
    last.clear();
    for (std::size_t i = 0; i < kKeys; ++i) {
      node.store.note_admitted(last.emplace_back(Charge{fresh_key(), &quota, 4}), node.now());
    }
    EXPECT_EQ(node.store.counts()[kAsyncForgotten], 4 * outage * static_cast<int>(kKeys));
    let_pass(outage < 2 ? 3s : 0s);
  }
  node.link.restore();
  node.store.catch_up(node.now());
  node.run();
  for (const Charge& charge : last) EXPECT_EQ(left_in_redis(charge), 6);
}

// A sync that was cut off has not made it something that never expires.
TEST_F(AdmittedAlone, IsForgottenWhenItsWindowHasEndedThoughASyncHasFailed) {
  SyncingNode& node = add_node(0s);
  node.link.delay = 20ms;
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 10, 1s});
  const Charge charge{fresh_key(), &quota, 4};
  node.store.note_admitted(charge, node.now());
  let_pass(5ms);
  node.link.cut(node.now());
  let_pass(3s);
  node.link.restore();
  node.store.catch_up(node.now());
  let_pass(kInterval);
  EXPECT_EQ(node.store.counts()[kAsyncForgotten], 4);
  EXPECT_EQ(left_in_redis(charge), 10);
}

TEST_F(AdmittedAlone, IsKnownToThisNodesCounters) {
  SyncingNode& node = add_node(0s);
  SyncingNode& other = add_node(0s);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 100, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(node.spend(charge));
  EXPECT_TRUE(other.spend(charge));
  let_pass(2 * kInterval);
  EXPECT_EQ(node.own_remaining(charge), 100 - 6) << "what the other has spent as well";
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(node.spend(charge));
  node.link.cut(node.now());
  EXPECT_EQ(node.spend(charge), std::nullopt);
  EXPECT_EQ(node.own_remaining(charge), 91);
  node.store.note_admitted(charge, node.now());
  EXPECT_EQ(node.spend(charge), std::nullopt);
  EXPECT_EQ(node.own_remaining(charge), 91);  // the node that admitted it has entered it
  node.link.restore();
  let_pass(1s);
  EXPECT_EQ(node.own_remaining(charge), left_in_redis(charge));
}

}  // namespace
}  // namespace weir
