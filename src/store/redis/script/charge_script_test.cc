#include "store/redis/script/charge_script.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/resp/reply_reader.h"
#include "store/redis/script/cluster_slot.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Quota made(const QuotaSpec& spec) { return *Quota::make(spec); }

std::vector<std::string> copy(std::span<const std::string_view> words) {
  return {words.begin(), words.end()};
}

std::string numbers(const std::vector<std::int64_t>& values) {
  std::string text = "*" + std::to_string(values.size()) + "\r\n";
  for (const auto value : values) text += ":" + std::to_string(value) + "\r\n";
  return text;
}

class ChargeScript : public ::testing::Test {
 protected:
  const resp::Reply& reply(const std::string& text) {
    input_ = text;
    EXPECT_EQ(reader_.read(input_), resp::ReplyReader::Status::kReply);
    return reader_.reply();
  }
  const resp::Reply& reply_of(const std::vector<std::int64_t>& values) {
    return reply(numbers(values));
  }

  Quota window_ = made({Algorithm::kFixedWindow, 10, 1min});
  Quota backoff_ = made({Algorithm::kExponentialBackoff, 10, 1min});
  std::string input_;
  resp::ReplyReader reader_;
};

TEST_F(ChargeScript, NamesAKeyByItsTagAndItsHash) {
  ChargeCall call("weir:");
  const std::vector<Charge> charges = {{{1, 2}, &window_, 1}, {{1, 2}, &window_, 1, 63}};
  call.add(ScriptOperation::kSpendEach, charges);
  const auto words = copy(call.words());
  ASSERT_EQ(words.size(), 7u);
  EXPECT_EQ(words[0], "EVALSHA");
  EXPECT_EQ(words[1].size(), 40u) << "a hash, which tests/redis has Redis know";
  EXPECT_EQ(words[2], "2");
  EXPECT_EQ(words[3], "weir:{AAAAAAAAAABAAAAAAAAAAC}");
  EXPECT_EQ(words[4], "weir:{AAAAAAAAAA_}AAAAAAAAAABAAAAAAAAAAC");
  EXPECT_EQ(words[5], "");
  EXPECT_EQ(slot_of(charges[0]), cluster_slot(words[3]));
  EXPECT_EQ(slot_of(charges[1]), cluster_slot(words[4]));
}

TEST_F(ChargeScript, SendsAKeyOnceHoweverOftenItIsCharged) {
  ChargeCall call("w");
  const std::vector<Charge> charges(3, Charge{{7, 7}, &window_, 1});
  call.add(ScriptOperation::kSpendEach, charges);
  call.add(ScriptOperation::kLook, charges);
  EXPECT_EQ(call.words().size(), 6u);
  EXPECT_EQ(call.charges(), 6u);
}

TEST_F(ChargeScript, SaysWhichSwitchAnAdaptiveKeyFollows) {
  const Quota adaptive = made({Algorithm::kAdaptive, 10, 1min});
  const Quota switched = adaptive.following({Algorithm::kExponentialBackoff, 258});
  for (const auto& [quota, tail] : {std::pair(window_, std::string("\0\0\0\0\0", 5)),
                                    std::pair(adaptive, std::string("\20\0\0\0\0", 5)),
                                    std::pair(switched, std::string("\22\2\1\0\0", 5))}) {
    ChargeCall call("w");
    const Charge charge{{7, 7}, &quota, 1};
    call.add(ScriptOperation::kSpendEach, {&charge, 1});
    const std::string batches(call.words().back());
    ASSERT_EQ(batches.size(), 2u + 47u);
    EXPECT_EQ(batches.substr(2, 1) + batches.substr(2 + 43), tail);
  }
}

TEST_F(ChargeScript, HasRoomForSoManyAndAgainWhenCleared) {
  ChargeCall call("w");
  for (std::uint64_t key = 0; key < ChargeCall::kChargesMax; ++key) {
    ASSERT_TRUE(call.has_room(1));
    const std::vector<Charge> one(1, Charge{{key, key << 40}, &window_, 1});
    call.add(ScriptOperation::kSpendEach, one);
  }
  EXPECT_FALSE(call.has_room(1));
  EXPECT_EQ(call.words().size(), 3 + ChargeCall::kChargesMax + 2);
  call.clear();
  EXPECT_TRUE(call.has_room(ChargeCall::kChargesMax));
  EXPECT_EQ(call.words().size(), 5u);
}

TEST_F(ChargeScript, ReadsWhatTheScriptAnswers) {
  const std::vector<Charge> charges = {{{1, 2}, &window_}, {{3, 4}, &backoff_}};
  std::vector<Decision> decisions(2);
  ChargeReplies replies(reply_of({5, 7 * 64, 30, 1 + 4 * 2, 40, 50}));
  EXPECT_EQ(epoch_us(replies.time()), 5);
  EXPECT_EQ(replies.read(charges, decisions), ChargeFailure::kNone);
  EXPECT_EQ(decisions[0], (Decision{Verdict::kAllowed, 0, 10, 7, 0us, 30us, 30us}));
  EXPECT_EQ(decisions[1], (Decision{Verdict::kDenied, 2, 2, 0, 50us, 40us}));
  EXPECT_EQ(replies.read(charges, decisions), ChargeFailure::kMalformed);
}

