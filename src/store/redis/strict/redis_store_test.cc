// The store over a client that the test controls.

#include "store/redis/strict/redis_store.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/testing/asked.h"
#include "proto/reactor_testing.h"
#include "store/redis/calls/calls_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::Asked;

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);

struct Journal final : RedisListener {
  void redis_failed(RedisFailure failure, std::string_view, Instant) override {
    text += std::string(failure_name(failure)) + " ";
  }
  void breaker_changed(Instant) override { text += "breaker "; }
  std::string text;
};

class RedisStoreTest : public ::testing::Test {
 protected:
  Charge charge(std::uint64_t key = 1, std::int64_t cost = 1) {
    return {{key, key}, &quota_, cost};
  }
  void ask(Asked& asked, Instant now) { store_->decide(asked.batch, now); }
  // In its own round of the loop.
  void ask_alone(Asked& asked, Instant now) {
    ask(asked, now);
    reactor_.run(now);
  }
  void start(const RedisStoreOptions& options) {
    sender_.emplace(options, client_, reactor_, journal_);
    store_.emplace(options, *sender_);
  }
  // Calls fail until the breaker opens.
  void break_down(Instant now) {
    for (int i = Breaker::kFailuresMax; i > 0; --i) {
      const Instant at = now - (i - 1) * 1us;
      Asked asked({charge()});
      ask_alone(asked, at);
      client_.fail(RedisFailure::kTimedOut, at);
      EXPECT_TRUE(asked.has_failed());
    }
    EXPECT_FALSE(sender_->breaker().closed());
  }

  const Quota quota_ = *Quota::make({Algorithm::kFixedWindow, 10, 1min});
  ManualReactor reactor_;
  FakeClient client_;
  Journal journal_;
  std::optional<RedisSender> sender_{std::in_place, RedisStoreOptions{}, client_, reactor_,
                                     journal_};
  std::optional<RedisStore> store_{std::in_place, RedisStoreOptions{}, *sender_};
};

const std::vector<std::int64_t> kAllowed = {1, 9 * 64, 50};  // the reply to a batch of one

TEST_F(RedisStoreTest, BatchesOfOneRoundShareACall) {
  Asked one({charge(1)});
  Asked two({charge(2), charge(3)}, Operation::kLook);
  ask(one, kStart);
  ask(two, kStart);
  EXPECT_EQ(client_.calls, 0);
  reactor_.run(kStart);
  EXPECT_EQ(client_.calls, 1);
  EXPECT_EQ(client_.sent[0].words[2], "3");
  EXPECT_EQ(client_.sent[0].deadline, kStart + 20ms);
  client_.answer({1, 9 * 64, 50, 8 * 64, 51, 1, 52, 53}, kStart + 1ms);
  EXPECT_TRUE(one.is_allowed());
  EXPECT_FALSE(two.has_failed());
  EXPECT_EQ(one.decisions[0].remaining, 9);
  EXPECT_EQ(two.decisions[0].reset_after, 51us);
  EXPECT_EQ(two.decisions[1].retry_after, 53us);
  EXPECT_EQ(sender_->counts().charges, 3u);
}

TEST_F(RedisStoreTest, GathersWhileACallIsOut) {
  std::deque<Asked> asked;
  for (std::uint64_t key = 1; key <= 4; ++key) {
    ask_alone(asked.emplace_back(std::vector<Charge>{charge(key)}), kStart);
  }
  EXPECT_EQ(client_.calls, 1);
  client_.answer(kAllowed, kStart + 500us);
  reactor_.run(kStart + 500us);
  EXPECT_EQ(client_.calls, 2);
  EXPECT_EQ(client_.sent[0].words[2], "3");
}

TEST_F(RedisStoreTest, GathersNotForLong) {
  Asked first({charge(1)});
  Asked second({charge(2)});
  Asked third({charge(3)});
  ask_alone(first, kStart);
  ask_alone(second, kStart + 100us);
  ask_alone(third, kStart + 900us);
  EXPECT_EQ(client_.calls, 1);
  EXPECT_EQ(reactor_.next(), kStart + 100us + RedisSender::kGatherMax);
  reactor_.run(reactor_.next());
  ASSERT_EQ(client_.calls, 2);
  EXPECT_EQ(client_.sent[1].words[2], "2");
}

TEST_F(RedisStoreTest, GathersForAPartOfTheDeadline) {
  start({.deadline = 2ms});
  Asked first({charge(1)});
  Asked second({charge(2)});
  ask_alone(first, kStart);
  ask_alone(second, kStart + 100us);
  EXPECT_EQ(client_.calls, 1);
  EXPECT_EQ(reactor_.next(), kStart + 600us);
}

