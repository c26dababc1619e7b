#include "weir/limiter.h"

#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

class ManualClock final : public Clock {
 public:
  Instant now() const noexcept override { return now_; }
  void advance(Duration duration) { now_ += duration; }

 private:
  Instant now_ = instant_from_epoch_us(1'700'006'400'000'000);
};

class LimiterTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  std::unique_ptr<MemoryStore> store_ = make_memory_store({.max_keys = 1024}, clock_.now());
  Limiter limiter_{*store_, clock_, {.limit = 3, .window = 1min}, HashSecret{}};
};

TEST_F(LimiterTest, BucketsIsolate) {
  for (int hit = 0; hit < 3; ++hit) EXPECT_TRUE(limiter_.hit("login", "ann")->allowed());
  EXPECT_FALSE(limiter_.hit("login", "ann")->allowed());
  EXPECT_TRUE(limiter_.hit("search", "ann")->allowed());
  EXPECT_TRUE(limiter_.hit("login", "bob")->allowed());
}

// A limiter keeps its first bucket. Buckets of the same length with another byte are others.
TEST_F(LimiterTest, AKeptBucketIsTakenForNoOther) {
  for (std::size_t size = 0; size <= 16; ++size) {
    const Limiter limiter(*store_, clock_, {.limit = 3, .window = 1min}, HashSecret{});
    const Limiter copy = limiter;
    const std::string first(size, 'b');
    std::vector<std::jthread> threads;
    for (const Limiter* each : {&limiter, &copy, &limiter}) {
      threads.emplace_back([each, &first] { EXPECT_TRUE(each->hit(first, "k")->allowed()); });
    }
    threads.clear();
    EXPECT_FALSE(limiter.hit(first, "k")->allowed());
    EXPECT_EQ(limiter.look(first, "k")->remaining, 0) << "they are counted where look() looks";
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = first;
      other[at] = 'c';
      EXPECT_EQ(limiter.hit(other, "k")->remaining, 2) << size << " " << at;
    }
  }
}

TEST_F(LimiterTest, EachCallMayOverrideTheDefaults) {
  EXPECT_EQ(limiter_.hit("b", "k", {.cost = 2})->remaining, 1);
  EXPECT_EQ(limiter_.hit("b", "k", {.limit = 10})->remaining, 7);   // the same counter
  EXPECT_EQ(limiter_.hit("b", "k", {.window = 1h})->remaining, 2);  // another counter
  EXPECT_EQ(limiter_.hit("b", "k", {.algorithm = Algorithm::kTokenBucket, .burst = 7})->limit, 7);
}

TEST_F(LimiterTest, ABurstByDefaultIsTheTokenBucketsOnly) {
  const QuotaSpec bucket{Algorithm::kTokenBucket, 3, 1min, 9};
  const Limiter limiter(*store_, clock_, bucket, HashSecret{});
  EXPECT_EQ(limiter.hit("b", "k")->limit, 9);
  EXPECT_EQ(limiter.hit("b", "k", {.algorithm = Algorithm::kFixedWindow})->limit, 3);
}

TEST_F(LimiterTest, DefaultsMayBeMissingIfEachHitBringsThem) {
  const Limiter limiter(*store_, clock_, {}, HashSecret{});
  const auto missing = limiter.hit("b", "k");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kInvalidQuota);
  EXPECT_EQ(missing.error().field, "window");
  EXPECT_TRUE(limiter.hit("b", "k", {.limit = 1, .window = 1s})->allowed());
}

TEST_F(LimiterTest, RefusesWhatCannotBeEnforced) {
  EXPECT_EQ(limiter_.hit("b", "k", {.limit = -1}).error().field, "limit");
  EXPECT_EQ(limiter_.hit("b", "k", {.window = 1us}).error().field, "window");
  EXPECT_EQ(limiter_.hit("b", "k", {.burst = 5}).error().field, "burst");
  EXPECT_EQ(limiter_.hit("b", "k", {.cost = kCostMax + 1}).error().code, ErrorCode::kInvalidCost);
  EXPECT_EQ(limiter_.hit("b", "k")->remaining, 2) << "none of them was charged";
}

