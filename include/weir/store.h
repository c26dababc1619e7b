// Store: keeps the state of every key, and is the only one that changes it.
//
// Implement it to keep counters somewhere of your own. tests/conformance is its specification, as
// tests; every store of Weir runs them.
//
// A store decides; it does not handle outages. If it cannot answer, it says so in Batch::error. Its
// caller decides what that means (allow, deny, count locally).
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

// Whether a store in memory denies a new key if it has room only by forgetting a key that has
// nothing left of its limit.
enum class OnFull : std::uint8_t { kAllow, kDeny };

// One key to decide. `quota` must outlive the batch.
struct Charge {
  KeyHash key;
  const Quota* quota = nullptr;
  // Units to spend, within +-kCostMax. 0 asks without spending. A negative cost gives units back:
  // never beyond a full quota, and only units that the current window still holds.
  std::int64_t cost = 1;
  // A store that is spread over machines keeps all keys of one tag on one machine, so that it can
  // decide the charges of a request together. 0: the store places the key by its hash.
  std::uint64_t tag = 0;
  OnFull on_full = OnFull::kAllow;
};

enum class Operation : std::uint8_t {
  kSpendEach,  // each charge on its own: one may be allowed and the next denied
  kSpendAll,   // all or nothing: if one is denied, none is charged
  kLook,       // as kSpendEach, but changes nothing; remaining is before the cost
  kReset,      // forgets the keys; each decision is a look at a fresh key
  // For work that is done: each charge counts, whether or not it fits. The decision is that of a
  // look at cost 0 right after it. While the key owes more than its limit, charges and looks are
  // denied, and `retry_after` says when that debt is paid; next to holds, when these fit, too. A
  // key owes at most twice its limit (a bucket its burst and its limit); Weir forgets the rest. At
  // limit 0, where nothing counts, the decision is kNever. Charges also count while a key is
  // blocked or cools down.
  kCharge,
  // As kSpendEach, but a charge that does not fit takes all that is left, and is still denied.
  kDrain,
};

// Whether each allowed charge changes its counter by its cost.
constexpr bool is_hit(Operation operation) {
  return operation == Operation::kSpendEach || operation == Operation::kSpendAll;
}

// Whether the operation may change counters by the costs: up, or down if they are negative.
constexpr bool spends(Operation operation) {
  return is_hit(operation) || operation == Operation::kCharge || operation == Operation::kDrain;
}

enum class StoreError : std::uint8_t {
  kNone,
  kUnavailable,  // out of reach, too late, or refusing
};

// The charges of one request and, once done, their decisions. The caller owns and reuses it;
// deciding allocates nothing here.
struct Batch {
  static constexpr std::size_t kChargesMax = 16;

  Operation operation = Operation::kSpendEach;
  std::span<const Charge> charges;       // in; at most kChargesMax
  std::span<Decision> decisions;         // out; parallel to charges
  StoreError error = StoreError::kNone;  // out; unless kNone, decisions are unspecified
  // In. A store that answers later fails the batch if it has not answered by this time.
  Instant give_up_at = Instant::max();
  // The store calls this exactly once, when the answer is there, and does not touch the batch
  // afterwards. `context` is the caller's own.
  void (*on_done)(Batch&) noexcept = nullptr;
  void* context = nullptr;

  // For stores: ends the batch without an answer.
  void fail() noexcept {
    error = StoreError::kUnavailable;
    on_done(*this);
  }
};

class Store {
 public:
  virtual ~Store() = default;

  // Decides the batch as of `now`, and calls batch.on_done: before returning (memory), or later,
  // from its own thread or event loop (Redis, which uses its own time instead of `now`).
  //
  // A Limiter waits for the answer on the caller's thread. So a store that answers later says on
  // which thread it answers, and nobody calls a Limiter on that thread.
  //
  // Each charge is decided atomically, whatever else runs. For kSpendAll: if any charge is denied,
  // nothing is charged, and the other decisions are those of a look (verdict, and remaining before
  // the cost). While a kSpendAll is under way, a concurrent request may see it half charged and be
  // denied; it never sees too little charged.
  //
  // Thread rule: any thread, concurrently.
  // REQUIRES: charges.size() == decisions.size() <= kChargesMax; |cost| <= kCostMax;
  // on_done is set
  virtual void decide(Batch& batch, Instant now) noexcept = 0;

  // Whether every decide() has the answer before it returns, and never fails. Then one charge needs
  // no batch.
  virtual bool answers_at_once() const noexcept { return false; }
  // Decides as decide() does, for one charge. REQUIRES: answers_at_once(), and as for decide()
  virtual Decision decide_one(Operation, Charge, Instant /*now*/) noexcept { return {}; }
};

}  // namespace weir
