// The specification of Store (weir/store.h), as tests that every store must pass.
//
//   struct MyStores { static std::unique_ptr<Store> make(); };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, StoreConformance, ::testing::Types<MyStores>);
//
// Times begin at kConformanceStart and go on for a few days. A store that decides by its
// own clock needs a test hook that sets its time.

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "weir/key.h"
#include "weir/store.h"

namespace weir {

using namespace std::chrono_literals;

inline constexpr Instant kConformanceStart = instant_from_epoch_us(1'700'006'400'000'000);

inline Quota made(const QuotaSpec& spec) {
  const Result<Quota> quota = Quota::make(spec);
  if (!quota) std::abort();
  return *quota;
}

template <typename Stores>
class StoreConformance : public ::testing::Test {
 protected:
  static KeyHash key(std::uint64_t number) {
    static const KeyHasher hasher{HashSecret{}};
    const std::string_view text(reinterpret_cast<const char*>(&number), sizeof(number));
    return hasher.hash({.rule = {}, .bucket = {}, .key = text}, Quota{});
  }

  // Asks the store and waits.
  std::vector<Decision> ask(Operation operation, const std::vector<Charge>& charges, Instant now) {
    std::vector<Decision> decisions(charges.size());
    std::atomic<bool> done{false};
    Batch batch;
    batch.operation = operation;
    batch.charges = charges;
    batch.decisions = decisions;
    batch.context = &done;
    batch.on_done = [](Batch& answered) noexcept {
      static_cast<std::atomic<bool>*>(answered.context)->store(true);
    };
    store_->decide(batch, now);
    while (!done.load()) std::this_thread::yield();
    EXPECT_EQ(batch.error, StoreError::kNone);
    return decisions;
  }
  Decision ask(Operation operation, const Charge& charge, Instant now) {
    return ask(operation, std::vector<Charge>{charge}, now).front();
  }
  Decision spend(const Charge& charge, Instant now = kConformanceStart) {
    return ask(Operation::kSpendEach, charge, now);
  }
  Decision look(const Charge& charge, Instant now = kConformanceStart) {
    return ask(Operation::kLook, charge, now);
  }

  // One of each algorithm, adaptive in each of its kinds; the last three are too large for a
  // compact state.
  const std::vector<Quota> quotas_ = {
      made({Algorithm::kFixedWindow, 5, 1min}),
      made({Algorithm::kSlidingLog, 5, 1min}),
      made({Algorithm::kSlidingWindow, 5, 1min}),
      made({Algorithm::kTokenBucket, 5, 1min}),
      made({Algorithm::kExponentialBackoff, 5, 1min}),
      made({Algorithm::kAdaptive, 5, 1min}),
      made({Algorithm::kAdaptive, 5, 1min}).following({Algorithm::kTokenBucket, 1}),
      made({Algorithm::kAdaptive, 5, 1min}).following({Algorithm::kExponentialBackoff, 1}),
      made({Algorithm::kSlidingWindow, kLimitMax, 24h}),
      made({Algorithm::kTokenBucket, 999'999'999'989, 24h}),
      made({Algorithm::kAdaptive, 999'999'999'989, 24h}),
  };
  std::unique_ptr<Store> store_ = Stores::make();
};

TYPED_TEST_SUITE_P(StoreConformance);

TYPED_TEST_P(StoreConformance, AdmitsTheLimitAndNoMore) {
  for (std::size_t index = 0; index < this->quotas_.size(); ++index) {
    const Quota& quota = this->quotas_[index];
    const std::int64_t fifth = quota.limit() / 5;
    const Charge charge{this->key(index), &quota, fifth};
    for (int hit = 1; hit <= 5; ++hit) {
      const Decision decision = this->spend(charge);
      ASSERT_TRUE(decision.allowed()) << algorithm_name(quota.algorithm());
      EXPECT_EQ(decision.remaining, quota.limit() - hit * fifth);
    }
    EXPECT_EQ(this->spend(charge).verdict, Verdict::kDenied) << algorithm_name(quota.algorithm());
  }
}

TYPED_TEST_P(StoreConformance, RetryAfterIsTheTruth) {
  for (std::size_t index = 0; index < this->quotas_.size(); ++index) {
    const Quota& quota = this->quotas_[index];
    if (quota.active() == Algorithm::kExponentialBackoff) continue;  // a penalty, not a date
    this->spend({this->key(index), &quota, quota.limit()});
    const Charge one{this->key(index), &quota, 1};
    const Duration retry_after = this->spend(one).retry_after;
    const Instant now = kConformanceStart;
    EXPECT_FALSE(this->look(one, now + retry_after - 1us).allowed());
    EXPECT_TRUE(this->spend(one, now + retry_after).allowed());
  }
}

TYPED_TEST_P(StoreConformance, CostZeroAndNegativeAndNever) {
  for (std::size_t index = 0; index < this->quotas_.size(); ++index) {
    const Quota& quota = this->quotas_[index];
    const KeyHash key = this->key(index);
    const std::int64_t limit = quota.limit();
    EXPECT_EQ(this->spend({key, &quota, 0}).remaining, limit);
    if (limit < kCostMax) {
      EXPECT_EQ(this->spend({key, &quota, limit + 1}).verdict, Verdict::kNever);
    }
    EXPECT_EQ(this->spend({key, &quota, limit}).remaining, 0);
    EXPECT_EQ(this->spend({key, &quota, -2}).remaining, 2);
    EXPECT_EQ(this->spend({key, &quota, -kCostMax}).remaining, limit);
    EXPECT_EQ(this->spend({key, &quota, limit}).remaining, 0);
  }
}

TYPED_TEST_P(StoreConformance, LookingTellsAndChangesNothing) {
  for (std::size_t index = 0; index < this->quotas_.size(); ++index) {
    const Quota& quota = this->quotas_[index];
    const Charge most{this->key(index), &quota, quota.limit() - 1};
    EXPECT_EQ(this->look(most).remaining, quota.limit());
    EXPECT_TRUE(this->look(most).allowed());
    this->spend(most);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Decision decision = this->look(most);
      EXPECT_EQ(decision.verdict, Verdict::kDenied);
      EXPECT_EQ(decision.remaining, 1);
      EXPECT_EQ(decision.backoff_level, 0);
    }
  }
}

TYPED_TEST_P(StoreConformance, ResettingForgetsTheKeyOnly) {
  for (std::size_t index = 0; index < this->quotas_.size(); ++index) {
    const Quota& quota = this->quotas_[index];
    const Charge mine{this->key(2 * index), &quota, quota.limit()};
    const Charge other{this->key(2 * index + 1), &quota, quota.limit()};
    this->spend(mine);
    this->spend(other);
    EXPECT_EQ(this->ask(Operation::kReset, mine, kConformanceStart).remaining, quota.limit());
    EXPECT_TRUE(this->spend(mine).allowed());
    EXPECT_FALSE(this->spend(other).allowed());
  }
}

TYPED_TEST_P(StoreConformance, EachOfABatchIsDecidedForItself) {
  std::vector<Charge> charges;
  for (std::uint64_t key = 0; key < this->quotas_.size(); ++key) {
    const Quota& quota = this->quotas_[key];
    charges.push_back({this->key(key), &quota, quota.limit()});
    charges.push_back({this->key(key), &quota, 1});
    if (charges.size() < Batch::kChargesMax && key + 1 < this->quotas_.size()) continue;
    const auto decisions = this->ask(Operation::kSpendEach, charges, kConformanceStart);
    for (std::size_t index = 0; index < charges.size(); ++index) {
      EXPECT_EQ(decisions[index].allowed(), index % 2 == 0);
    }
    charges.clear();
  }
}

TYPED_TEST_P(StoreConformance, AllOrNothingChargesAllWhenAllFit) {
  std::vector<Charge> charges;
  for (const Quota& quota : this->quotas_) {
    charges.push_back({this->key(charges.size()), &quota, quota.limit()});
  }
  for (const Decision& decision : this->ask(Operation::kSpendAll, charges, kConformanceStart)) {
    EXPECT_TRUE(decision.allowed());
    EXPECT_EQ(decision.remaining, 0);
  }
}

TYPED_TEST_P(StoreConformance, AllOrNothingChargesNothingWhenOneIsDenied) {
  std::vector<Charge> charges;
  for (const Quota& quota : this->quotas_) {
    charges.push_back({this->key(charges.size()), &quota, 1});
  }
  for (std::size_t denied = 0; denied < charges.size(); ++denied) {
    const Charge& full = charges[denied];
    this->spend({full.key, full.quota, full.quota->limit()});
    const auto decisions = this->ask(Operation::kSpendAll, charges, kConformanceStart);
    for (std::size_t index = 0; index < charges.size(); ++index) {
      EXPECT_EQ(decisions[index].allowed(), index != denied);
      EXPECT_EQ(decisions[index].remaining, index == denied ? 0 : charges[index].quota->limit());
      if (index != denied) {
        EXPECT_EQ(this->look(charges[index]).remaining, charges[index].quota->limit());
      }
    }
    this->ask(Operation::kReset, full, kConformanceStart);
  }
}

TYPED_TEST_P(StoreConformance, AllOrNothingCountsAKeyThatComesTwice) {
  for (const Quota& quota : this->quotas_) {
    const KeyHash key = this->key(static_cast<std::uint64_t>(&quota - this->quotas_.data()));
    const std::vector<Charge> twice(2, Charge{key, &quota, quota.limit() - 1});
    const auto decisions = this->ask(Operation::kSpendAll, twice, kConformanceStart);
    EXPECT_FALSE(decisions[1].allowed());
    EXPECT_EQ(this->look({key, &quota, 0}).remaining, quota.limit());
  }
}

TYPED_TEST_P(StoreConformance, AChangedLimitGoesOnWithWhatWasCounted) {
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingLog, Algorithm::kSlidingWindow,
        Algorithm::kExponentialBackoff, Algorithm::kAdaptive}) {
    const Quota five = made({algorithm, 5, 1min});
    const Quota eight = made({algorithm, 8, 1min});
    const KeyHash key = this->key(static_cast<std::uint64_t>(algorithm));
    this->spend({key, &five, 5});
    EXPECT_EQ(this->spend({key, &eight, 1}).remaining, 2) << algorithm_name(algorithm);
    EXPECT_FALSE(this->spend({key, &five, 1}).allowed());
  }
}

TYPED_TEST_P(StoreConformance, ConcurrentSpendersAdmitExactlyTheLimit) {
  constexpr int kThreads = 4;
  constexpr int kSpendsEach = 400;
  for (std::size_t index = 0; index < 8; ++index) {
    const Quota& like = this->quotas_[index];
    const Quota quota = made({like.algorithm(), 1000, 1h}).following({like.active(), 1});
    std::atomic<int> admitted{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        for (int spend = 0; spend < kSpendsEach; ++spend) {
          if (this->spend({this->key(index), &quota, 1}).allowed()) admitted.fetch_add(1);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(admitted.load(), 1000) << algorithm_name(quota.algorithm());
  }
}

TYPED_TEST_P(StoreConformance, ChargesCountWhetherOrNotTheyFit) {
  for (std::size_t index = 0; index < this->quotas_.size(); ++index) {
    const Quota& quota = this->quotas_[index];
    const Charge look{this->key(index), &quota, 0};
    const Charge seven{this->key(index), &quota, quota.limit() / 5 * 3 + 1};
    int through = 0;
    for (int i = 0; i < 10; ++i) {
      if (!this->look(look).allowed()) continue;
      ++through;
      const Decision charged = this->ask(Operation::kCharge, seven, kConformanceStart);
      EXPECT_EQ(charged.allowed(), through == 1) << algorithm_name(quota.algorithm());
      EXPECT_EQ(charged.retry_after > 0s, through == 2);
    }
    EXPECT_EQ(through, 2) << algorithm_name(quota.algorithm());
    EXPECT_FALSE(this->spend({look.key, &quota, 1}).allowed());
    EXPECT_EQ(this->ask(Operation::kReset, look, kConformanceStart).remaining, quota.limit());
  }
}

TYPED_TEST_P(StoreConformance, WhatDoesNotFitTakesWhatIsLeft) {
  for (std::size_t index = 0; index < this->quotas_.size(); ++index) {
    const Quota& quota = this->quotas_[index];
    const Charge most{this->key(index), &quota, quota.limit() / 5 * 3 + 1};
    const Decision first = this->ask(Operation::kDrain, most, kConformanceStart);
    EXPECT_TRUE(first.allowed()) << algorithm_name(quota.algorithm());
    EXPECT_EQ(first.remaining, quota.limit() - most.cost);
    const Decision second = this->ask(Operation::kDrain, most, kConformanceStart);
    EXPECT_FALSE(second.allowed()) << algorithm_name(quota.algorithm());
    EXPECT_EQ(second.remaining, 0);
    EXPECT_GT(second.retry_after, Duration{0});
    EXPECT_EQ(this->look({most.key, &quota, 0}).remaining, 0);
    EXPECT_FALSE(this->spend({most.key, &quota, 1}).allowed());
    if (quota.active() == Algorithm::kExponentialBackoff) continue;  // it cools down
    EXPECT_EQ(this->spend({most.key, &quota, -1}).remaining, 1)
        << "nothing is owed: " << algorithm_name(quota.algorithm());
  }
}

TYPED_TEST_P(StoreConformance, ADebtIsTwiceTheLimitAtMost) {
  for (std::size_t index = 0; index < this->quotas_.size(); ++index) {
    const Quota& quota = this->quotas_[index];
    const Charge all{this->key(index), &quota, kCostMax};
    for (int i = 0; i < 3; ++i) this->ask(Operation::kCharge, all, kConformanceStart);
    EXPECT_EQ(this->spend({all.key, &quota, -quota.limit()}).remaining, 0);
    EXPECT_EQ(this->spend({all.key, &quota, -1}).remaining, 1) << algorithm_name(quota.algorithm());
  }
}

REGISTER_TYPED_TEST_SUITE_P(StoreConformance, AdmitsTheLimitAndNoMore, RetryAfterIsTheTruth,
                            CostZeroAndNegativeAndNever, LookingTellsAndChangesNothing,
                            ResettingForgetsTheKeyOnly, EachOfABatchIsDecidedForItself,
                            AllOrNothingChargesAllWhenAllFit,
                            AllOrNothingChargesNothingWhenOneIsDenied,
                            AllOrNothingCountsAKeyThatComesTwice,
                            AChangedLimitGoesOnWithWhatWasCounted,
                            ConcurrentSpendersAdmitExactlyTheLimit, ChargesCountWhetherOrNotTheyFit,
                            WhatDoesNotFitTakesWhatIsLeft, ADebtIsTwiceTheLimitAtMost);

}  // namespace weir
