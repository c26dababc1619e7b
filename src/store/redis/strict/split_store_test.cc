#include "store/redis/strict/split_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "proto/reactor_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);

// Answers when and what the test says: keys are denied or fail by number.
class FakeStore final : public Store {
 public:
  void decide(Batch& batch, Instant) noexcept override { waiting.push_back(&batch); }

  void answer_all() {
    while (!waiting.empty()) {
      Batch& batch = *waiting.front();
      waiting.erase(waiting.begin());
      batch.error = StoreError::kNone;
      for (std::size_t i = 0; i < batch.charges.size(); ++i) {
        const Charge& charge = batch.charges[i];
        spent.push_back(charge);
        limits.push_back(charge.quota->limit());
        batch.decisions[i] = {.limit = 10,
                              .remaining = static_cast<std::int64_t>(charge.key.low),
                              .reset_after = reset_after};
        if (charge.key.low == denied) batch.decisions[i].verdict = Verdict::kDenied;
        if (charge.key.low == failing) batch.error = StoreError::kUnavailable;
      }
      batch.on_done(batch);
    }
  }
  // The costs by key, in the order of keys: "1:2 3:-2".
  std::string taken() {
    std::ranges::sort(spent, {},
                      [](const Charge& charge) { return std::pair(charge.key.low, charge.cost); });
    std::string text;
    for (const Charge& charge : spent) {
      text += (text.empty() ? "" : " ") + std::to_string(charge.key.low) + ":" +
              std::to_string(charge.cost);
    }
    spent.clear();
    return text;
  }

  std::vector<Batch*> waiting;
  std::vector<Charge> spent;
  std::vector<std::int64_t> limits;  // of all charges so far
  Duration reset_after = 30s;
  std::uint64_t denied = 0;
  std::uint64_t failing = 0;
};

class SplitStoreTest : public ::testing::Test {
 protected:
  SplitStoreTest() : inner_(new FakeStore), store_(std::unique_ptr<Store>(inner_), reactor_) {
    batch_.context = &answers_;
    batch_.on_done = [](Batch& done) noexcept { ++*static_cast<int*>(done.context); };
  }
  void ask(std::vector<Charge> charges, Operation operation) {
    charges_ = std::move(charges);
    decisions_.assign(charges_.size(), {});
    batch_.operation = operation;
    batch_.charges = charges_;
    batch_.decisions = decisions_;
    answers_ = 0;
    store_.decide(batch_, kStart);
  }
  // Each charge has a slot of its own, unless they share a tag.
  Charge charge(std::uint64_t key, std::int64_t cost = 2, std::uint64_t tag = 0) {
    return {{key * 7919, key}, &quota_, cost, tag};
  }

  Quota quota_ = *Quota::make({Algorithm::kFixedWindow, 10, 1min});
  ManualReactor reactor_;
  FakeStore* inner_;
  SplitStore store_;
  std::vector<Charge> charges_;
  std::vector<Decision> decisions_;
  Batch batch_;
  int answers_ = 0;
};

TEST_F(SplitStoreTest, BatchesOfOneSlotPassAsTheyAre) {
  ask({charge(1, 2, 5), charge(2, 2, 5)}, Operation::kSpendAll);
  ASSERT_EQ(inner_->waiting.size(), 1u);
  EXPECT_EQ(inner_->waiting[0], &batch_);
}

struct Row {
  Operation operation;
  std::uint64_t denied;   // the key that is; 0: none
  std::uint64_t failing;  // likewise
  std::vector<Charge> charges;
  StoreError error;
  std::string taken;
  std::string given_back;
  std::string left = {};  // as the batch is told, if it says
};

