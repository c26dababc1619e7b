#include "engine/engine.h"

#include <gtest/gtest.h>

#include "engine/testing/late_store.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

int calls = 0;
void count_call(KeptBatch&) noexcept { ++calls; }

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override { calls = 0; }

  // Decides `charges` requests of the same key.
  void decide(Operation operation, int charges) {
    batch_.begin(operation, count_call);
    const KeyHash key = engine_.hash({"rule", "bucket", "key"}, quota_);
    for (int charge = 0; charge < charges; ++charge) batch_.add(key, quota_, 1);
    batch_.decide(engine_.local(), kNow);
  }

  const Quota quota_ = *Quota::make({.limit = 3, .window = 1min});
  std::unique_ptr<MemoryStore> store_ = make_memory_store({.max_keys = 1024}, kNow);
  KeyHasher hasher_{HashSecret{}};
  Traffic traffic_;
  Engine engine_{*store_, hasher_, traffic_.add_core()};
  KeptBatch batch_;
};

TEST_F(EngineTest, AReusedBatchKeepsNothing) {
  decide(Operation::kSpendEach, 2);
  decide(Operation::kSpendEach, 1);
  ASSERT_EQ(batch_.decisions().size(), 1u);
  EXPECT_EQ(batch_.decisions()[0].remaining, 0);
}

TEST(EngineDeathTest, BatchesHaveABound) {
  KeptBatch batch;
  batch.begin(Operation::kSpendEach, count_call);
  const Quota quota;
  EXPECT_DEATH(
      {
        for (std::size_t charge = 0; charge <= Batch::kChargesMax; ++charge) {
          batch.add({1, 2}, quota, 1);
        }
      },
      "size_ < Batch::kChargesMax");
}

TEST_F(EngineTest, APromptBatchReturnsWithItsAnswer) {
  PromptBatch batch;
  batch.begin(Operation::kSpendEach);
  batch.add(engine_.hash({"", "", "key"}, quota_), quota_, 3);
  EXPECT_TRUE(batch.decide(engine_.local(), kNow));
  EXPECT_TRUE(batch.decisions()[0].allowed());

  TestFleet::NothingAtHand refusing;
  Engine cut_off(refusing, hasher_, traffic_.add_core());
  EXPECT_FALSE(batch.decide(cut_off.local(), kNow));
}

}  // namespace
}  // namespace weir