TEST_F(ChargeScript, ReadsOrKnowsWhenThereIsMore) {
  const Quota sliding = made({Algorithm::kSlidingWindow, 10, 1min});
  const Quota bucket = made({Algorithm::kTokenBucket, 60, 1h});
  const std::vector<Charge> charges = {
      {{1, 2}, &sliding}, {{3, 4}, &backoff_}, {{5, 6}, &window_}, {{7, 8}, &bucket}};
  std::vector<Decision> decisions(4);
  ChargeReplies replies(
      reply_of({5, 7 * 64 + 32, 30, 20, 1 + 32 + 4 * 2, 40, 50, 35, 7 * 64, 9, 0, 3'600'000'000}));
  EXPECT_EQ(replies.read(charges, decisions), ChargeFailure::kNone);
  EXPECT_EQ(decisions[0], (Decision{Verdict::kAllowed, 0, 10, 7, 0us, 30us, 20us}));
  EXPECT_EQ(decisions[1], (Decision{Verdict::kDenied, 2, 2, 0, 50us, 40us, 35us}));
  EXPECT_EQ(decisions[2].more_after, 9us);
  EXPECT_EQ(decisions[3].more_after, 1min);
}

TEST_F(ChargeScript, ReadsAFailureInPlaceOfABatch) {
  const std::vector<Charge> charges = {{{1, 2}, &window_}, {{3, 4}, &window_}};
  std::vector<Decision> decisions(2);
  ChargeReplies replies(reply_of({5, 3 + 4, 3 + 8, 3 + 12, 64, 1, 128, 2}));
  EXPECT_EQ(replies.read(charges, decisions), ChargeFailure::kForeignType);
  EXPECT_EQ(replies.read(charges, decisions), ChargeFailure::kUnreadable);
  EXPECT_EQ(replies.read(charges, decisions), ChargeFailure::kUnsupported);
  EXPECT_EQ(replies.read(charges, decisions), ChargeFailure::kNone);
  EXPECT_EQ(decisions[1].remaining, 2);
}

TEST_F(ChargeScript, RefusesWhatTheScriptDoesNotAnswer) {
  const std::vector<Charge> charges = {{{1, 2}, &window_}};
  std::vector<Decision> decisions(1);
  for (const std::string& text :
       {std::string("+OK\r\n"), std::string("*0\r\n"), std::string("$1\r\nx\r\n"),
        std::string("-ERR no\r\n"), std::string("*2\r\n:1\r\n$1\r\nx\r\n"), numbers({1}),
        numbers({1, -4, 5}), numbers({1, 64}), numbers({1, 1, 7}), numbers({1, 64, -7}),
        numbers({1, 3}), numbers({1, 3 + 20}), numbers({1, 4 * 6, 5})}) {
    ChargeReplies replies(reply(text));
    EXPECT_EQ(replies.read(charges, decisions), ChargeFailure::kMalformed) << text;
  }
}

TEST_F(ChargeScript, ReadsLeasesAndStates) {
  const Charge charge{{1, 2}, &window_};
  Lease lease;
  SyncedState state;
  ChargeReplies replies(reply_of({5, 2 * 64, 30, 4, 20, 1, 0, 60, 61, 62, 3 + 8, 3 + 12, 0, 1}));
  EXPECT_EQ(replies.read_lease(charge, lease), ChargeFailure::kNone);
  EXPECT_EQ(lease.units, 4);
  EXPECT_EQ(lease.length, 20us);
  EXPECT_TRUE(lease.is_long);
  EXPECT_EQ(lease.decision.remaining, 2);
  EXPECT_EQ(replies.read_state(*charge.quota, state), ChargeFailure::kNone);
  EXPECT_EQ(state, (SyncedState{60, 61, 62}));
  EXPECT_EQ(replies.read_state(*charge.quota, state), ChargeFailure::kUnreadable);
  EXPECT_EQ(replies.read_lease(charge, lease), ChargeFailure::kUnsupported);
  EXPECT_EQ(replies.read_state(*charge.quota, state), ChargeFailure::kMalformed);

  const Quota adaptive = made({Algorithm::kAdaptive, 10, 1min});
  ChargeReplies copies(reply_of({5, 0, 60, 61, 62, 9, 0, 60, 61, 62}));
  EXPECT_EQ(copies.read_state(adaptive, state), ChargeFailure::kNone);
  EXPECT_EQ(state, (SyncedState{60, 61, 62, 9}));
  EXPECT_EQ(copies.read_state(adaptive, state), ChargeFailure::kMalformed);
}

}  // namespace
}  // namespace weir
