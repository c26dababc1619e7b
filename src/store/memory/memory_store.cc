// The embedded store: routes each charge to the table for its kind of key, and makes several
// charges one.
//
// All or nothing without a lock over several keys: first look at all of them. Only if every one
// would be allowed, charge them in turn. If one is denied after all, because someone else came in
// between, undo the others. So a request that is plainly over a limit never disturbs its other
// keys. In the rare race the others are charged too much for a moment, never too little.
//
// Undoing restores the exact state from before, if nothing has touched the key since. If something
// has, the windows' counts go down by the charge, which is exact at any time. A token bucket stays
// charged: its refill may already have been spent meanwhile, and admitting too much is the one
// thing that must not happen.

#include "weir/memory_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>

#include "base/assert.h"
#include "store/memory/compact_table.h"
#include "store/memory/shared_store.h"
#include "store/memory/wide_store.h"
#include "store/memory/with_state.h"

namespace weir {
namespace {

constexpr std::size_t kKeysMin = 1024;
constexpr std::size_t kKeysMax = std::size_t{1} << 32;
constexpr Duration kSlackBeforeStart = std::chrono::hours(24 * 400);
constexpr Duration kServiceTime = std::chrono::hours(24 * 366 * 8);

// A thread may be kept from running between reading its clock and calling the store. Its time is
// then older than the times of other callers, which with short windows looks like a clock that has
// stepped back. So a time up to kLateMax behind the latest counts as the latest; one further behind
// is a step. The latest is noted every kLatestGrain, well under the shortest window, so that its
// cache line stays shared. A thread that is kept waiting inside the store decides by the time it
// came with. That frees nothing, except where an adaptive key is carried into a bucket meanwhile:
// the bucket refills for as long as the thread was late.
constexpr Duration kLateMax = std::chrono::seconds(1);
constexpr Duration kLatestGrain = std::chrono::microseconds(250);

// How often a drain tries to take what is left, while others take of it.
constexpr int kDrainTriesMax = 16;

MemoryStoreOptions checked(MemoryStoreOptions options) {
  if (options.max_keys < kKeysMin || options.max_keys > kKeysMax) {
    throw std::invalid_argument("max_keys must be from 1024 to 4294967296");
  }
  if (options.max_wide_keys == 0) options.max_wide_keys = options.max_keys / 4;
  if (options.log_entries_max == 0) options.log_entries_max = 16 * options.max_wide_keys;
  return options;
}

// One charge's effect, in one half of the store.
struct Change {
  SlotChange slot;
  WideChange wide;
};

// Since the first time that is served.
struct alignas(64) LatestTime {
  std::atomic<std::int64_t> us{0};
};

// Stands before a shared table. Valid as zeros.
struct SharedHead {
  std::int64_t start_us = 0;
  LatestTime latest;
  CompactTable<>::Counts counts;
};
static_assert(alignof(SharedHead) == kSharedStoreAlignment);

// The part of the memory for keys that need more than a slot.
constexpr std::size_t kWideShare = 8;

// Where the parts are in the memory that processes share.
struct SharedParts {
  explicit SharedParts(std::span<std::byte> memory)
      : head(*reinterpret_cast<SharedHead*>(memory.data())) {
    WEIR_ASSERT(memory.size() >= kSharedStoreMin);
    WEIR_ASSERT(reinterpret_cast<std::uintptr_t>(memory.data()) % kSharedStoreAlignment == 0);
    const std::size_t wide_size =
        memory.size() / kWideShare / alignof(SharedHead) * alignof(SharedHead);
    wide = memory.subspan(sizeof(SharedHead), wide_size);
    const auto table = memory.subspan(sizeof(SharedHead) + wide_size);
    slots = std::span(reinterpret_cast<Atomic128*>(table.data()), table.size() / sizeof(Atomic128));
  }

  SharedHead& head;
  std::span<std::byte> wide;
  std::span<Atomic128> slots;
};

class MemoryStoreImpl final : public MemoryStore {
 public:
  MemoryStoreImpl(const MemoryStoreOptions& options, Instant start)
      : first_(start - kWindowMax),
        table_(options.max_keys, start - kSlackBeforeStart),
        wide_(options.max_wide_keys, options.log_entries_max) {
    if (options.precise_keys == 0) return;
    fine_.emplace(options.precise_keys);
    table_.use(*fine_);
  }

