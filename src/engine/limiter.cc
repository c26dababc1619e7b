#include "weir/limiter.h"

#include <array>
#include <condition_variable>
#include <mutex>

namespace weir {
namespace {

constexpr Error kCostError{ErrorCode::kInvalidCost, "cost",
                           "an integer from -1000000000000 to 1000000000000"};
constexpr Error kChargesError{ErrorCode::kTooManyCharges, "hits", "at most 16 at a time"};
constexpr Error kStoreUnavailable{ErrorCode::kStoreUnavailable, "", "a store that answers"};

// Where a thread waits. It belongs to the thread and not to the batch: the store's thread may
// still be on its way out of notify and unlock when the caller has gone on and the batch is
// gone.
struct Waiter {
  std::mutex mutex;
  std::condition_variable answered;

  static Waiter& of_this_thread() noexcept {
    thread_local Waiter waiter;
    return waiter;
  }
};

// A batch whose caller waits for it: not at all when the store answers at once, in
// which case nothing is locked.
struct AwaitedBatch : Batch {
  Waiter& waiter = Waiter::of_this_thread();
  bool done_by_caller = false;
  bool done_elsewhere = false;  // under the waiter's mutex

  void decide_on(Store& store, Instant now) noexcept {
    context = this;
    on_done = [](Batch& batch) noexcept { static_cast<AwaitedBatch&>(batch).finish(); };
    store.decide(*this, now);
    if (done_by_caller) return;
    auto lock = std::unique_lock(waiter.mutex);
    waiter.answered.wait(lock, [this] { return done_elsewhere; });
  }

  void finish() noexcept {
    Waiter& waiting = waiter;
    if (&waiting == &Waiter::of_this_thread()) {
      done_by_caller = true;
      return;
    }
    // The caller goes on when this is unlocked, and not before.
    const auto lock = std::scoped_lock(waiting.mutex);
    done_elsewhere = true;  // publishes the decisions
    waiting.answered.notify_one();
  }
};

}  // namespace

Limiter::Limiter(Store& store, const Clock& clock, const QuotaSpec& defaults,
                 const HashSecret& secret)
    : store_(store),
      clock_(clock),
      defaults_(defaults),
      default_quota_(Quota::make(defaults)),
      hasher_(secret) {}

// The quota that `options` and the defaults make, put into `quota`.
std::optional<Error> Limiter::find_quota(const HitOptions& options, Quota& quota) const noexcept {
  const bool overrides = options.algorithm || options.limit || options.window || options.burst;
  const Result<Quota> made = overrides ? Quota::make(spec_for(options)) : default_quota_;
  if (!made) return made.error();
  if (options.cost < -kCostMax || options.cost > kCostMax) return kCostError;
  quota = *made;
  return std::nullopt;
}

QuotaSpec Limiter::spec_for(const HitOptions& options) const noexcept {
  QuotaSpec spec = defaults_;
  if (options.algorithm) {
    spec.algorithm = *options.algorithm;
    // A default burst speaks of the default algorithm only.
    if (spec.algorithm != Algorithm::kTokenBucket) spec.burst = 0;
  }
  if (options.limit) spec.limit = *options.limit;
  if (options.window) spec.window = *options.window;
  if (options.burst) spec.burst = *options.burst;
  return spec;
}

Result<Decision> Limiter::ask(Operation operation, std::string_view bucket, std::string_view key,
                              const HitOptions& options) const noexcept {
  Quota quota;
  if (const auto error = find_quota(options, quota)) return *error;

  const Charge charge{
      .key = hasher_.hash({.rule = options.rule, .bucket = bucket, .key = key}, quota),
      .quota = &quota,
      .cost = options.cost,
      .on_full = options.on_full};
  Decision decision;
  AwaitedBatch batch;
  batch.operation = operation;
  batch.charges = {&charge, 1};
  batch.decisions = {&decision, 1};
  batch.decide_on(store_, clock_.now());
  if (batch.error != StoreError::kNone) return kStoreUnavailable;
  return decision;
}

Result<Decision> Limiter::hit(std::string_view bucket, std::string_view key,
                              const HitOptions& options) const noexcept {
  return ask(Operation::kSpendEach, bucket, key, options);
}

Result<Decision> Limiter::charge(std::string_view bucket, std::string_view key,
                                 const HitOptions& options) const noexcept {
  return ask(Operation::kCharge, bucket, key, options);
}

Result<Decision> Limiter::drain(std::string_view bucket, std::string_view key,
                                const HitOptions& options) const noexcept {
  return ask(Operation::kDrain, bucket, key, options);
}

Result<Decision> Limiter::look(std::string_view bucket, std::string_view key,
                               const HitOptions& options) const noexcept {
  return ask(Operation::kLook, bucket, key, options);
}

Result<Decision> Limiter::reset(std::string_view bucket, std::string_view key,
                                const HitOptions& options) const noexcept {
  return ask(Operation::kReset, bucket, key, options);
}

Result<bool> Limiter::hit(std::span<const Hit> hits, std::span<Decision> decisions) const noexcept {
  if (hits.size() > Batch::kChargesMax) return kChargesError;

  std::array<Quota, Batch::kChargesMax> quotas;
  std::array<Charge, Batch::kChargesMax> charges;
  for (std::size_t index = 0; index < hits.size(); ++index) {
    const Hit& hit = hits[index];
    if (const auto error = find_quota(hit.options, quotas[index])) return *error;
    const KeyName name{.rule = hit.options.rule, .bucket = hit.bucket, .key = hit.key};
    charges[index] = {.key = hasher_.hash(name, quotas[index]),
                      .quota = &quotas[index],
                      .cost = hit.options.cost,
                      .on_full = hit.options.on_full};
  }
  AwaitedBatch batch;
  batch.operation = Operation::kSpendAll;
  batch.charges = {charges.data(), hits.size()};
  batch.decisions = decisions.first(hits.size());
  batch.decide_on(store_, clock_.now());
  if (batch.error != StoreError::kNone) return kStoreUnavailable;
  for (const Decision& decision : batch.decisions) {
    if (!decision.allowed()) return false;
  }
  return true;
}

}  // namespace weir
