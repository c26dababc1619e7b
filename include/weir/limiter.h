// Limiter: Weir as a library.
//
//   const weir::SystemClock clock;
//   auto store = weir::make_memory_store({}, clock.now());
//   auto limiter = weir::Limiter(*store, clock, {.limit = 5, .window = 1min});
//
//   auto decision = limiter.hit("login", user_id);
//   if (decision && !decision->allowed()) reply_429(decision->retry_after);
//
// Buckets isolate: the same key in two buckets has two counters. Two algorithms, or two windows,
// have two counters as well. If the limit or the burst changes, the counter goes on.
//
// Thread rule: any thread, concurrently, if the store allows it (Weir's do). A call returns when
// the store has answered: the memory store answers at once, in tens of nanoseconds and without
// allocating. A store that answers later must do so on a thread other than the caller's. On the
// thread of the store's own event loop a call would wait for ever. Tested by
// src/engine/limiter_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "weir/clock.h"
#include "weir/decision.h"
#include "weir/key.h"
#include "weir/quota.h"
#include "weir/result.h"
#include "weir/store.h"

namespace weir {

class HoldingStore;
class Reservation;
class Slot;
struct HoldTerms;

// Options of one call. The limiter's defaults stand in for unset fields.
struct HitOptions {
  std::int64_t cost = 1;
  // Counts on the counters of the rule with this id, in a server that shares the store and the
  // secret. The quota is not taken from the rule. Empty: on counters of no rule.
  std::string_view rule{};
  std::optional<Algorithm> algorithm;
  std::optional<std::int64_t> limit;
  std::optional<Duration> window;
  std::optional<std::int64_t> burst;
  OnFull on_full = OnFull::kAllow;
};

// One of several charges that are decided together. The texts must outlive the call.
struct Hit {
  std::string_view bucket;
  std::string_view key;
  HitOptions options;
};

class Limiter {
 public:
  // `store` and `clock` must outlive the limiter. `defaults` may be a quota that cannot be enforced
  // (all zeros, say): then each hit must set the missing fields.
  Limiter(Store& store, const Clock& clock, const QuotaSpec& defaults,
          const HashSecret& secret = HashSecret::random());

  // Spends and decides.
  Result<Decision> hit(std::string_view bucket, std::string_view key) const noexcept;
  Result<Decision> hit(std::string_view bucket, std::string_view key,
                       const HitOptions& options) const noexcept {
    return ask(Operation::kSpendEach, bucket, key, options);
  }

  // Several charges, all or nothing: if one is denied, none is charged. Decisions are parallel to
  // `hits`. Returns true if all were allowed. Fails with kTooManyCharges beyond Batch::kChargesMax.
  // REQUIRES: hits.size() == decisions.size()
  Result<bool> hit(std::span<const Hit> hits, std::span<Decision> decisions) const noexcept;

  // Counts the cost of work that is done, whether or not it fits: Operation::kCharge of
  // weir/store.h. For a client that looks, works, and charges afterwards. Once a charge goes beyond
  // the limit, looks are denied until that debt is paid.
  Result<Decision> charge(std::string_view bucket, std::string_view key,
                          const HitOptions& options = {}) const noexcept {
    return ask(Operation::kCharge, bucket, key, options);
  }

  // Spends and decides; a cost that does not fit takes what is left: Operation::kDrain of
  // weir/store.h. Gubernator calls this DRAIN_OVER_LIMIT; its RESET_REMAINING is reset() here.
  Result<Decision> drain(std::string_view bucket, std::string_view key,
                         const HitOptions& options = {}) const noexcept {
    return ask(Operation::kDrain, bucket, key, options);
  }

  // Holds the cost, an estimate, while work is under way (weir/holding_store.h). A denial holds
  // nothing. REQUIRES: `holds` is the limiter's store; the terms' length is at most the window; the
  // cost is at least 1
  Result<Reservation> reserve(HoldingStore& holds, std::string_view bucket, std::string_view key,
                              const HitOptions& options, HoldTerms terms) const;

  // Takes a slot for at most `length` (weir/holding_store.h). A key has as many slots as the limit
  // says. Hits of the limiter do not use up slots. Of the options, only rule and limit count.
  // REQUIRES: length > 0
  Result<Slot> acquire(HoldingStore& holds, std::string_view bucket, std::string_view key,
                       Duration length, const HitOptions& options = {}) const;

  // Answers as hit() would, and spends nothing. `remaining` is what is left before the cost.
  Result<Decision> look(std::string_view bucket, std::string_view key,
                        const HitOptions& options = {}) const noexcept {
    return ask(Operation::kLook, bucket, key, options);
  }

  // Forgets the key, blocks and backoff included. Returns the fresh state.
  Result<Decision> reset(std::string_view bucket, std::string_view key,
                         const HitOptions& options = {}) const noexcept {
    return ask(Operation::kReset, bucket, key, options);
  }

 private:
  // The hash that all keys of one bucket share, under the default quota. A limiter keeps the hash
  // of the first bucket it is asked for; most limiters have only one. A copy keeps its own.
  struct KeptScope {
    static constexpr std::size_t kNone = SIZE_MAX;
    KeptScope() = default;
    KeptScope(const KeptScope&) noexcept {}

    std::atomic<std::size_t> bucket_size{kNone};  // the fields below are set before it is
    std::array<std::uint64_t, 2> bytes{};
    KeyHash scope;
  };

  KeyHash scope_of(std::string_view bucket) const noexcept;
  KeyHash find_scope(std::string_view bucket) const noexcept;
  Result<const Quota*> quota_for(const HitOptions& options, Quota& room) const noexcept;
  Result<Charge> charge_for(std::string_view bucket, std::string_view key,
                            const HitOptions& options, Quota& room) const noexcept;
  Result<Decision> ask(Operation operation, std::string_view bucket, std::string_view key,
                       const HitOptions& options) const noexcept;
  Result<Decision> decide(Operation operation, Charge charge) const noexcept;
  Result<Decision> await(Operation operation, Charge charge, Instant now) const noexcept;

  Store& store_;
  const bool store_answers_at_once_;
  const Clock& clock_;
  QuotaSpec defaults_;
  Result<Quota> default_quota_;
  KeyHasher hasher_;
  mutable KeptScope kept_;
};

}  // namespace weir