TEST_F(LimiterTest, SeveralHitsAreAllOrNothing) {
  const std::array hits = {Hit{"user", "ann", {}}, Hit{"address", "::1", {.limit = 1}}};
  std::array<Decision, 2> decisions;
  EXPECT_TRUE(*limiter_.hit(hits, decisions));
  EXPECT_EQ(decisions[0].remaining, 2);
  EXPECT_FALSE(*limiter_.hit(hits, decisions));
  EXPECT_TRUE(decisions[0].allowed());
  EXPECT_EQ(decisions[1].verdict, Verdict::kDenied);
  EXPECT_EQ(limiter_.look("user", "ann")->remaining, 2) << "the denial charged nothing";
}

TEST_F(LimiterTest, RefusesMoreHitsThanFitABatch) {
  const std::vector<Hit> hits(Batch::kChargesMax + 1, Hit{"b", "k", {}});
  std::vector<Decision> decisions(hits.size());
  EXPECT_EQ(limiter_.hit(hits, decisions).error().code, ErrorCode::kTooManyCharges);
}

// A store that answers on another thread, or not at all.
class DistantStore final : public Store {
 public:
  ~DistantStore() override {
    for (auto& thread : threads_) thread.join();
  }
  void decide(Batch& batch, Instant) noexcept override {
    threads_.emplace_back([this, &batch] {
      batch.error = error;
      for (Decision& decision : batch.decisions) decision.remaining = 42;
      batch.on_done(batch);
    });
  }
  StoreError error = StoreError::kNone;

 private:
  std::vector<std::thread> threads_;
};

TEST_F(LimiterTest, WaitsForAStoreThatAnswersLater) {
  DistantStore store;
  const Limiter limiter(store, clock_, {.limit = 3, .window = 1min}, HashSecret{});
  for (int hit = 0; hit < 20; ++hit) EXPECT_EQ(limiter.hit("b", "k")->remaining, 42);
}

TEST_F(LimiterTest, AnOutageIsAnErrorAndNoDenial) {
  DistantStore store;
  store.error = StoreError::kUnavailable;
  const Limiter limiter(store, clock_, {.limit = 3, .window = 1min}, HashSecret{});
  const auto decision = limiter.hit("b", "k");
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, ErrorCode::kStoreUnavailable);
}

// Answers in the order of the questions, on its own thread.
class QueueStore final : public Store {
 public:
  ~QueueStore() override {
    {
      const auto lock = std::scoped_lock(mutex_);
      ends_ = true;
      asked_.notify_one();
    }
    thread_.join();
  }
  void decide(Batch& batch, Instant) noexcept override {
    const auto lock = std::scoped_lock(mutex_);
    queue_.push_back(&batch);
    asked_.notify_one();
  }

 private:
  void answer() {
    auto lock = std::unique_lock(mutex_);
    for (;;) {
      asked_.wait(lock, [this] { return ends_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Batch& batch = *queue_.front();
      queue_.pop_front();
      lock.unlock();
      for (Decision& decision : batch.decisions) decision.remaining = 42;
      batch.on_done(batch);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<Batch*> queue_;
  bool ends_ = false;
  std::thread thread_{[this] { answer(); }};
};

TEST_F(LimiterTest, ACallerMayBeGoneBeforeWhoAnsweredItIs) {
  QueueStore store;
  const Limiter limiter(store, clock_, {.limit = 3, .window = 1min}, HashSecret{});
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] { EXPECT_EQ(limiter.hit("b", "k")->remaining, 42); });
    }
    for (auto& caller : callers) caller.join();
  }
}

// Asks another store through its own limiter before it passes the batch on.
class AskingStore final : public Store {
 public:
  AskingStore(Store& below, const Limiter& other) : below_(below), other_(other) {}
  void decide(Batch& batch, Instant now) noexcept override {
    below_.decide(batch, now);
    EXPECT_EQ(other_.hit("b", "k")->remaining, 42);
  }

 private:
  Store& below_;
  const Limiter& other_;
};

TEST_F(LimiterTest, AHitWithinAHitWaitsForItsOwnAnswer) {
  QueueStore store;
  DistantStore other;
  const Limiter inner(other, clock_, {.limit = 3, .window = 1min}, HashSecret{});
  AskingStore asking(store, inner);
  const Limiter limiter(asking, clock_, {.limit = 3, .window = 1min}, HashSecret{});
  for (int hit = 0; hit < 20; ++hit) EXPECT_EQ(limiter.hit("b", "k")->remaining, 42);
}

}  // namespace
}  // namespace weir
