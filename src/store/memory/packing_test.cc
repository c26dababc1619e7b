#include "store/memory/packing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "store/memory/memory_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kBase = kStart;
constexpr std::int64_t kYearUs = 366LL * 24 * 3600 * 1'000'000;
const Packing kPacking(kBase);
// Whatever is spent until then is void within the 17.8 years that a word can tell.
constexpr Instant kLast = kBase + Duration{13 * kYearUs};

template <typename State>
void expect_same_after_packing(const Quota& quota, const State& state) {
  const SlotWord word = SlotWord::make(0xabcdef, Rank::kOverLimit, kPacking.pack(quota, state));
  State unpacked{};
  kPacking.unpack(quota, word, unpacked);
  EXPECT_TRUE(unpacked == state);
  EXPECT_EQ(word.fingerprint(), 0xabcdefu);
  EXPECT_EQ(word.rank(), Rank::kOverLimit);
  EXPECT_FALSE(word.claimed());
  EXPECT_FALSE(word.empty());
}

// A window of any allowed length, more often a usual one.
rc::Gen<Duration> windows() {
  return rc::gen::map(
      rc::gen::oneOf(rc::gen::element<std::int64_t>(1'000, 1'000'000, 60'000'000, 3'600'000'000,
                                                    86'400'000'000, kYearUs),
                     rc::gen::inRange<std::int64_t>(1'000, kYearUs)),
      [](std::int64_t us) { return Duration{us}; });
}

RC_GTEST_PROP(Packing, FixedWindowsComeBackExactly, ()) {
  const Duration window = *windows();
  const auto limit = *rc::gen::inRange<std::int64_t>(1, kLimitMax);
  const Quota quota = quota_of({Algorithm::kFixedWindow, limit, window});
  RC_PRE(Packing::fits(quota));
  const auto now_us = epoch_us(kBase) + *rc::gen::inRange<std::int64_t>(kYearUs, 8 * kYearUs);
  const algo::FixedWindowState state{now_us / window.count() * window.count(),
                                     *rc::gen::inRange<std::int64_t>(0, 2 * limit + 1)};
  expect_same_after_packing(quota, state);
}

RC_GTEST_PROP(Packing, SlidingWindowsComeBackExactly, ()) {
  const Duration window = *windows();
  const auto limit = *rc::gen::inRange<std::int64_t>(1, 35'000);
  const Quota quota = quota_of({Algorithm::kSlidingWindow, limit, window});
  RC_PRE(Packing::fits(quota));
  const auto now_us = epoch_us(kBase) + *rc::gen::inRange<std::int64_t>(kYearUs, 8 * kYearUs);
  const algo::SlidingWindowState state{now_us / window.count() * window.count(),
                                       *rc::gen::inRange<std::int64_t>(0, 2 * limit + 1),
                                       *rc::gen::inRange<std::int64_t>(0, 2 * limit + 1)};
  expect_same_after_packing(quota, state);
}

RC_GTEST_PROP(Packing, StrictWindowsComeBackExactlyAndInTime, ()) {
  const Duration window = *windows();
  const auto limit = *rc::gen::inRange<std::int64_t>(1, 400);
  const Quota quota = quota_of({Algorithm::kStrictWindow, limit, window});
  RC_PRE(Packing::fits(quota));
  const auto now_us = epoch_us(kBase) + *rc::gen::inRange<std::int64_t>(kYearUs, 8 * kYearUs);
  algo::StrictWindowState state;
  state.start_us = now_us / algo::sub_window_us(quota) * algo::sub_window_us(quota);
  for (std::int64_t& count : state.counts)
    count = *rc::gen::inRange<std::int64_t>(0, 2 * limit + 1);
  expect_same_after_packing(quota, state);
  const SlotWord word = SlotWord::make(1, Rank::kPlain, kPacking.pack(quota, state));
  const Instant is_void = algo::expiry(quota, state);
  if (is_void > Instant{}) RC_ASSERT(!kPacking.expired(word, is_void - 1us));
  RC_ASSERT(kPacking.expired(word, instant_from_epoch_us(now_us) + 6 * window));
}

// The largest limits that fit into slots, for windows of 1 ms, 1 s, 1 min and 1 h.
TEST(Packing, StrictWindowsFitUpToSomeHundreds) {
  for (const auto& [window, most] : std::initializer_list<std::pair<Duration, std::int64_t>>{
           {1ms, 31}, {1s, 127}, {1min, 255}, {1h, 511}, {24h, 1'023}}) {
    EXPECT_TRUE(Packing::fits(quota_of({Algorithm::kStrictWindow, most, window})));
    EXPECT_FALSE(Packing::fits(quota_of({Algorithm::kStrictWindow, most + 1, window})));
  }
}

RC_GTEST_PROP(Packing, TokenBucketsComeBackExactly, ()) {
  const auto limit = *rc::gen::inRange<std::int64_t>(1, 8'000'000);
  const Quota quota = quota_of({Algorithm::kTokenBucket, limit, 1s});
  RC_PRE(Packing::fits(quota));
  const auto now_us = epoch_us(kBase) + *rc::gen::inRange<std::int64_t>(kYearUs, 8 * kYearUs);
  expect_same_after_packing(quota, algo::TokenBucketState{now_us, *rc::gen::inRange<std::int64_t>(
                                                                      0, quota.ticks_per_us())});
}

// Any state that a life leads to: buckets, windows, and windows with a penalty.
RC_GTEST_PROP(Packing, AdaptiveStatesComeBackExactlyAndInTime, ()) {
  const Duration window = *windows();
  const auto limit = *rc::gen::inRange<std::int64_t>(1, 70'000);
  Quota quota = quota_of({Algorithm::kAdaptive, limit, window});
  RC_PRE(Packing::fits(quota));
  Instant now = kBase + Duration{*rc::gen::inRange<std::int64_t>(kYearUs, 8 * kYearUs)};
  algo::AdaptiveState state;
  for (int move = *rc::gen::inRange(1, 20); move > 0; --move) {
    now = std::min(now + Duration{*rc::gen::inRange<std::int64_t>(0, window.count())}, kLast);
    quota = quota.following({*rc::gen::element(Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                               Algorithm::kExponentialBackoff),
                             0});
    const auto cost = *rc::gen::inRange<std::int64_t>(1, limit + 1);
    state = *rc::gen::arbitrary<bool>() ? algo::charge(quota, state, 3 * cost, now).state
                                        : algo::decide(quota, state, cost, now).state;
    const bool counts_denials = quota.active() == Algorithm::kExponentialBackoff;
    for (int i = counts_denials ? *rc::gen::inRange(0, 60) : 0; i > 0; --i) {
      state = algo::record_denial(quota, state, now).state;
    }
    expect_same_after_packing(quota, state);
    const SlotWord word = SlotWord::make(1, Rank::kPlain, kPacking.pack(quota, state));
    const Instant is_void = algo::expiry(quota, state);
    if (is_void > now) RC_ASSERT(!kPacking.expired(word, is_void - 1us));
    RC_ASSERT(kPacking.expired(word, now + 27 * window + 40s));
  }
}

// Spends in the words of a life and in the algorithm's states. Returns how often it did in words.
template <typename State>
int spend_in_words(const Quota& quota, Instant now) {
  State state{};
  int spent = 0;
  for (int move = *rc::gen::inRange(1, 40); move > 0; --move) {
    const auto window_us = quota.window().count();
    now += Duration{*rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, window_us / 8),
                                    rc::gen::inRange<std::int64_t>(-window_us / 8, 3 * window_us))};
    now = std::min(now, kLast);
    const auto cost = *rc::gen::oneOf(rc::gen::just<std::int64_t>(1),
                                      rc::gen::inRange<std::int64_t>(1, quota.capacity() + 2));
    const SlotWord word = SlotWord::make(0xabcdef, Rank::kOverLimit, kPacking.pack(quota, state));
    const bool is_known = !(state == State{});
    if (is_known) kPacking.unpack(quota, word, state);  // in years that it can hold
    State current;
    const bool is_current = is_known && kPacking.unpack_now(quota, word, now, current);
    RC_ASSERT(!is_current || current == state);
    Decision decision;
    auto next = Packing::Next();
    if (is_current) next = kPacking.spend(quota, word, state, cost, now, decision);
    const auto step = algo::decide(quota, state, cost, now);
    if (next) {
      ++spent;
      RC_ASSERT(step.changed && decision.remaining > 0);
      RC_ASSERT(decision == step.decision);
      RC_ASSERT(next == SlotWord::make(0xabcdef, Rank::kPlain, kPacking.pack(quota, step.state)));
    }
    const bool charges = *rc::gen::inRange(0, 8) == 0;
    state = charges ? algo::charge(quota, state, cost, now).state : step.state;
  }
  return spent;
}

RC_GTEST_PROP(Packing, SpendingInAWordIsDecidingOnItsState, ()) {
  const Instant now = kBase + Duration{*rc::gen::inRange<std::int64_t>(kYearUs, 8 * kYearUs)};
  const auto limit = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 20),
                                     rc::gen::inRange<std::int64_t>(1, 35'000));
  const Duration window = *windows();
  const auto burst = *rc::gen::inRange<std::int64_t>(0, 4 * limit + 1);
  const auto fixed = quota_of({Algorithm::kFixedWindow, limit, window});
  const auto sliding = quota_of({Algorithm::kSlidingWindow, limit, window});
  const auto strict = quota_of({Algorithm::kStrictWindow, limit % 512, window});
  const auto bucket = Quota::make({Algorithm::kTokenBucket, limit, window, burst});
  int spent = 0;
  if (Packing::fits(fixed)) spent += spend_in_words<algo::FixedWindowState>(fixed, now);
  if (Packing::fits(sliding)) spent += spend_in_words<algo::SlidingWindowState>(sliding, now);
  if (Packing::fits(strict)) spent += spend_in_words<algo::StrictWindowState>(strict, now);
  if (bucket && Packing::fits(*bucket)) {
    spent += spend_in_words<algo::TokenBucketState>(*bucket, now);
  }
  RC_CLASSIFY(spent > 10);
}

// The largest values, in the shortest window, the longest, and around powers of two.
TEST(Packing, ThePenaltyWithTheLongestCooldownComesBackExactly) {
  for (int shift = 10; shift <= 45; ++shift) {
    for (const std::int64_t window_us : {(1LL << shift) - 1, 1LL << shift}) {
      if (window_us > kYearUs) continue;
      std::int64_t limit = 2;
      const auto fits = [&](std::int64_t units) {
        return Packing::fits(quota_of({Algorithm::kAdaptive, units, Duration{window_us}}));
      };
      while (fits(2 * limit)) limit *= 2;
      const std::int64_t start_us = (epoch_us(kBase) + 3 * kYearUs) / window_us * window_us;
      const std::int64_t until_us =
          (start_us + window_us + algo::kCooldown.count()) / algo::kCooldownGrainUs + 1;
      const algo::AdaptiveState state{.time_us = start_us,
                                      .previous = 2 * limit,
                                      .current = 2 * limit,
                                      .cooldown_until_us = until_us * algo::kCooldownGrainUs,
                                      .level = algo::kBackoffLevelMax,
                                      .denied_in_window = true};
      expect_same_after_packing(quota_of({Algorithm::kAdaptive, limit, Duration{window_us}}),
                                state);
    }
  }
}

// No thread may reuse a slot whose state still counts.
RC_GTEST_PROP(Packing, NothingExpiresBeforeItsStateIsVoid, ()) {
  const Duration window = *windows();
  const Quota quota = quota_of({Algorithm::kSlidingWindow, 100, window});
  const auto now_us = epoch_us(kBase) + *rc::gen::inRange<std::int64_t>(kYearUs, 8 * kYearUs);
  const algo::SlidingWindowState state{now_us / window.count() * window.count(), 1, 1};
  const SlotWord word = SlotWord::make(1, Rank::kPlain, kPacking.pack(quota, state));
  const Instant is_void = algo::expiry(quota, state);
  RC_ASSERT(!kPacking.expired(word, is_void - 1us));
  RC_ASSERT(kPacking.expired(word, is_void + 3 * window));
}

TEST(Packing, UsualQuotasFit) {
  EXPECT_TRUE(Packing::fits(quota_of({Algorithm::kSlidingWindow, 32'767, 1ms})));
  EXPECT_TRUE(Packing::fits(quota_of({Algorithm::kSlidingWindow, 1'000'000, 1s})));
  EXPECT_TRUE(Packing::fits(quota_of({Algorithm::kSlidingWindow, 8'000'000, 1min})));
  EXPECT_TRUE(Packing::fits(quota_of({Algorithm::kFixedWindow, kLimitMax, 1s})));
  EXPECT_TRUE(Packing::fits(quota_of({Algorithm::kTokenBucket, 3, 1s})));
  EXPECT_TRUE(Packing::fits(quota_of({Algorithm::kTokenBucket, 5'000'000, 1s})));
  EXPECT_TRUE(Packing::fits(quota_of({Algorithm::kTokenBucket, kLimitMax, 24h})));
}

TEST(Packing, AdaptiveQuotasFitInAllKindsOrInNone) {
  const auto fits = [](std::int64_t limit, Duration window, Algorithm active) {
    return Packing::fits(quota_of({Algorithm::kAdaptive, limit, window}).following({active, 1}));
  };
  for (const Algorithm active :
       {Algorithm::kSlidingWindow, Algorithm::kTokenBucket, Algorithm::kExponentialBackoff}) {
    EXPECT_TRUE(fits(500, 1ms, active));
    EXPECT_TRUE(fits(16'000, 1s, active));
    EXPECT_TRUE(fits(65'000, 1min, active));
    EXPECT_TRUE(fits(65'000, 1h, active));
    EXPECT_TRUE(fits(65'000, 24h * 366, active));
    EXPECT_FALSE(fits(70'000, 1h, active));
    EXPECT_FALSE(fits(kLimitMax, 24h, active));
  }
}

TEST(Packing, HugeOnesDoNot) {
  EXPECT_FALSE(Packing::fits(quota_of({Algorithm::kSlidingWindow, kLimitMax, 24h})));
  EXPECT_FALSE(Packing::fits(quota_of({Algorithm::kTokenBucket, 999'999'999'989, 24h})));
  EXPECT_FALSE(Packing::fits(quota_of({Algorithm::kSlidingLog, 1, 1s})));
  EXPECT_FALSE(Packing::fits(quota_of({Algorithm::kExponentialBackoff, 1, 1s})));
}

TEST(Packing, ClaimsAreNoStates) {
  const SlotWord claim = SlotWord::claim(7, 42);
  EXPECT_TRUE(claim.claimed());
  EXPECT_EQ(claim.fingerprint(), 7u);
  EXPECT_FALSE(kPacking.expired(claim, kBase + 17 * Duration{kYearUs}));
  EXPECT_FALSE(claim == SlotWord::claim(7, 43));
}

TEST(Packing, ARankChangesNothingElse) {
  const Quota quota = quota_of({Algorithm::kFixedWindow, 10, 1s});
  const SlotWord plain = SlotWord::make(
      9, Rank::kPlain, kPacking.pack(quota, algo::FixedWindowState{epoch_us(kBase), 3}));
  const SlotWord over = plain.with_rank(Rank::kOverLimit);
  EXPECT_EQ(over.rank(), Rank::kOverLimit);
  EXPECT_EQ(over.fingerprint(), plain.fingerprint());
  EXPECT_TRUE(over.with_rank(Rank::kPlain) == plain);
}

}  // namespace
}  // namespace weir