TEST_F(RedisStoreTest, AsksNothingThatIsTooLate) {
  Asked first({charge(1)});
  Asked late({charge(2)});
  ask_alone(first, kStart);
  ask(late, kStart);
  reactor_.run(kStart + 20ms);  // after a long pause
  EXPECT_EQ(client_.calls, 1);
  EXPECT_TRUE(late.has_failed());
}

TEST_F(RedisStoreTest, GathersNoMoreThanIsWorthACall) {
  std::deque<Asked> asked;
  for (std::uint64_t key = 1; key <= 1 + RedisSender::kChargesWorthACall; ++key) {
    ask_alone(asked.emplace_back(std::vector<Charge>{charge(key)}), kStart);
  }
  EXPECT_EQ(client_.calls, 2);
}

TEST_F(RedisStoreTest, InAClusterACallIsOfOneSlot) {
  start({.spread = KeySpread::kCluster});
  Asked one({charge(1)});
  Asked two({charge(2)});
  Asked again({charge(1)});
  for (Asked* asked : {&one, &two, &again}) ask(*asked, kStart);
  reactor_.run(kStart);
  ASSERT_EQ(client_.calls, 2);
  EXPECT_EQ(client_.sent[0].words[2], "1");  // one key, charged twice
  EXPECT_NE(client_.sent[0].slot, client_.sent[1].slot);
  EXPECT_EQ(sender_->counts().charges, 3u);
}

TEST_F(RedisStoreTest, FailsAtTheDeadlineAndThrowsTheLateReplyAway) {
  Asked early({charge(1)});
  Asked late({charge(2)});
  ask(early, kStart);
  ask(late, kStart + 5ms);
  reactor_.run(kStart + 5ms);
  EXPECT_EQ(reactor_.next(), kStart + 20ms);
  reactor_.run(kStart + 20ms);
  EXPECT_TRUE(early.has_failed());
  EXPECT_EQ(late.answers, 0);
  client_.answer({1, 9 * 64, 50, 7 * 64, 50}, kStart + 21ms);
  EXPECT_TRUE(late.is_allowed());
  EXPECT_EQ(late.decisions[0].remaining, 7);
  EXPECT_EQ(early.answers, 1);
  EXPECT_EQ(journal_.text, "timed_out ");
}

TEST_F(RedisStoreTest, FailsAtTheDeadlineWhatHasNotEvenLeft) {
  std::deque<Asked> asked;
  for (std::uint64_t key = 1; key <= 3; ++key) {
    ask_alone(asked.emplace_back(std::vector<Charge>{charge(key)}), kStart);
  }
  reactor_.run(kStart + 20ms);
  for (const Asked& one : asked) EXPECT_TRUE(one.has_failed());
}

TEST_F(RedisStoreTest, FailsAtOnceWithoutAConnection) {
  client_.link.phase = LinkState::Phase::kDisconnected;
  Asked asked({charge()});
  ask(asked, kStart);
  EXPECT_TRUE(asked.has_failed());
  client_.link.phase = LinkState::Phase::kConnected;
  client_.refusal = RedisFailure::kOverloaded;
  Asked refused({charge()});
  ask_alone(refused, kStart);
  EXPECT_TRUE(refused.has_failed());
  EXPECT_EQ(journal_.text, "disconnected overloaded ");
}

TEST_F(RedisStoreTest, LoadsTheScriptWhenItIsNotThere) {
  Asked asked({charge()});
  ask_alone(asked, kStart);
  const auto words = client_.sent[0].words;
  client_.reply("-NOSCRIPT No matching script. Please use EVAL.\r\n", kStart + 1ms);
  EXPECT_EQ(asked.answers, 0);
  ASSERT_EQ(client_.sent.size(), 1u);
  EXPECT_EQ(client_.sent[0].words[0], "EVAL");
  EXPECT_EQ(client_.sent[0].words[1], ChargeCall::text());
  EXPECT_EQ(client_.sent[0].words[3], words[3]);
  EXPECT_EQ(client_.sent[0].words.back(), words.back());
  EXPECT_EQ(client_.sent[0].deadline, kStart + 20ms);
  client_.answer(kAllowed, kStart + 2ms);
  EXPECT_TRUE(asked.is_allowed());
  EXPECT_EQ(sender_->counts().reloads, 1u);
}

