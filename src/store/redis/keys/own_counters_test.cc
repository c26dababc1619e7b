#include "store/redis/keys/own_counters.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algo/quota_share.h"
#include "engine/testing/asked.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

class OwnCountersTest : public ::testing::Test {
 protected:
  // Enters an answer of another store.
  void enter(Operation operation, const std::vector<Charge>& charges,
             const std::vector<Verdict>& verdicts) {
    std::vector<Decision> decisions(charges.size());
    for (std::size_t i = 0; i < verdicts.size(); ++i) decisions[i].verdict = verdicts[i];
    own_.enter(Batch{.operation = operation, .charges = charges, .decisions = decisions}, kNow);
  }
  std::int64_t remaining(KeyHash key) {
    return testing::ask(*memory_, Operation::kLook, Charge{key, &quota_, 0}, kNow).remaining;
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

// Three nodes have used up the limit together.
TEST(OwnCountersShares, IsUsedUpWhenTheLimitIs) {
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
      EXPECT_FALSE(testing::spend(*memory, {{1, 1}, &share, 1}, kNow).allowed())
          << algorithm_name(algorithm) << ", cost " << cost;
    }
  }
}

// Units that were entered before a switch are worth as many after it.
TEST(OwnCountersShares, AreAsFullAfterASwitch) {
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
    EXPECT_EQ(testing::ask(*memory, Operation::kLook, look, kNow).remaining, 100 - 60);
  }
}

// A node decides by these counters while Redis is away, and by Redis's earlier answers.
class OwnCountersShare : public ::testing::TestWithParam<Algorithm> {
 protected:
  static constexpr std::int64_t kNodes = 3;
  static constexpr Duration kWindow = 1min;

  Decision ask(Operation operation, std::int64_t cost, Instant now = kNow) {
    const Quota share = share_of(quota_, kNodes);
    return testing::ask(*memory_, operation, Charge{{1, 1}, &share, cost}, now);
  }
  std::int64_t remaining(Instant now = kNow) { return ask(Operation::kLook, 0, now).remaining; }
  void hear(Operation operation, std::int64_t cost, const Decision& said, Instant now = kNow) {
    const Charge charge{{1, 1}, &quota_, cost};
    Decision decision = said;
    own_.enter(Batch{.operation = operation, .charges = {&charge, 1}, .decisions = {&decision, 1}},
               now);
  }
  static Decision said(Verdict verdict, std::int64_t left, Duration reset_after = kWindow) {
    return {.verdict = verdict, .limit = 300, .remaining = left, .reset_after = reset_after};
  }

  const Quota quota_ = *Quota::make({.algorithm = GetParam(), .limit = 300, .window = kWindow});
  std::unique_ptr<MemoryStore> memory_ = make_memory_store({.max_keys = 1024}, kNow);
  OwnCounters own_{memory_.get(), [] { return kNodes; }};
};

TEST_P(OwnCountersShare, HasNoMoreLeftThanItsPartOfWhatRedisSays) {
  struct Row {
    Operation operation;
    std::int64_t cost;
    Decision said;
    std::int64_t left;
  };
  const auto kAllowed = Verdict::kAllowed;
  const auto kDenied = Verdict::kDenied;
  for (const Row& row : std::vector<Row>{
           {Operation::kSpendEach, 1, said(kAllowed, 299), 99},
           {Operation::kSpendEach, 1, said(kAllowed, 290), 97},
           {Operation::kSpendAll, 50, said(kDenied, 31), 11},
           {Operation::kSpendEach, 50, said(kDenied, 30), 10},
           {Operation::kSpendEach, 1, said(kAllowed, 290), 9},  // never raised
           {Operation::kLook, 0, said(kAllowed, 25), 9},
           {Operation::kSpendEach, 400, said(Verdict::kNever, 22), 8},
           {Operation::kCharge, 1, said(kAllowed, 12), 4},
           {Operation::kDrain, 1, said(kAllowed, 9), 3},
           {Operation::kSpendEach, 1, said(kAllowed, 1), 1},
           {Operation::kSpendEach, 1, said(kDenied, 0), 0},
           {Operation::kReset, 0, said(kAllowed, 300), 100},
       }) {
    hear(row.operation, row.cost, row.said);
    EXPECT_EQ(remaining(), row.left) << row.cost << ", " << row.said.remaining;
  }
  hear(Operation::kSpendEach, 1, said(kDenied, 0));
  EXPECT_FALSE(ask(Operation::kSpendEach, 1).allowed());
}

TEST_P(OwnCountersShare, IsWholeAgainWhenThatIsForgotten) {
  hear(Operation::kSpendEach, 1, said(Verdict::kDenied, 0));
  EXPECT_EQ(remaining(kNow + 2 * kWindow), 100);
}

// The answer was on its way when the window ended, or Redis's clock is behind.
TEST_P(OwnCountersShare, IsNotLoweredByWhatRedisIsAboutToForget) {
  if (GetParam() == Algorithm::kTokenBucket) return;  // has no windows
  hear(Operation::kSpendEach, 1, said(Verdict::kDenied, 0, 2ms));
  EXPECT_EQ(remaining(), 100);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, OwnCountersShare,
                         ::testing::Values(Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                           Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                           Algorithm::kExponentialBackoff, Algorithm::kAdaptive),
                         [](const auto& row) { return std::string(algorithm_name(row.param)); });

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
