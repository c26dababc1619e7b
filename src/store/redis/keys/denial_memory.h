// DenialMemory: keys that Redis has denied, so that no call asks Redis again before the answer can
// change.
//
// A denial holds for its retry_after, but kWorthMax at most: another node may reset the key or give
// back, and this one does not learn it. It holds for the same cost under the same quota: a larger
// cost would be denied, too, but come back at another time. It does not outlive a switch of the
// quota, which may have another time, or count denials.
//
// A cost that counts whether or not it fits (Operation::kCharge) has to reach Redis. The key owes
// it even if another node gives back the units that took the key over its limit. There is one
// exception: single hits on a fixed window that is over its limit, as Envoy counts them. They are
// worth no trip each, until Redis allows anything of the key. A charge that takes what is left
// (Operation::kDrain) has to reach Redis while units may be left.
//
// Bounded: keys may share an entry of an array; the later denial takes it.
//
// Thread rule: one core. Tested by denial_memory_test.cc.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "weir/decision.h"
#include "weir/store.h"

namespace weir {

class DenialMemory {
 public:
  static constexpr Duration kWorthMax = std::chrono::seconds(1);

  // REQUIRES: keys > 0
  explicit DenialMemory(std::size_t keys) : denials_(keys) {}

  // `now`: when the call left, or earlier. Ignores decisions that are no denial.
  void note(const Charge& charge, const Decision& decision, Instant now,
            Operation operation = Operation::kSpendEach) {
    const bool counts_denials = charge.quota->active() == Algorithm::kExponentialBackoff;
    if (decision.verdict != Verdict::kDenied || charge.cost <= 0 || counts_denials) return;
    const bool is_debt = operation == Operation::kCharge;
    if (is_debt && !charge.quota->is_fixed()) return;
    denial_of(charge.key) = {
        .key = charge.key,
        .cost = charge.cost,
        .capacity = charge.quota->capacity(),
        .switch_number = charge.quota->switch_number(),
        .is_debt = is_debt,
        .decision = decision,
        .asked_at = now,
    };
  }

  // The denial as of `now`, if it must still hold.
  std::optional<Decision> find(const Charge& charge, Instant now,
                               Operation operation = Operation::kSpendEach) {
    const Denial& denial = denial_of(charge.key);
    if (denial.key != charge.key || charge.cost <= 0 || denial.cost == 0) return {};
    if (denial.cost != charge.cost && !denial.is_debt) return {};
    const bool is_charge = operation == Operation::kCharge;
    const bool is_hit = denial.is_debt && charge.cost == 1;
    if (is_charge ? !is_hit : charge.cost > denial.capacity) return {};
    if (denial.capacity != charge.quota->capacity()) return {};
    if (denial.switch_number != charge.quota->switch_number()) return {};
    if (now < denial.asked_at || now >= denial.end()) return {};
    const Duration age = now - denial.asked_at;
    Decision decision = denial.decision;
    const bool may_have_some = decision.remaining > 0 || decision.more_after <= age;
    if (operation == Operation::kDrain && may_have_some) return {};
    decision.retry_after -= age;
    decision.reset_after = std::max(Duration{0}, decision.reset_after - age);
    // The key may have more units since; it has when the denial's wait ends, at the latest.
    const bool is_past = decision.more_after <= age;
    decision.more_after = is_past ? decision.retry_after : decision.more_after - age;
    return decision;
  }

  // The time for which the denial holds. REQUIRES: find() has just found it
  struct Span {
    Instant begin;
    Instant end;
  };
  Span span_of(const KeyHash& key) {
    const Denial& denial = denial_of(key);
    return {denial.asked_at, denial.end()};
  }

  void forget(const KeyHash& key) {
    Denial& denial = denial_of(key);
    if (denial.key == key) denial = {};
  }
  // Redis has allowed something of the key: the key is no longer over its limit.
  void forget_debt(const KeyHash& key) {
    Denial& denial = denial_of(key);
    if (denial.key == key && denial.is_debt) denial = {};
  }

 private:
  struct Denial {
    KeyHash key;
    std::int64_t cost = 0;  // 0: it is free
    std::int64_t capacity = 0;
    std::uint32_t switch_number = 0;
    bool is_debt = false;
    Decision decision;
    Instant asked_at;

    Instant end() const { return asked_at + std::min(decision.retry_after, kWorthMax); }
  };

  Denial& denial_of(const KeyHash& key) { return denials_[key.high % denials_.size()]; }

  std::vector<Denial> denials_;
};

}  // namespace weir
