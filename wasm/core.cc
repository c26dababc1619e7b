#include "core.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>

#include "algo/sliding_log.h"
#include "engine/key_mix.h"
#include "store/memory/compact_table.h"
#include "store/memory/fine_counts.h"
#include "store/memory/time_ring.h"
#include "store/memory/wide_store.h"
#include "store/memory/with_state.h"
#include "weir/key.h"
#include "weir/quota.h"

namespace weir {
namespace {

// As in the server's memory store.
constexpr std::int64_t kSlackBeforeStartUs = Duration(std::chrono::hours(24 * 400)).count();
constexpr std::int64_t kServiceTimeUs = Duration(std::chrono::hours(24 * 366 * 8)).count();
constexpr double kKeysMax = 1 << 24;     // 1.2 GB; a module has 2 at most
constexpr double kPreciseMax = 1 << 20;  // 0.7 GB
constexpr std::size_t kWidePart = 4;     // max_keys over the keys of the side store
constexpr std::size_t kLogEntries = 4;   // times of logs, for each key of the side store

struct Text {
  std::uint8_t* bytes = nullptr;
  std::uint32_t capacity = 0;

  // Grown by doubling; what was in it is gone.
  bool reserve(std::uint32_t size) {
    if (size <= capacity) return true;
    delete[] bytes;
    capacity = std::max<std::uint32_t>(1024, std::bit_ceil(size));
    bytes = new (std::nothrow) std::uint8_t[capacity];
    if (bytes == nullptr) capacity = 0;
    return bytes != nullptr;
  }
  std::string_view view(std::uint32_t length) const {
    return {reinterpret_cast<const char*>(bytes), length};
  }
};

// Small rather than fast: what only few calls come to.
#ifdef __wasm__
#define WEIR_RARE [[gnu::noinline, gnu::cold]] __attribute__((minsize))  // NOLINT
#else
#define WEIR_RARE  // NOLINT: minsize is clang's
#endif

class Core {
 public:
  Core(const HashSecret& secret, std::size_t max_keys, std::size_t precise_keys,
       std::int64_t now_us)
      : secret_(secret),
        start_us_(now_us),
        table_(max_keys, instant_from_epoch_us(now_us - kSlackBeforeStartUs)),
        wide_(max_keys / kWidePart, kLogEntries * (max_keys / kWidePart)) {
    if (precise_keys > 0) table_.use(fine_.emplace(precise_keys));
  }

  const HashSecret& secret() const { return secret_; }

  Decision spend(const Charge& charge, Instant now) noexcept {
    const Quota& quota = *charge.quota;
    if (!Packing::fits(quota)) return spend_wide(charge, now);
    return with_state<States::kCompact>(quota.algorithm(),
                                        [&]<typename State>(std::type_identity<State>) {
                                          return table_.spend<State>(charge, now, nullptr);
                                        });
  }

  // In both: its limit may have been another.
  WEIR_RARE void reset(KeyHash key) noexcept {
    table_.erase(key);
    wide_.erase(key);
  }

  // Slots keep times of some years around the start.
  Instant instant(double now) const noexcept {
    return instant_from_epoch_us(std::clamp(static_cast<std::int64_t>(now),
                                            start_us_ - kWindowMax.count(),
                                            start_us_ + kServiceTimeUs));
  }

  std::uint64_t evictions() noexcept { return table_.evictions() + wide_.evictions(); }

 private:
  WEIR_RARE Decision spend_wide(const Charge& charge, Instant now) noexcept {
    return wide_.spend(charge, now, nullptr);
  }