  explicit MemoryStoreImpl(const SharedParts& shared)
      : first_(instant_from_epoch_us(shared.head.start_us) - kWindowMax),
        table_(shared.slots, shared.head.counts, first_ + kWindowMax - kSlackBeforeStart),
        wide_(shared.wide),
        latest_(&shared.head.latest) {}

  void decide(Batch& batch, Instant now) noexcept override {
    WEIR_ASSERT(batch.charges.size() == batch.decisions.size());
    WEIR_ASSERT(batch.charges.size() <= Batch::kChargesMax);
    now = served(now);
    batch.error = StoreError::kNone;
    prefetch(batch);
    if (batch.operation == Operation::kSpendAll && batch.charges.size() > 1) {
      spend_all(batch, now);
    } else {
      decide_each(batch, batch.operation, now);
    }
    batch.on_done(batch);
  }

  bool answers_at_once() const noexcept override { return true; }
  [[gnu::flatten]] Decision decide_one(Operation operation, Charge charge,
                                       Instant now) noexcept override {
    return decide(operation, charge, served(now));
  }

  MemoryStoreStats stats() const noexcept override {
    return {.capacity = table_.capacity(),
            .evictions = table_.evictions() + wide_.evictions(),
            .freed = table_.freed() + wide_.freed(),
            .refused = table_.refused() + wide_.refused(),
            .bytes = table_.bytes() + wide_.bytes() + (fine_ ? fine_->bytes() : 0),
            .log_entries = wide_.log_entries()};
  }

  std::uint64_t count_live(Instant now) const noexcept override {
    return table_.count_live(now) + wide_.count_live(now);
  }

 private:
  Instant served(Instant now) noexcept {
    // Relaxed: the time tells nothing about other memory.
    Instant latest = first_ + Duration(latest_->us.load(std::memory_order_relaxed));
    const bool is_soon_after = now >= latest && now - latest < kLatestGrain;
    return is_soon_after ? now : serve_another(now, latest);
  }
  // Times that slots cannot hold are moved to the ends of their range.
  [[gnu::noinline]] Instant serve_another(Instant now, Instant latest) noexcept {
    now = std::clamp(now, first_, last_);
    if (now < latest && latest - now < kLateMax) return latest;
    auto latest_us = (latest - first_).count();
    latest_->us.compare_exchange_strong(latest_us, (now - first_).count(),
                                        std::memory_order_relaxed);
    return now;
  }

  // A single charge fetches its lines as it looks for its key.
  void prefetch(const Batch& batch) const noexcept {
    if (batch.charges.size() < 2) return;
    for (const Charge& charge : batch.charges) table_.prefetch(charge.key);
  }

  Decision spend(const Charge& charge, Instant now, Change* change) noexcept {
    if (!Packing::fits(*charge.quota)) {
      return wide_.spend(Charge(charge), now, change == nullptr ? nullptr : &change->wide);
    }
    return with_state<States::kCompact>(charge.quota->algorithm(), [&]<typename State>(
                                                                       std::type_identity<State>) {
      return table_.template spend<State>(charge, now, change == nullptr ? nullptr : &change->slot);
    });
  }

  Decision charge(const Charge& charge, Instant now) noexcept {
    if (!Packing::fits(*charge.quota)) return wide_.charge(charge, now);
    return with_state<States::kCompact>(charge.quota->algorithm(),
                                        [&]<typename State>(std::type_identity<State>) {
                                          return table_.template charge<State>(charge, now);
                                        });
  }

  Decision look(const Charge& charge, Instant now) const noexcept {
    if (!Packing::fits(*charge.quota)) return wide_.look(charge, now);
    return with_state<States::kCompact>(
        charge.quota->algorithm(), [&]<typename State>(std::type_identity<State>) {
          const State state = table_.template find<State>(charge.key, *charge.quota);
          if constexpr (kMayBeFine<State>) {
            if (fine_) return fine_->look(charge, state, now);
          }
          return look_at(charge.cost, [&](std::int64_t cost) {
            return algo::decide(*charge.quota, state, cost, now).decision;
          });
        });
  }

