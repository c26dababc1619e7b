#include "weir/limiter.h"

#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>

#include "engine/holds/hold_wait.h"
#include "weir/holding_store.h"

namespace weir {
namespace {

constexpr Error kCostError{ErrorCode::kInvalidCost, "cost",
                           "an integer from -1000000000000 to 1000000000000"};
constexpr Error kChargesError{ErrorCode::kTooManyCharges, "hits", "at most 16 at a time"};
constexpr Error kStoreUnavailable{ErrorCode::kStoreUnavailable, "", "a store that answers"};

// Where a thread waits. It belongs to the thread, not to the batch: the store's thread may still be
// inside notify and unlock when the caller has gone on and the batch is gone.
struct Waiter {
  std::mutex mutex;
  std::condition_variable answered;

  static Waiter& of_this_thread() noexcept {
    thread_local Waiter waiter;
    return waiter;
  }
};

// A batch whose caller waits for it. If the store answers at once, nothing waits and nothing is
// locked.
struct AwaitedBatch : Batch {
  AwaitedBatch(Operation asked, std::span<const Charge> about, std::span<Decision> answers) {
    operation = asked;
    charges = about;
    decisions = answers;
    on_done = [](Batch& batch) noexcept { static_cast<AwaitedBatch&>(batch).finish(); };
  }

  Waiter& waiter = Waiter::of_this_thread();
  bool done_by_caller = false;
  bool done_elsewhere = false;  // under the waiter's mutex

  // Returns false if the store could not answer.
  bool decide_on(Store& store, Instant now) noexcept {
    store.decide(*this, now);
    if (!done_by_caller) {
      auto lock = std::unique_lock(waiter.mutex);
      waiter.answered.wait(lock, [this] { return done_elsewhere; });
    }
    return error == StoreError::kNone;
  }

