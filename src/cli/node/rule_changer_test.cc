#include "cli/node/rule_changer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <new>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/config.h"

namespace weir {
namespace {

using enum ChangeOutcome;

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Instant kNow = instant_from_epoch_us(0);
constexpr auto kStopping = "The server is stopping.";

std::string login(int limit) {
  return R"({"id":"login","window":"1m","limit":)" + std::to_string(limit) + "}";
}

class RuleChangerTest : public testing::Test {
 protected:
  RuleChangerTest() {
    book_.load({.text = "rules: []"}, kNow);
    compiling_.acquire();
  }

  void put(int limit, std::optional<std::uint64_t> if_version = {}) {
    changer_.change({.id = "login", .text = login(limit), .if_version = if_version}, note(), kNow);
  }
  RuleChanger::Done note() {
    return [this](RuleReply reply) {
      const std::scoped_lock lock(mutex_);
      threads_.push_back(std::this_thread::get_id());
      replies_.push_back(std::move(reply));
    };
  }
  // From now on a change compiles until go_on() is called.
  void hold() { is_held_ = true; }
  void wait_until_it_compiles() { compiling_.acquire(); }
  void go_on() {
    is_held_ = false;
    go_on_.release();
  }
  // The replies, when all waiting changes have one.
  std::vector<RuleReply> replies() {
    auto done = std::promise<void>();
    changer_.run([] { return RuleReply(); }, [&](const RuleReply&) { done.set_value(); });
    done.get_future().wait();
    const std::scoped_lock lock(mutex_);
    return replies_;
  }
  static std::vector<ChangeOutcome> outcomes(const std::vector<RuleReply>& replies) {
    auto all = std::vector<ChangeOutcome>();
    for (const auto& reply : replies) all.push_back(reply.outcome);
    return all;
  }

  RuleSetPtr compile(std::vector<Rule> rules) {
    compiling_.release();
    if (is_held_) go_on_.acquire();
    return std::make_shared<const RuleSet>(std::move(rules));
  }

  std::atomic<bool> is_held_{false};
  std::counting_semaphore<> compiling_{0};
  std::binary_semaphore go_on_{0};
  bool is_stopping_ = false;  // as a change sees it
  std::mutex mutex_;          // guards replies_ and threads_
  std::vector<RuleReply> replies_;
  std::vector<std::thread::id> threads_;
  Rulebook book_{
      "", [this](std::vector<Rule> rules, RequestSources) { return compile(std::move(rules)); },
      [] {}};
  RuleChanger changer_{book_, nullptr};
};

TEST_F(RuleChangerTest, MakesOneChangeAfterTheOtherOnItsThread) {
  hold();
  for (int limit = 1; limit <= 10; ++limit) put(limit);
  wait_until_it_compiles();
  go_on();
  const auto all = replies();
  ASSERT_THAT(all, SizeIs(10));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].version, i + 2);
  EXPECT_EQ(book_.rules()->find("login")->quota.limit(), 10);
  EXPECT_THAT(threads_, Each(threads_.front()));
  EXPECT_NE(threads_.front(), std::this_thread::get_id());
}

TEST_F(RuleChangerTest, ComparesTheVersionWhenItIsAChangesTurn) {
  hold();
  put(1, 1);
  put(2, 1);
  put(3, 2);
  wait_until_it_compiles();
  go_on();
  EXPECT_THAT(outcomes(replies()), ElementsAre(kAdded, kOutdated, kDone));
}

TEST_F(RuleChangerTest, OfManyWhoSawOneVersionOneChangesIt) {
  auto threads = std::vector<std::thread>();
  for (int i = 0; i < 8; ++i) threads.emplace_back([this, i] { put(i, 1); });
  for (auto& thread : threads) thread.join();
  const auto all = outcomes(replies());
  EXPECT_EQ(std::ranges::count(all, kAdded), 1);
  EXPECT_EQ(std::ranges::count(all, kOutdated), 7);
}