  void undo(const Charge& charge, const Change& change, Instant now) noexcept {
    if (!Packing::fits(*charge.quota)) return wide_.undo(charge, change.wide, now);
    if (table_.undo(charge.key, change.slot) || !gives_back_exactly(*charge.quota)) return;
    with_state<States::kCompact>(charge.quota->algorithm(),
                                 [&]<typename State>(std::type_identity<State>) {
                                   Charge refund = charge;
                                   refund.cost = -charge.cost;
                                   table_.template spend<State>(refund, now, nullptr);
                                 });
  }

  [[gnu::always_inline]] Decision decide(Operation operation, const Charge& charge,
                                         Instant now) noexcept {
    if (is_hit(operation)) return spend(charge, now, nullptr);
    return decide_rarely(operation, charge, now);
  }

  // Kept apart from the path of plain hits.
  [[gnu::noinline]] Decision decide_rarely(Operation operation, const Charge& charge,
                                           Instant now) noexcept {
    if (operation == Operation::kCharge) return this->charge(charge, now);
    if (operation == Operation::kDrain) return drain(charge, now);
    if (operation == Operation::kReset) {
      table_.erase(charge.key);  // in both: its limit may have changed
      wide_.erase(charge.key);
    }
    return look(charge, now);
  }

  [[gnu::flatten]] void decide_each(Batch& batch, Operation operation, Instant now) noexcept {
    for (std::size_t index = 0; index < batch.charges.size(); ++index) {
      batch.decisions[index] = decide(operation, batch.charges[index], now);
    }
  }

  // First the rest is charged. Then the charge is denied once, and says how long from then on.
  // Others may take of the rest between the two steps; each time they do, less is left.
  Decision drain(const Charge& charge, Instant now) noexcept {
    Charge rest = charge;
    for (int tries = 0; tries < kDrainTriesMax; ++tries) {
      const Decision seen = look(charge, now);
      if (seen.allowed() || seen.remaining <= 0) break;
      rest.cost = seen.remaining;
      spend(rest, now, nullptr);
    }
    return spend(charge, now, nullptr);
  }

  // REQUIRES: several charges
  void spend_all(Batch& batch, Instant now) noexcept {
    decide_each(batch, Operation::kLook, now);
    if (!std::ranges::all_of(batch.decisions, &Decision::allowed)) return deny_all(batch, now);

    std::array<Change, Batch::kChargesMax> changes;
    for (std::size_t index = 0; index < batch.charges.size(); ++index) {
      const Decision decision = spend(batch.charges[index], now, &changes[index]);
      if (!decision.allowed()) {
        for (std::size_t done = index; done > 0; --done) {
          undo(batch.charges[done - 1], changes[done - 1], now);
        }
        decide_each(batch, Operation::kLook, now);
        batch.decisions[index] = decision;
        return;
      }
      batch.decisions[index] = decision;
    }
  }

  // Charges nothing, but denied keys are worth keeping, and some algorithms count denials.
  void deny_all(Batch& batch, Instant now) noexcept {
    for (std::size_t index = 0; index < batch.charges.size(); ++index) {
      if (batch.decisions[index].verdict != Verdict::kDenied) continue;
      const Charge& charge = batch.charges[index];
      if (!Packing::fits(*charge.quota)) {
        wide_.record_denial(charge, now);
      } else if (counts_denials(*charge.quota)) {
        table_.record_denial(charge, now);
      } else {
        table_.note_denial(charge.key, now);
      }
    }
  }

  // The first and the last time that the store serves.
  const Instant first_;
  const Instant last_ = first_ + kWindowMax + kServiceTime;
  mutable std::optional<FineCounts> fine_;  // a look may make a place
  CompactTable<> table_;
  mutable WideStore wide_;  // looking takes its locks
  LatestTime own_latest_;
  LatestTime* const latest_ = &own_latest_;
};

}  // namespace

std::unique_ptr<MemoryStore> make_memory_store(const MemoryStoreOptions& options, Instant start) {
  return std::make_unique<MemoryStoreImpl>(checked(options), start);
}

void format_shared_memory_store(std::span<std::byte> memory, Instant start) {
  const SharedParts shared(memory);
  shared.head.start_us = epoch_us(start);
  WideStore::format(shared.wide);
}

std::unique_ptr<MemoryStore> make_shared_memory_store(std::span<std::byte> memory) {
  return std::make_unique<MemoryStoreImpl>(SharedParts(memory));
}

}  // namespace weir
