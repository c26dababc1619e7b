#include "store/redis/keys/own_counters.h"

#include <gtest/gtest.h>

#include <vector>

#include "algo/quota_share.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

class OwnCountersTest : public ::testing::Test {
 protected:
  // As another store has answered it.
  void enter(Operation operation, const std::vector<Charge>& charges,
             const std::vector<Verdict>& verdicts) {
    std::vector<Decision> decisions(charges.size());
    for (std::size_t i = 0; i < verdicts.size(); ++i) decisions[i].verdict = verdicts[i];
    own_.enter(Batch{.operation = operation, .charges = charges, .decisions = decisions}, kNow);
  }
  std::int64_t remaining(KeyHash key) {
    const Charge charge{key, &quota_, 0};
    Decision decision;
    Batch look{.operation = Operation::kLook,
               .charges = {&charge, 1},
               .decisions = {&decision, 1},
               .on_done = [](Batch&) noexcept {}};
    memory_->decide(look, kNow);
    return decision.remaining;
  }

  const KeyHasher hasher_{HashSecret{}};
  const Quota quota_ = *Quota::make({.limit = 10, .window = 1min});
  const Charge one_{hasher_.hash({.key = "one"}, quota_), &quota_, 3};
  const Charge other_{hasher_.hash({.key = "other"}, quota_), &quota_, 4};
  std::unique_ptr<MemoryStore> memory_ = make_memory_store({.max_keys = 1024}, kNow);
  OwnCounters own_{memory_.get()};
};

TEST_F(OwnCountersTest, EntersWhatWasAllowed) {
  enter(Operation::kSpendEach, {one_, other_}, {Verdict::kAllowed, Verdict::kDenied});
  EXPECT_EQ(remaining(one_.key), 7);
  EXPECT_EQ(remaining(other_.key), 10);
}

TEST_F(OwnCountersTest, EntersWhatCountsAlwaysThoughItWasDenied) {
  enter(Operation::kCharge, {one_, other_}, {Verdict::kDenied, Verdict::kAllowed});
  EXPECT_EQ(remaining(one_.key), 7);
  EXPECT_EQ(remaining(other_.key), 6);
  for (int i = 0; i < 3; ++i) enter(Operation::kCharge, {one_}, {Verdict::kDenied});
  EXPECT_EQ(remaining(one_.key), 0);
}

TEST_F(OwnCountersTest, TakesWhatIsLeftWhereThatWasTaken) {
  Charge all = one_;
  all.cost = 11;
  enter(Operation::kDrain, {all, other_}, {Verdict::kNever, Verdict::kAllowed});
  EXPECT_EQ(remaining(one_.key), 0);
  EXPECT_EQ(remaining(other_.key), 6);
}

// Three nodes have used all of it together.
TEST(OwnCountersShare, IsUsedUpWhenTheLimitIs) {
  constexpr std::int64_t kNodes = 3;
  for (int i = 0; i < kAlgorithmCount; ++i) {
    for (const std::int64_t cost : {1, 5}) {
      const auto algorithm = static_cast<Algorithm>(i);
      const Quota quota = *Quota::make({.algorithm = algorithm, .limit = 300, .window = 1min});
      const auto memory = make_memory_store({.max_keys = 1024}, kNow);
      OwnCounters own(memory.get(), [] { return kNodes; });
      const Charge charge{{1, 1}, &quota, cost};
      for (std::int64_t spent = 0; spent < 300 / kNodes; spent += cost) own.enter(charge, kNow);

      const Quota share = share_of(quota, kNodes);
      const Charge one{{1, 1}, &share, 1};
      Decision decision;
      Batch batch{
          .charges = {&one, 1}, .decisions = {&decision, 1}, .on_done = [](Batch&) noexcept {}};
      memory->decide(batch, kNow);
      EXPECT_FALSE(decision.allowed()) << algorithm_name(algorithm) << ", cost " << cost;
    }
  }
}

// Units that were entered before a switch are worth as many after it.
TEST(OwnCountersShare, IsAsFullAfterASwitch) {
  constexpr std::int64_t kNodes = 3;
  const Quota sliding =
      *Quota::make({.algorithm = Algorithm::kAdaptive, .limit = 300, .window = 1min});
  const Quota bucket = sliding.following({Algorithm::kTokenBucket, 1});
  for (const auto& [before, after] : {std::pair(sliding, bucket), std::pair(bucket, sliding)}) {
    const auto memory = make_memory_store({.max_keys = 1024}, kNow);
    OwnCounters own(memory.get(), [] { return kNodes; });
    own.enter({{1, 1}, &before, 60}, kNow);
    const Quota share = share_of(after, kNodes);
    const Charge look{{1, 1}, &share, 0};
    Decision decision;
    Batch batch{.operation = Operation::kLook,
                .charges = {&look, 1},
                .decisions = {&decision, 1},
                .on_done = [](Batch&) noexcept {}};
    memory->decide(batch, kNow);
    EXPECT_EQ(decision.remaining, 100 - 60);
  }
}

TEST_F(OwnCountersTest, EntersAllOrNothing) {
  enter(Operation::kSpendAll, {one_, other_}, {Verdict::kAllowed, Verdict::kDenied});
  EXPECT_EQ(remaining(one_.key), 10);
  enter(Operation::kSpendAll, {one_, other_}, {Verdict::kAllowed, Verdict::kAllowed});
  EXPECT_EQ(remaining(one_.key), 7);
  EXPECT_EQ(remaining(other_.key), 6);
}

TEST_F(OwnCountersTest, ALookChangesNothingAndAResetForgets) {
  enter(Operation::kSpendEach, {one_}, {Verdict::kAllowed});
  enter(Operation::kLook, {one_}, {Verdict::kAllowed});
  EXPECT_EQ(remaining(one_.key), 7);
  enter(Operation::kReset, {one_}, {Verdict::kDenied});
  EXPECT_EQ(remaining(one_.key), 10);
}

TEST_F(OwnCountersTest, OfManyUnitsEntersAsManyAsThereAre) {
  own_.enter({one_.key, &quota_, 8}, kNow);
  own_.enter({one_.key, &quota_, 8}, kNow);
  EXPECT_EQ(remaining(one_.key), 0);
  own_.enter({one_.key, &quota_, -4}, kNow);
  EXPECT_EQ(remaining(one_.key), 4);
}

TEST_F(OwnCountersTest, MayBeNone) { OwnCounters(nullptr).enter(one_, kNow); }

}  // namespace
}  // namespace weir