TEST_F(SplitStoreTest, GivesBackWhatWasChargedForNothing) {
  using enum Operation;
  const auto fine = StoreError::kNone;
  const auto fails = StoreError::kUnavailable;
  const std::vector<Charge> two = {charge(1), charge(2)};
  const std::vector<Charge> three = {charge(1), charge(2), charge(3)};
  const std::vector<Charge> tagged = {charge(1, 2, 5), charge(2), charge(3, 2, 5)};
  const std::vector<Charge> nothing_of_one = {charge(1), charge(2), charge(3, 0)};
  const std::vector<Charge> many = {charge(1), charge(2), charge(3, 2, 5), charge(4, 1, 5),
                                    charge(6, -1)};
  for (const Row& row : std::vector<Row>{
           {kSpendAll, 0, 0, tagged, fine, "1:2 2:2 3:2", "", "1 2 3"},
           {kSpendAll, 2, 0, three, fine, "1:2 2:2 3:2", "1:-2 3:-2", "3 2 5"},
           {kSpendAll, 0, 2, nothing_of_one, fails, "1:2 2:2 3:0", "1:-2"},
           {kSpendEach, 2, 0, two, fine, "1:2 2:2", "", "1 2"},
           {kSpendEach, 3, 2, many, fails, "1:2 2:2 3:2 4:1 6:-1", "1:-2 3:0 4:-1"},
           {kCharge, 1, 2, three, fails, "1:2 2:2 3:2", ""},
           {kLook, 0, 2, two, fails, "1:2 2:2", ""},
           {kReset, 0, 2, two, fails, "1:2 2:2", ""},
       }) {
    SCOPED_TRACE(row.taken + " of operation " + std::to_string(static_cast<int>(row.operation)));
    inner_->denied = row.denied;
    inner_->failing = row.failing;
    ask(row.charges, row.operation);
    inner_->answer_all();
    EXPECT_EQ(answers_, 1);
    EXPECT_EQ(batch_.error, row.error);
    std::string left;
    for (const Decision& decision : decisions_) left += " " + std::to_string(decision.remaining);
    EXPECT_TRUE(row.left.empty() || left == " " + row.left) << left;
    EXPECT_EQ(inner_->taken(), row.taken);
    reactor_.run(kStart);
    inner_->answer_all();
    EXPECT_EQ(inner_->taken(), row.given_back);
    EXPECT_EQ(answers_, 1);
  }
}

TEST_F(SplitStoreTest, GivesBackUnderTheOldQuotaWhenTheCallerHasGoneOn) {
  inner_->denied = 2;
  ask({charge(1), charge(2), charge(3)}, Operation::kSpendAll);
  inner_->answer_all();
  quota_ = *Quota::make({Algorithm::kTokenBucket, 7, 1h});
  charges_ = {charge(4), charge(5), charge(6)};
  inner_->taken();
  inner_->limits.clear();
  reactor_.run(kStart);
  quota_ = *Quota::make({Algorithm::kTokenBucket, 8, 1h});
  inner_->answer_all();
  EXPECT_EQ(inner_->taken(), "1:-2 3:-2");
  EXPECT_EQ(inner_->limits, (std::vector<std::int64_t>{10, 10}));
}

TEST_F(SplitStoreTest, GivesNothingBackToTheNextWindow) {
  const auto given_back = [this](Algorithm algorithm, Duration reset_after) {
    quota_ = *Quota::make({algorithm, 10, 1min});
    inner_->reset_after = reset_after;
    inner_->denied = 2;
    ask({charge(1), charge(2)}, Operation::kSpendAll);
    inner_->answer_all();
    inner_->taken();
    reactor_.run(kStart + 20ms);
    inner_->answer_all();
    return inner_->taken() == "1:-2";
  };
  EXPECT_TRUE(given_back(Algorithm::kFixedWindow, 71ms));
  EXPECT_FALSE(given_back(Algorithm::kFixedWindow, 69ms));
  EXPECT_TRUE(given_back(Algorithm::kSlidingWindow, 1min + 71ms));
  EXPECT_FALSE(given_back(Algorithm::kSlidingWindow, 1min + 69ms));
  EXPECT_TRUE(given_back(Algorithm::kTokenBucket, 1ms));
}

TEST_F(SplitStoreTest, AsksForNoLongerThanTheBatchAndGivesBackAllTheSame) {
  inner_->denied = 2;
  batch_.give_up_at = kStart + 5ms;
  ask({charge(1), charge(2)}, Operation::kSpendAll);
  ASSERT_EQ(inner_->waiting.size(), 2u);
  for (const Batch* part : inner_->waiting) EXPECT_EQ(part->give_up_at, kStart + 5ms);
  inner_->answer_all();
  reactor_.run(kStart);
  ASSERT_EQ(inner_->waiting.size(), 1u);
  EXPECT_EQ(inner_->waiting[0]->give_up_at, Instant::max());
}

TEST_F(SplitStoreTest, HasRoomForSoManyAndAgainWhenTheyAreDone) {
  std::vector<Batch> batches(SplitStore::kSplitsMax, batch_);
  charges_ = {charge(1), charge(2)};
  decisions_.resize(2);
  int answers = 0;
  for (Batch& batch : batches) {
    batch.charges = charges_;
    batch.decisions = decisions_;
    batch.context = &answers;
    store_.decide(batch, kStart);
  }
  EXPECT_EQ(answers, 0);
  ask({charge(1), charge(2)}, Operation::kSpendEach);
  EXPECT_EQ(answers_, 1);
  EXPECT_EQ(batch_.error, StoreError::kUnavailable);
  inner_->answer_all();
  EXPECT_EQ(answers, static_cast<int>(SplitStore::kSplitsMax));
  ask({charge(1), charge(2)}, Operation::kSpendEach);
  EXPECT_EQ(answers_, 0);
}

}  // namespace
}  // namespace weir
