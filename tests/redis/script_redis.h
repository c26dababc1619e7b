// The script in a Redis of the test's own, called with one batch at a time.
//
// Thread rule: one thread. Tested by charge_effects_test.cc, which uses it.

#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "redis/redis_server.h"
#include "store/redis/script/charge_script.h"

namespace weir::testing {

// So that a call may name it by its hash.
inline void load_script(RedisConnection& redis) {
  redis.call({"SCRIPT", "LOAD", ChargeCall::text()});
}

class Script {
 public:
  Script() { load_script(redis); }

  // As of `now`; Instant{}: Redis's own time.
  const resp::Reply& run(Instant now) {
    if (now != Instant{}) call.set_time(now);
    return redis.call({call.words().begin(), call.words().end()});
  }
  Decision spend(const Charge& charge, Instant now) {
    return decide(ScriptOperation::kSpendEach, charge, now);
  }
  Decision look(const Charge& charge, Instant now) {
    return decide(ScriptOperation::kLook, charge, now);
  }
  Lease lease(const Charge& charge, const LeaseTerms& terms, Instant now) {
    call.clear();
    call.add_lease(charge, terms);
    Lease lease;
    ChargeReplies replies(run(now));
    EXPECT_EQ(replies.read_lease(charge, lease), ChargeFailure::kNone);
    return lease;
  }
  Decision give_back(const Charge& charge, Instant end, std::int64_t settled, Instant now) {
    call.clear();
    call.add_return(charge, end, settled);
    Decision decision;
    ChargeReplies replies(run(now));
    EXPECT_EQ(replies.read({&charge, 1}, {&decision, 1}), ChargeFailure::kNone);
    return decision;
  }
  SyncedState sync(const Charge& charge, Instant now) {
    call.clear();
    call.add(ScriptOperation::kSync, {&charge, 1});
    SyncedState state{};
    ChargeReplies replies(run(now));
    EXPECT_EQ(replies.read_state(*charge.quota, state), ChargeFailure::kNone);
    EXPECT_EQ(replies.time(), now);
    return state;
  }
  // Next to what is held.
  std::vector<Decision> decide_held(Operation operation, std::span<const Charge> charges,
                                    Instant now) {
    const auto number =
        static_cast<int>(operation) + static_cast<int>(ScriptOperation::kNextToHolds);
    call.clear();
    call.add(static_cast<ScriptOperation>(number), charges);
    std::vector<Decision> decisions(charges.size());
    ChargeReplies replies(run(now));
    EXPECT_EQ(replies.read(charges, decisions), ChargeFailure::kNone);
    return decisions;
  }
  Decision decide_held(Operation operation, const Charge& charge, Instant now) {
    return decide_held(operation, {&charge, 1}, now).front();
  }
  // What the decisions are, and of the order what comes out.
  std::vector<Decision> reserve(std::span<const Charge> charges, HoldOrder& order, Instant now) {
    call.clear();
    call.add_reserve(charges, order);
    std::vector<Decision> decisions(charges.size());
    ChargeReplies replies(run(now));
    EXPECT_EQ(replies.read(charges, decisions), ChargeFailure::kNone);
    EXPECT_EQ(replies.read_reserved(order), ChargeFailure::kNone);
    return decisions;
  }
  HoldingStore::Commit commit(std::span<const Charge> charges, CommitOrder order, Instant now) {
    call.clear();
    call.add_commit(charges, order);
    ChargeReplies replies(run(now));
    EXPECT_EQ(replies.read_committed(order), ChargeFailure::kNone);
    return order.outcome;
  }
  KeyHash fresh_key() { return {++keys_made, 42}; }
  std::string name_of(KeyHash key, std::uint64_t tag = 0) {
    ChargeCall only("weir:");
    const Quota quota;
    const Charge charge{key, &quota, 1, tag};
    only.add(ScriptOperation::kLook, {&charge, 1});
    return std::string(only.words()[3]);
  }

  RedisServer server;
  RedisConnection redis{server};
  ChargeCall call{"weir:"};
  std::uint64_t keys_made = 0;

 private:
  Decision decide(ScriptOperation operation, const Charge& charge, Instant now) {
    call.clear();
    call.add(operation, {&charge, 1});
    Decision decision;
    ChargeReplies replies(run(now));
    EXPECT_EQ(replies.read({&charge, 1}, {&decision, 1}), ChargeFailure::kNone);
    return decision;
  }
};

inline constexpr Instant kStart = instant_from_epoch_us(1'700'000'040'000'000);  // a minute begins

// The same for all tests of a program.
inline Script& script() {
  static Script only;
  return only;
}
// What is there under the key's name; empty: nothing.
inline std::string stored(KeyHash key) {
  return std::string(script().redis.call({"GET", script().name_of(key)}).text());
}

}  // namespace weir::testing