TEST_F(RuleChangerTest, WhoLooksDoesNotWaitForAChange) {
  hold();
  put(1);
  wait_until_it_compiles();
  EXPECT_EQ(changer_.view()->version, 1u);
  EXPECT_THAT(changer_.view()->rules, IsEmpty());
  EXPECT_THAT(changer_.history(), SizeIs(1));
  EXPECT_THAT(book_.rules()->rules(), IsEmpty());
  go_on();
  EXPECT_THAT(outcomes(replies()), ElementsAre(kAdded));
  EXPECT_EQ(changer_.view()->version, 2u);
  EXPECT_THAT(changer_.history(), SizeIs(2));
}

TEST_F(RuleChangerTest, RefusesAtOnceWhatCannotEvenWait) {
  hold();
  put(1);
  wait_until_it_compiles();
  for (std::size_t i = 0; i < RuleChanger::kWaitingMax; ++i) put(2);
  put(3);
  {
    const std::scoped_lock lock(mutex_);
    EXPECT_THAT(outcomes(replies_), ElementsAre(kNotNow));
    EXPECT_THAT(threads_, ElementsAre(std::this_thread::get_id()));
  }
  go_on();
  changer_.stop();
  EXPECT_THAT(replies_, SizeIs(RuleChanger::kWaitingMax + 2));
}

TEST_F(RuleChangerTest, AStopEndsOneChangeAndRefusesThoseThatWait) {
  // This change goes on until it sees that the stop has begun.
  changer_.run(
      [this] {
        compiling_.release();
        go_on_.acquire();
        while (!is_stopping_) {
          changer_.run(
              [] { return RuleReply(); },
              [this](const RuleReply& reply) { is_stopping_ |= reply.detail == kStopping; });
          std::this_thread::yield();
        }
        return RuleReply{.outcome = kAdded};
      },
      note());
  wait_until_it_compiles();
  put(1);
  go_on_.release();
  changer_.stop();
  ASSERT_THAT(outcomes(replies_), ElementsAre(kAdded, kNotNow));
  EXPECT_EQ(replies_.back().detail, kStopping);
  EXPECT_EQ(replies_.back().version, 1u);
  put(2);
  EXPECT_THAT(outcomes(replies_), ElementsAre(kAdded, kNotNow, kNotNow));
  EXPECT_EQ(book_.rules()->find("login"), nullptr);
}

TEST_F(RuleChangerTest, SurvivesAChangeThatWantsTooMuchMemory) {
  changer_.run([]() -> RuleReply { throw std::bad_alloc(); }, note());
  put(1);
  EXPECT_THAT(outcomes(replies()), ElementsAre(kNotNow, kAdded));
}

// Once a configuration folder that became a loop of links ended the process.
TEST_F(RuleChangerTest, SurvivesAChangeThatFailsInAnUnknownWay) {
  changer_.run([]() -> RuleReply { throw std::runtime_error("too many links"); }, note());
  put(1);
  EXPECT_THAT(outcomes(replies()), ElementsAre(kNotNow, kAdded));
  EXPECT_EQ(replies_.front().detail, "too many links");
}

TEST_F(RuleChangerTest, MakesOneDryRunAtATime) {
  const auto judge = [&] {
    auto verdict = std::make_shared<std::promise<RuleVerdict>>();
    changer_.judge(
        {.id = "login", .text = login(1), .over = std::chrono::minutes(5)},
        [verdict](RuleVerdict done) { verdict->set_value(std::move(done)); }, kNow);
    return verdict->get_future();
  };
  hold();
  put(1);
  wait_until_it_compiles();
  auto first = judge();
  const RuleVerdict second = judge().get();  // at once
  EXPECT_EQ(second.outcome, kNotNow);
  EXPECT_EQ(second.detail, "Another dry run is under way.");
  go_on();
  EXPECT_THAT(first.get().dry_runs, SizeIs(1));
  EXPECT_THAT(judge().get().dry_runs, SizeIs(1));
}

}  // namespace
}  // namespace weir