  HashSecret secret_;
  std::int64_t start_us_;
  CompactTable<> table_;
  WideStore wide_;
  std::optional<FineCounts> fine_;
};

Text text;
std::array<double, 6> answer;
Core* core = nullptr;
std::array<std::optional<Quota>, kWeirQuotas> quotas;  // zeros, which take no place in the module
std::array<Text, kWeirBuckets> buckets;
std::array<std::uint32_t, kWeirBuckets> bucket_lengths;
alignas(16) std::array<std::int64_t, kWeirStateWords> state_words;

// What the keys of the last call had in common, and those of the next one probably have.
struct Scope {
  int quota = -1;  // none
  int bucket = -1;
  KeyHash hash;  // asymmetric in bucket and key, as a sum of their hashes would not be
};
Scope scope;

const Quota& quota_at(int index) { return *quotas[static_cast<std::size_t>(index)]; }

std::string_view bucket_at(int index) {
  const auto place = static_cast<std::size_t>(index);
  return buckets[place].view(bucket_lengths[place]);
}

WEIR_RARE KeyHash fleet_hash(int quota, int bucket, std::string_view key) {
  const HashSecret& secret = core->secret();
  return combine(hash_scope(secret, bucket_at(bucket), quota_at(quota)), hash_text(secret, key));
}

WEIR_RARE void enter_scope(int quota, int bucket) {
  scope = {.quota = quota, .bucket = bucket, .hash = fleet_hash(quota, bucket, {})};
}

// In the table of this module, which nobody shares: a product less than the fleet's.
KeyHash table_hash(int quota, int bucket, std::uint32_t length) {
  if (quota != scope.quota || bucket != scope.bucket) enter_scope(quota, bucket);
  const KeyHash key = hash_text(core->secret(), text.view(length));
  return {.high = scope.hash.high + key.high, .low = scope.hash.low + key.low};
}

Charge charge_of(int quota, int bucket, std::uint32_t length, double cost) {
  return {.key = table_hash(quota, bucket, length),
          .quota = &quota_at(quota),
          .cost = static_cast<std::int64_t>(cost)};
}

int tell(const Decision& decision) {
  answer = {static_cast<double>(decision.limit),
            static_cast<double>(decision.remaining),
            static_cast<double>(decision.retry_after.count()),
            static_cast<double>(decision.reset_after.count()),
            static_cast<double>(decision.backoff_level),
            static_cast<double>(decision.more_after.count())};
  return static_cast<int>(decision.verdict);
}

template <typename State>
constexpr int kWordsOf = static_cast<int>((sizeof(State) + 7) / 8);

template <typename State>
WEIR_RARE int step_state(const Quota& quota, int words, std::int64_t cost, Instant now) {
  State state{};
  if (words == kWordsOf<State>)
    std::memcpy(static_cast<void*>(&state), state_words.data(), sizeof(state));
  const auto step = algo::decide(quota, state, cost, now);
  std::memcpy(state_words.data(), &step.state, sizeof(state));
  return kWordsOf<State> << 2 | tell(step.decision);
}

// Times and units in turn, as pairs of words.
WEIR_RARE int step_log(const Quota& quota, int words, std::int64_t cost, Instant now) {
  RingBudget budget{.entries_max = kWeirLogEntries};
  TimeRing ring{};
  RingView log(ring, budget);
  for (std::size_t word = 0; word + 1 < static_cast<std::size_t>(words); word += 2) {
    log.push_back({state_words[word], state_words[word + 1]});
  }
  const int verdict = tell(algo::decide(quota, log, cost, now));
  for (std::size_t index = 0; index < log.size(); ++index) {
    state_words[2 * index] = log[index].at_us;
    state_words[2 * index + 1] = log[index].units;
  }
  const auto words_after = static_cast<int>(2 * log.size());
  log.clear();
  return words_after << 2 | verdict;
}

}  // namespace
}  // namespace weir

using namespace weir;  // NOLINT: what follows is the C face of it

std::uint8_t* weir_text(std::uint32_t bytes) { return text.reserve(bytes) ? text.bytes : nullptr; }

const double* weir_answer() { return answer.data(); }

int weir_open(double max_keys, double precise_keys, double now) {
  HashSecret secret;
  if (max_keys > kKeysMax || precise_keys > kPreciseMax || core != nullptr ||
      !text.reserve(static_cast<std::uint32_t>(secret.bytes.size())))
    return 0;
  std::memcpy(secret.bytes.data(), text.bytes, secret.bytes.size());
  // As long as the module: it is never destroyed.
  alignas(Core) static std::array<std::byte, sizeof(Core)> place;
  core = new (place.data())
      Core(secret, static_cast<std::size_t>(max_keys), static_cast<std::size_t>(precise_keys),
           static_cast<std::int64_t>(now));
  return 1;
}

int weir_quota(int index, int algorithm, double limit, double window, double burst) {
  if (algorithm >= kDecidingAlgorithmCount) return 1;  // nobody would switch
  const auto quota = Quota::make({.algorithm = static_cast<Algorithm>(algorithm),
                                  .limit = static_cast<std::int64_t>(limit),
                                  .window = Duration{static_cast<std::int64_t>(window)},
                                  .burst = static_cast<std::int64_t>(burst)});
  if (quota) quotas[static_cast<std::size_t>(index)] = *quota;
  scope.quota = -1;
  constexpr std::array<char, 4> kFields = {'a', 'l', 'w', 'b'};  // how their names begin
  if (quota) return 0;
  return static_cast<int>(std::ranges::find(kFields, quota.error().field[0]) - kFields.begin()) + 1;
}

void weir_bucket(int index, std::uint32_t length) {
  Text& bucket = buckets[static_cast<std::size_t>(index)];
  bucket_lengths[static_cast<std::size_t>(index)] = bucket.reserve(length) ? length : 0;
  if (length > 0) std::memcpy(bucket.bytes, text.bytes, length);
  scope.bucket = -1;
}

int weir_spend(int quota, int bucket, std::uint32_t length, double cost, double now) {
  return tell(core->spend(charge_of(quota, bucket, length, cost), core->instant(now)));
}

void weir_reset(int quota, int bucket, std::uint32_t length) {
  core->reset(table_hash(quota, bucket, length));
}

void weir_hash(int quota, int bucket, std::uint32_t length) {
  const KeyHash key = fleet_hash(quota, bucket, text.view(length));
  std::memcpy(text.bytes, &key, sizeof(key));
}

double weir_evictions() { return static_cast<double>(core->evictions()); }

std::int64_t* weir_state() { return state_words.data(); }

int weir_step(int quota_index, int words, double cost, double now) {
  const Quota& quota = quota_at(quota_index);
  const auto units = static_cast<std::int64_t>(cost);
  const Instant at = instant_from_epoch_us(static_cast<std::int64_t>(now));
  if (quota.algorithm() == Algorithm::kSlidingLog) return step_log(quota, words, units, at);
  return with_state(quota.algorithm(), [&]<typename State>(std::type_identity<State>) {
    return step_state<State>(quota, words, units, at);
  });
}
