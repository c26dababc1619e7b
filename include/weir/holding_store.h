// HoldingStore: a store in memory that holds units for work whose cost is known later. It also
// holds slots, which bound how much work runs at the same time.
//
//     0 s  reserve 300 for 2 min   fits next to what was spent and what is held: 300 are held
//          other requests          fit next to the 300, too
//    40 s  commit 120              120 are charged as of now; nothing is held any more
//   or
//   120 s  nobody has committed    the hold lapses: 300 are charged as of this moment
//
// A hold is not part of a counter, so it counts against whichever window is current. A commit
// charges the cost whether or not it fits, because the work is done.
//
//   weir::HoldingStore store(*memory);
//   const weir::Limiter limiter(store, clock, {.limit = 1000, .window = 1min});
//   auto reserved = limiter.reserve(store, "tokens", user, {.cost = 300}, {.length = 30s});
//   if (reserved && reserved->allowed()) reserved->commit(answer());
//
// A caller that reserves spends the estimate first, like any request, and passes the charges to
// hold(). That adds the hold before it gives the units back. A request that was charged while there
// were holds, or while they changed, is judged again under the lock. By then its own units are in
// the counters. So no held or spent unit is missed; some may count twice for a moment. Counters of
// exponential_backoff and adaptive cannot give units back, so their units cannot be held.
//
// A slot is a hold that charges nothing: releasing it, or its end, gives it back. No counter is
// asked, so nothing counts twice.
//
//   auto slot = limiter.acquire(store, "calls", user, 30s);
//   if (slot && slot->allowed()) call();  // and its destructor releases it
//
// Holds end with the process, as counters do.
//
// Thread rule: any thread. One lock guards the holds; while there are none, nobody takes it.
// Tested by src/engine/holds/holding_store_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weir/clock.h"
#include "weir/key.h"
#include "weir/quota.h"
#include "weir/result.h"
#include "weir/store.h"

namespace weir {

// The name of a hold: 128 bits that nobody can guess.
struct HoldToken {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  std::string to_string() const;  // 32 hexadecimal digits
  static std::optional<HoldToken> parse(std::string_view text);
  friend auto operator<=>(const HoldToken&, const HoldToken&) = default;
};

// The quota of a limit of slots. Its window means nothing.
inline Result<Quota> slot_quota(std::int64_t limit) {
  return Quota::make({.limit = limit, .window = kWindowMin});
}

struct HoldTerms {
  Duration length{0};          // > 0
  std::int64_t estimate = 0;   // units, >= 0
  std::int64_t holds_max = 1;  // of one key
  bool is_charged = true;      // whether the counters have charged the units already
  // Whether a hold that lapses charges only the cost reported so far, and not the estimate.
  bool is_free = false;
  bool is_slot = false;  // a slot is released, and never committed
  // For slots on lease: all slots of the key end at this time, unless renew() moves it.
  Instant lease_end = Instant::max();
  std::size_t room = 65'536;  // holds of all keys, up to HoldingStore::kHoldsMax
};

class HoldingStore final : public Store {
 public:
  static constexpr std::size_t kHoldsMax = 65'536;  // of all keys

  using Chance = std::function<HashSecret()>;
  // `inner` outlives this. REQUIRES: inner.answers_at_once()
  explicit HoldingStore(Store& inner, Chance chance = HashSecret::random);
  ~HoldingStore() override;

  // The inner store decides. A charge that does not fit next to the holds is denied.
  void decide(Batch& batch, Instant now) noexcept override;
  bool answers_at_once() const noexcept override { return true; }
  Decision decide_one(Operation operation, Charge charge, Instant now) noexcept override;

  // A token that no hold has, for a caller that keeps holds elsewhere.
  HoldToken fresh_token();

  // Holds the units that this store has just charged to different keys, and gives them back to the
  // counters. Returns nothing if there is no room for another hold, or no memory.
  std::optional<HoldToken> hold(std::span<const Charge> charges, const HoldTerms& terms,
                                Instant now) noexcept;