TEST_F(RedisStoreTest, DoesNotLoadTheScriptForEver) {
  Asked asked({charge()});
  ask_alone(asked, kStart);
  client_.reply("-NOSCRIPT\r\n", kStart + 1ms);
  client_.reply("-NOSCRIPT\r\n", kStart + 1ms);
  EXPECT_TRUE(asked.has_failed());
  EXPECT_TRUE(client_.sent.empty());
}

TEST_F(RedisStoreTest, AForeignKeyFailsItsBatchOnly) {
  Asked bad({charge(1), charge(2)});
  Asked good({charge(3)});
  ask(bad, kStart);
  ask(good, kStart);
  reactor_.run(kStart);
  client_.answer({1, 3 + 4, 9 * 64, 50}, kStart);
  EXPECT_TRUE(bad.has_failed());
  EXPECT_TRUE(good.is_allowed());
  EXPECT_EQ(journal_.text, "foreign_type ");
}

TEST_F(RedisStoreTest, RepliesThatMakeNoSenseAreFailures) {
  for (const std::string text : {"+OK\r\n", "*0\r\n", "$-1\r\n", "*2\r\n:1\r\n:3\r\n"}) {
    Asked asked({charge()});
    ask_alone(asked, kStart);
    client_.reply(text, kStart);
    EXPECT_TRUE(asked.has_failed()) << text;
  }
}

TEST_F(RedisStoreTest, StopsAskingAndTriesAgainByItself) {
  break_down(kStart);
  EXPECT_EQ(journal_.text, "timed_out breaker ");
  Asked refused({charge()});
  ask(refused, kStart + 1ms);
  EXPECT_TRUE(refused.has_failed());
  EXPECT_TRUE(client_.sent.empty());

  const Instant probe_at = sender_->breaker().probe_at();
  EXPECT_EQ(reactor_.next(), probe_at);
  reactor_.run(probe_at);
  ASSERT_EQ(client_.sent.size(), 1u);
  client_.reply("-READONLY You can't write\r\n", probe_at);
  EXPECT_FALSE(sender_->breaker().closed());
  const Instant second = sender_->breaker().probe_at();
  EXPECT_GT(second, probe_at);
  reactor_.run(second);
  client_.answer(kAllowed, second);
  EXPECT_TRUE(sender_->breaker().closed());
  EXPECT_EQ(journal_.text, "timed_out breaker breaker ");

  Asked asked({charge()});
  ask_alone(asked, second);
  client_.answer(kAllowed, second);
  EXPECT_TRUE(asked.is_allowed());
}

TEST_F(RedisStoreTest, ARefusedProbeIsTriedAgain) {
  break_down(kStart);
  client_.refusal = RedisFailure::kDisconnected;
  Instant now = kStart;
  for (int probe = 0; probe < 5; ++probe) {
    const Instant next = sender_->breaker().probe_at();
    EXPECT_GT(next, now);
    EXPECT_LE(next, now + 1s);
    now = next;
    reactor_.run(now);
  }
  client_.refusal.reset();
  reactor_.run(sender_->breaker().probe_at());
  client_.answer(kAllowed, now);
  EXPECT_TRUE(sender_->breaker().closed());
}

TEST_F(RedisStoreTest, RemembersADenialUntilItCanChange) {
  Asked denied({charge()});
  ask_alone(denied, kStart);
  client_.answer({1, 1, 500'000, 500'000}, kStart + 2ms);
  Asked again({charge()});
  ask(again, kStart + 300ms);
  EXPECT_EQ(again.decisions[0].verdict, Verdict::kDenied);
  EXPECT_EQ(again.decisions[0].retry_after, 200ms);
  EXPECT_EQ(again.answers, 1);
  EXPECT_EQ(store_->remembered(), 1u);

  Asked look({charge()}, Operation::kLook);
  ask(look, kStart + 300ms);
  EXPECT_EQ(look.answers, 0);
  Asked later({charge()});
  ask(later, kStart + 500ms);
  EXPECT_EQ(later.answers, 0);
}

TEST_F(RedisStoreTest, RemembersNoDenialOfAKeyThatComesTwiceInAGroup) {
  Asked denied({charge(), charge()}, Operation::kSpendAll);
  ask_alone(denied, kStart);
  client_.answer({1, 1, 500'000, 500'000, 1, 500'000, 500'000}, kStart + 2ms);
  ASSERT_EQ(denied.answers, 1);
  Asked again({charge()});
  ask(again, kStart + 300ms);
  EXPECT_EQ(again.answers, 0);  // one of them may fit
}