  void finish() noexcept {
    Waiter& waiting = waiter;
    if (&waiting == &Waiter::of_this_thread()) {
      done_by_caller = true;
      return;
    }
    // The caller goes on once this is unlocked, not before.
    const auto lock = std::scoped_lock(waiting.mutex);
    done_elsewhere = true;  // publishes the decisions
    waiting.answered.notify_one();
  }
};

// GCC 12 keeps a struct copied field by field in registers, but one copied whole in memory.
inline Charge copy_of(const Charge& charge) noexcept {
  return {.key = {charge.key.high, charge.key.low},
          .quota = charge.quota,
          .cost = charge.cost,
          .on_full = charge.on_full};
}

// The decision of a store that answers at once, made in the place where it is returned.
struct AtOnce {
  Store& store;
  Operation operation;
  const Charge& charge;
  Instant now;
  operator Decision() const { return store.decide_one(operation, copy_of(charge), now); }
};

// The first and the last bytes of a text; together all bytes of a text of at most two words.
template <typename Word>
std::array<std::uint64_t, 2> ends_of(std::string_view text) noexcept {
  Word first, last;
  std::memcpy(&first, text.data(), sizeof(Word));
  std::memcpy(&last, text.data() + text.size() - sizeof(Word), sizeof(Word));
  return {first, last};
}
// REQUIRES: 4 to 16 bytes
inline std::array<std::uint64_t, 2> bytes_of(std::string_view text) noexcept {
  return text.size() < 8 ? ends_of<std::uint32_t>(text) : ends_of<std::uint64_t>(text);
}

bool changes_quota(const HitOptions& options) {
  return options.algorithm || options.limit || options.window || options.burst;
}

}  // namespace

Limiter::Limiter(Store& store, const Clock& clock, const QuotaSpec& defaults,
                 const HashSecret& secret)
    : store_(store),
      store_answers_at_once_(store.answers_at_once()),
      clock_(clock),
      defaults_(defaults),
      default_quota_(Quota::make(defaults)),
      hasher_(secret) {}

// The quota of `options` and the defaults. `room` holds the quota if `options` has its own.
inline Result<const Quota*> Limiter::quota_for(const HitOptions& options,
                                               Quota& room) const noexcept {
  if (!changes_quota(options) && default_quota_) return &*default_quota_;
  QuotaSpec spec = defaults_;
  if (options.algorithm) {
    spec.algorithm = *options.algorithm;
    // The default burst belongs to the default algorithm.
    if (spec.algorithm != Algorithm::kTokenBucket) spec.burst = 0;
  }
  if (options.limit) spec.limit = *options.limit;
  if (options.window) spec.window = *options.window;
  if (options.burst) spec.burst = *options.burst;
  const Result<Quota> made = Quota::make(spec);
  if (!made) return made.error();
  return &(room = *made);
}

[[gnu::always_inline]] inline Result<Charge> Limiter::charge_for(std::string_view bucket,
                                                                 std::string_view key,
                                                                 const HitOptions& options,
                                                                 Quota& room) const noexcept {
  const auto quota = quota_for(options, room);
  if (!quota) return quota.error();
  if (options.cost < -kCostMax || options.cost > kCostMax) return kCostError;
  const KeyName name{.rule = options.rule, .bucket = bucket, .key = key};
  return Charge{.key = hasher_.hash(name, **quota),
                .quota = *quota,
                .cost = options.cost,
                .on_full = options.on_full};
}

inline KeyHash Limiter::scope_of(std::string_view bucket) const noexcept {
  if (kept_.bucket_size.load(std::memory_order_acquire) == bucket.size()) [[likely]] {
    const auto [first, last] = bytes_of(bucket);
    if (((first ^ kept_.bytes[0]) | (last ^ kept_.bytes[1])) == 0) [[likely]]
      return kept_.scope;
  }
  return find_scope(bucket);
}

// The first thread to come keeps its bucket.
[[gnu::noinline]] KeyHash Limiter::find_scope(std::string_view bucket) const noexcept {
  const KeyHash scope = hasher_.hash_scope(bucket, *default_quota_);
  std::size_t none = KeptScope::kNone;
  const bool fits = bucket.size() >= 4 && bucket.size() <= 16;
  if (fits && kept_.bucket_size.compare_exchange_strong(none, KeptScope::kNone - 1)) {
    kept_.bytes = bytes_of(bucket);
    kept_.scope = scope;
    kept_.bucket_size.store(bucket.size(), std::memory_order_release);
  }
  return scope;
}

// The call of most programs: it looks at no option.
[[gnu::flatten]] Result<Decision> Limiter::hit(std::string_view bucket,
                                               std::string_view key) const noexcept {
  if (!default_quota_) return default_quota_.error();
  const Quota& quota = *default_quota_;
  return decide(Operation::kSpendEach,
                {.key = hasher_.hash_in(scope_of(bucket), key), .quota = &quota});
}

Result<Decision> Limiter::ask(Operation operation, std::string_view bucket, std::string_view key,
                              const HitOptions& options) const noexcept {
  Quota room;
  const Result<Charge> charge = charge_for(bucket, key, options, room);
  return charge ? decide(operation, *charge) : charge.error();
}

Result<Reservation> Limiter::reserve(HoldingStore& holds, std::string_view bucket,
                                     std::string_view key, const HitOptions& options,
                                     HoldTerms terms) const {
  Quota room;
  const Result<Charge> charge = charge_for(bucket, key, options, room);
  if (!charge) return charge.error();
  if (charge->cost < 1) return Error{ErrorCode::kInvalidCost, "cost", "an integer from 1 up"};
  const Instant now = clock_.now();
  Decision decision = holds.decide_one(Operation::kSpendEach, *charge, now);
  terms.estimate = charge->cost;
  std::optional<HoldToken> token;
  if (decision.allowed()) {
    token = holds.hold({&*charge, 1}, terms, now);
    if (!token) return Error{ErrorCode::kTooManyHolds, "hold", "room for another hold"};
    outlast(decision, *charge->quota, now + terms.length, now);
  }
  return Reservation(holds, clock_, decision, token, terms.estimate);
}

Result<Slot> Limiter::acquire(HoldingStore& holds, std::string_view bucket, std::string_view key,
                              Duration length, const HitOptions& options) const {
  const auto quota = slot_quota(options.limit.value_or(defaults_.limit));
  if (!quota) return quota.error();
  const KeyName name{.rule = options.rule, .bucket = bucket, .key = key};
  const Charge charge{.key = hasher_.hash(name, *quota), .quota = &*quota};
  const auto acquired = holds.acquire(charge, {.length = length}, clock_.now());
  const bool has_room = acquired.token || !acquired.decision.allowed();
  if (!has_room) return Error{ErrorCode::kTooManyHolds, "hold", "room for another hold"};
  return Slot(holds, clock_, acquired);
}

[[gnu::always_inline]] inline Result<Decision> Limiter::decide(Operation operation,
                                                               Charge charge) const noexcept {
  const Instant now = clock_.now();
  if (!store_answers_at_once_) return await(operation, copy_of(charge), now);
  return AtOnce{store_, operation, charge, now};
}

[[gnu::noinline]] Result<Decision> Limiter::await(Operation operation, Charge charge,
                                                  Instant now) const noexcept {
  Decision decision;
  AwaitedBatch batch(operation, {&charge, 1}, {&decision, 1});
  if (!batch.decide_on(store_, now)) return kStoreUnavailable;
  return decision;
}

Result<bool> Limiter::hit(std::span<const Hit> hits, std::span<Decision> decisions) const noexcept {
  if (hits.size() > Batch::kChargesMax) return kChargesError;

  std::array<Quota, Batch::kChargesMax> quotas;
  std::array<Charge, Batch::kChargesMax> charges;
  for (std::size_t index = 0; index < hits.size(); ++index) {
    const Hit& hit = hits[index];
    const auto charge = charge_for(hit.bucket, hit.key, hit.options, quotas[index]);
    if (!charge) return charge.error();
    charges[index] = *charge;
  }
  AwaitedBatch batch(Operation::kSpendAll, {charges.data(), hits.size()},
                     decisions.first(hits.size()));
  if (!batch.decide_on(store_, clock_.now())) return kStoreUnavailable;
  for (const Decision& decision : batch.decisions) {
    if (!decision.allowed()) return false;
  }
  return true;
}

}  // namespace weir
