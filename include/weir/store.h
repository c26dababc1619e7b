// Store: where the state of every key lives, and the only place it changes.
//
// Implement it to keep counters somewhere of your own. tests/conformance holds the
// specification as tests; every store of ours runs them.
//
// A store decides; it has no opinion on outages. When it cannot answer it says so
// in Batch::error, and what that means (allow, deny, count locally) is decided above.
//
// Tested by tests/conformance/store_conformance.h, which each store's test includes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/decision.h"
#include "weir/key.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

// Whether a new key is denied when a store in memory could count it only by forgetting one
// that has nothing left of its limit.
enum class OnFull : std::uint8_t { kAllow, kDeny };

// One key to decide. `quota` must outlive the batch.
struct Charge {
  KeyHash key;
  const Quota* quota = nullptr;
  // Units to spend, within +-kCostMax. 0 asks without spending. Negative gives back:
  // never above a full quota, and only what the current window still holds.
  std::int64_t cost = 1;
  // A store that is spread over machines keeps keys with the same tag on one of them, so
  // that charges of one request are decided at once. 0: the key's own place.
  std::uint64_t tag = 0;
  OnFull on_full = OnFull::kAllow;
};

enum class Operation : std::uint8_t {
  kSpendEach,  // each charge on its own: one may be allowed and the next denied
  kSpendAll,   // all or nothing: if one is denied, none is charged
  kLook,       // what kSpendEach would answer, changing nothing; remaining is before the cost
  kReset,      // forget the keys; decisions are those of a look at a fresh key
  // For work that is done: each charge counts, whether or not it fits. The decision is that of
  // a look at cost 0 right after it. So it is denied, and so are looks from then on, while the
  // key owes more than its limit; `retry_after` says when that debt is paid. A key owes twice its
  // limit at most (a bucket its burst and its limit): what is above is forgotten. At limit 0,
  // where nothing counts, the charge is kNever. A key that is blocked or cools down counts, too.
  kCharge,
  // As kSpendEach, but a charge that does not fit takes what is left, and is denied all the same:
  // nothing is left then.
  kDrain,
};

// Whether counters change by the costs if they allow it.
constexpr bool is_hit(Operation operation) {
  return operation == Operation::kSpendEach || operation == Operation::kSpendAll;
}

// Whether counters may change by the costs: upwards, or back where these are negative.
constexpr bool spends(Operation operation) {
  return is_hit(operation) || operation == Operation::kCharge || operation == Operation::kDrain;
}

enum class StoreError : std::uint8_t {
  kNone,
  kUnavailable,  // out of reach, out of time, or refusing
};

// The charges of one request and, once done, their decisions. Owned by the caller
// and reused: deciding allocates nothing here.
struct Batch {
  static constexpr std::size_t kChargesMax = 16;

  Operation operation = Operation::kSpendEach;
  std::span<const Charge> charges;       // in; at most kChargesMax
  std::span<Decision> decisions;         // out; parallel to charges
  StoreError error = StoreError::kNone;  // out; unless kNone, decisions are unspecified
  // In. A store that makes others wait fails then at the latest, if it has not earlier.
  Instant give_up_at = Instant::max();
  // The store calls it exactly once, when the answer is there, and touches the batch no
  // more. `context` is the caller's own.
  void (*on_done)(Batch&) noexcept = nullptr;
  void* context = nullptr;

  // For stores: the answer is that there is none.
  void fail() noexcept {
    error = StoreError::kUnavailable;
    on_done(*this);
  }
};

class Store {
 public:
  virtual ~Store() = default;

  // Decides the batch as of `now`: before returning (memory) or later, from its own
  // thread or event loop (Redis, which uses its own time instead of `now`).
  // Then calls batch.on_done.
  //
  // A Limiter waits for the answer on the thread that asked. So a store that answers later
  // says from which thread it does, and nobody asks it through a Limiter there.
  //
  // Each charge is decided atomically, whatever else runs. For kSpendAll: if any
  // charge is denied, all the others report what they would have answered (their
  // verdict and their remaining before the cost) and nothing is charged. While a
  // kSpendAll is under way a concurrent request may see it half charged and be denied;
  // it never sees too little charged.
  //
  // Thread rule: any thread, concurrently.
  // REQUIRES: charges.size() == decisions.size() <= kChargesMax; |cost| <= kCostMax;
  // on_done is set
  virtual void decide(Batch& batch, Instant now) noexcept = 0;

  // Whether each answer is there before decide() returns, and there is one: then one charge needs
  // no batch.
  virtual bool answers_at_once() const noexcept { return false; }
  // What decide() would, of one charge. REQUIRES: answers_at_once(), and as for decide()
  virtual Decision decide_one(Operation, Charge, Instant /*now*/) noexcept { return {}; }
};

}  // namespace weir