  // Holds a slot of the charge's key, if fewer are held than its quota allows.
  struct Acquired {
    Decision decision;
    std::optional<HoldToken> token;  // empty though allowed if there is no room for a hold
  };
  // REQUIRES: the quota is a slot_quota(). Reads only length, lease_end and room of the terms.
  Acquired acquire(const Charge& charge, const HoldTerms& terms, Instant now) noexcept;
  // Returns false if there is no such slot, or no longer.
  bool release(const HoldToken& token, Instant now) noexcept {
    return find_slot(token, Then::kEnds, now);
  }
  bool has_slot(const HoldToken& token, Instant now) noexcept {
    return find_slot(token, Then::kGoesOn, now);
  }
  // Moves the end of the lease of the key's slots. Slots whose lease has ended stay ended.
  void renew(const KeyHash& key, Instant lease_end, Instant now) noexcept;

  enum class Commit : std::uint8_t {
    kCharged,
    kNoted,    // the hold goes on, or it holds nothing that is counted
    kUnknown,  // there is no such hold, or no longer
  };
  // Reports what the work has cost; if it goes on, what it has cost so far. A lapse charges the
  // cost that was reported last. REQUIRES: 0 <= cost <= kCostMax
  enum class Work : std::uint8_t { kIsDone, kGoesOn };
  Commit commit(const HoldToken& token, std::int64_t cost, Work work, Instant now) noexcept;

  struct Held {
    std::int64_t units = 0;
    std::size_t holds = 0;
    Duration lapses_after{0};  // until the first hold lapses, unless it is committed
  };
  Held held(const KeyHash& key, Instant now) noexcept;
  // The number of holds of all keys.
  std::size_t size() const noexcept;

 private:
  enum class Then : std::uint8_t { kGoesOn, kEnds };
  bool find_slot(const HoldToken& token, Then then, Instant now) noexcept;

  struct State;
  std::unique_ptr<State> state_;
};

// A reservation that a Limiter made. If nobody commits it, its destructor commits the cost that was
// reported last, or the estimate if none was.
//
// Thread rule: one thread at a time. The store and the clock outlive it.
class Reservation {
 public:
  Reservation(HoldingStore& store, const Clock& clock, const Decision& decision,
              std::optional<HoldToken> token, std::int64_t estimate)
      : store_(&store), clock_(&clock), decision_(decision), token_(token), cost_(estimate) {}
  Reservation(Reservation&& other) noexcept
      : store_(other.store_),
        clock_(other.clock_),
        decision_(other.decision_),
        token_(std::exchange(other.token_, std::nullopt)),
        cost_(other.cost_) {}
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation() { commit(cost_); }

  const Decision& decision() const { return decision_; }
  bool allowed() const { return decision_.allowed(); }

  // Reports the cost so far; the work goes on. REQUIRES: as for HoldingStore::commit()
  void report(std::int64_t cost) {
    cost_ = cost;
    if (token_) store_->commit(*token_, cost, HoldingStore::Work::kGoesOn, clock_->now());
  }
  // The work is done. Returns false, and charges nothing, if the hold has ended before.
  bool commit(std::int64_t cost) {
    const auto token = std::exchange(token_, std::nullopt);
    return token && store_->commit(*token, cost, HoldingStore::Work::kIsDone, clock_->now()) ==
                        HoldingStore::Commit::kCharged;
  }

 private:
  HoldingStore* store_;
  const Clock* clock_;
  Decision decision_;
  std::optional<HoldToken> token_;  // empty if nothing is held
  std::int64_t cost_;
};

// A slot that a Limiter acquired. Its destructor releases it.
//
// Thread rule: one thread at a time. The store and the clock outlive it.
class Slot {
 public:
  Slot(HoldingStore& store, const Clock& clock, const HoldingStore::Acquired& acquired)
      : store_(&store), clock_(&clock), decision_(acquired.decision), token_(acquired.token) {}
  Slot(Slot&& other) noexcept
      : store_(other.store_),
        clock_(other.clock_),
        decision_(other.decision_),
        token_(std::exchange(other.token_, std::nullopt)) {}
  Slot& operator=(Slot&&) = delete;
  ~Slot() { release(); }

  const Decision& decision() const { return decision_; }
  bool allowed() const { return decision_.allowed(); }

  // Returns false if no slot is held, or no longer: then other work may have taken it.
  bool release() {
    const auto token = std::exchange(token_, std::nullopt);
    return token && store_->release(*token, clock_->now());
  }

 private:
  HoldingStore* store_;
  const Clock* clock_;
  Decision decision_;
  std::optional<HoldToken> token_;  // empty if nothing is held
};

}  // namespace weir