TEST_F(RedisStoreTest, ResetsAndRefundsForgetADenial) {
  for (const bool resets : {true, false}) {
    Asked denied({charge()});
    ask_alone(denied, kStart);
    client_.answer({1, 1, 500'000, 500'000}, kStart);
    Asked frees({charge(1, resets ? 1 : -1)}, resets ? Operation::kReset : Operation::kSpendEach);
    ask(frees, kStart);
    Asked again({charge()});
    ask(again, kStart);
    EXPECT_EQ(again.answers, 0);
    reactor_.run(kStart);
    client_.answer({1, 640, 0, 9 * 64, 50}, kStart);
    EXPECT_TRUE(again.is_allowed());
  }
}

// Another node may give back the units that took the key over its limit; then all charges are owed.
TEST_F(RedisStoreTest, RemembersOverAFixedWindowsLimitOnlySingleHits) {
  const std::vector<std::int64_t> denied = {1, 1, 500'000, 500'000};
  Asked over({charge(1, 14)}, Operation::kCharge);
  ask_alone(over, kStart);
  client_.answer(denied, kStart);
  Asked hit({charge(1, 1)}, Operation::kCharge);
  ask(hit, kStart);
  EXPECT_EQ(hit.answers, 1);
  Asked more({charge(1, 7)}, Operation::kCharge);
  ask_alone(more, kStart);
  EXPECT_EQ(more.answers, 0);
  client_.answer(denied, kStart);
  EXPECT_EQ(more.answers, 1);

  Asked look({charge(1, 0)}, Operation::kLook);
  ask_alone(look, kStart);
  client_.answer(kAllowed, kStart);
  EXPECT_TRUE(look.is_allowed());
  Asked then({charge(1, 1)}, Operation::kCharge);
  ask_alone(then, kStart);
  EXPECT_EQ(then.answers, 0);
  client_.answer(denied, kStart);
}

TEST_F(RedisStoreTest, AskingFromWithinAnAnswerIsFine) {
  Asked second({charge(2)});
  Asked first({charge(1)});
  first.then = [&] { ask(second, kStart + 1ms); };
  ask_alone(first, kStart);
  client_.answer(kAllowed, kStart + 1ms);
  reactor_.run(kStart + 1ms);
  client_.answer(kAllowed, kStart + 2ms);
  EXPECT_TRUE(second.is_allowed());

  Asked third({charge(3)});
  Asked failing({charge(4)});
  failing.then = [&] { ask(third, kStart + 3ms); };
  ask_alone(failing, kStart + 2ms);
  client_.fail(RedisFailure::kDisconnected, kStart + 3ms);
  EXPECT_TRUE(failing.has_failed());
  reactor_.run(kStart + 3ms);
  client_.answer(kAllowed, kStart + 4ms);
  EXPECT_TRUE(third.is_allowed());
}

TEST_F(RedisStoreTest, MayBeDestroyedWhileCallsAreOut) {
  Asked flying({charge(1)});
  Asked waiting({charge(2)});
  ask_alone(flying, kStart);
  ask(waiting, kStart);
  store_.reset();
  sender_.reset();
  EXPECT_TRUE(client_.sent.empty());
  EXPECT_EQ(reactor_.next(), Instant::max());
  EXPECT_EQ(flying.answers + waiting.answers, 0);
}

TEST_F(RedisStoreTest, FailsAllThatWaitsWhenItGivesUp) {
  Asked answered({charge(3)});
  ask_alone(answered, kStart);
  client_.answer(kAllowed, kStart);
  Asked flying({charge(1)});
  Asked waiting({charge(2)});
  ask_alone(flying, kStart);
  ask(waiting, kStart);
  sender_->give_up();
  EXPECT_TRUE(answered.is_allowed());
  EXPECT_TRUE(flying.has_failed());
  EXPECT_TRUE(waiting.has_failed());
}

TEST_F(RedisStoreTest, WaitingIsBounded) {
  client_.refusal.reset();
  std::deque<Asked> asked;
  for (std::uint64_t key = 0; key <= RedisSender::kWaitingMax; ++key) {
    ask(asked.emplace_back(std::vector<Charge>{charge(key)}), kStart);
  }
  EXPECT_TRUE(asked.back().has_failed());
  EXPECT_EQ(asked.front().answers, 0);
  reactor_.run(kStart);
  EXPECT_EQ(client_.calls, static_cast<int>(RedisSender::kWaitingMax / ChargeCall::kChargesMax));
}

}  // namespace
}  // namespace weir
