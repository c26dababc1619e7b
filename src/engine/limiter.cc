#include "weir/limiter.h"

#include <array>
#include <semaphore>
#include <thread>

namespace weir {
namespace {

constexpr Error kCostError{ErrorCode::kInvalidCost, "cost",
                           "an integer from -1000000000000 to 1000000000000"};
constexpr Error kChargesError{ErrorCode::kTooManyCharges, "hits", "at most 16 at a time"};
constexpr Error kStoreUnavailable{ErrorCode::kStoreUnavailable, "", "a store that answers"};

bool valid_cost(std::int64_t cost) noexcept { return cost >= -kCostMax && cost <= kCostMax; }

// A batch whose caller waits for it: not at all when the store answers at once, in
// which case no atomic is touched.
struct AwaitedBatch : Batch {
  const std::thread::id caller = std::this_thread::get_id();
  bool done_by_caller = false;
  std::binary_semaphore done_elsewhere{0};

  void decide_on(Store& store, Instant now) noexcept {
    context = this;
    on_done = [](Batch& batch) noexcept {
      auto& awaited = *static_cast<AwaitedBatch*>(batch.context);
      if (std::this_thread::get_id() == awaited.caller) {
        awaited.done_by_caller = true;
      } else {
        awaited.done_elsewhere.release();  // publishes the decisions
      }
    };
    store.decide(*this, now);
    if (!done_by_caller) done_elsewhere.acquire();
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

Result<Quota> Limiter::quota_for(const HitOptions& options) const noexcept {
  if (!options.algorithm && !options.limit && !options.window && !options.burst) {
    return default_quota_;
  }
  QuotaSpec spec = defaults_;
  if (options.algorithm) {
    spec.algorithm = *options.algorithm;
    // A default burst speaks of the default algorithm only.
    if (spec.algorithm != Algorithm::kTokenBucket) spec.burst = 0;
  }
  if (options.limit) spec.limit = *options.limit;
  if (options.window) spec.window = *options.window;
  if (options.burst) spec.burst = *options.burst;
  return Quota::make(spec);
}

Result<Decision> Limiter::ask(Operation operation, std::string_view bucket, std::string_view key,
                              const HitOptions& options) const noexcept {
  const Result<Quota> quota = quota_for(options);
  if (!quota) return quota.error();
  if (!valid_cost(options.cost)) return kCostError;

  const Charge charge{.key = hasher_.hash({.rule = {}, .bucket = bucket, .key = key}, *quota),
                      .quota = &*quota,
                      .cost = options.cost};
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
    const Result<Quota> quota = quota_for(hit.options);
    if (!quota) return quota.error();
    if (!valid_cost(hit.options.cost)) return kCostError;
    quotas[index] = *quota;
    const KeyName name{.rule = {}, .bucket = hit.bucket, .key = hit.key};
    charges[index] = {.key = hasher_.hash(name, *quota),
                      .quota = &quotas[index],
                      .cost = hit.options.cost};
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
