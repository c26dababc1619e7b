// libweir in one process: nanoseconds a check, two threads against one, bytes a key.
//
//   keys/N                     what making a random key costs: subtract it from the others
//   clock                      what reading the time costs: part of hit, not of batch16
//   access/N                   one access to two neighbouring lines of a table for N keys, which
//                              waits for the one before: what no hit can do without
//   hit/ALGORITHM/N            Limiter::hit, as a program calls it
//   batch16/ALGORITHM/N        16 keys hashed, then decided by the store in one call
//   shared/ALGORITHM/N         the same by one thread and by two on one store, wall clock
//   shared/wide/N              so do keys whose limits the compact table has no room for
//
// N keys, all seen before, asked about uniformly at random: the worst order for caches.
// Limits are high, so each check is allowed and writes its key's state.
//
// bench/run.py runs one process an (algorithm, N), so that the memory counted is that
// of one store. By hand: build/release/bench/library_bench --benchmark_filter=100000

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/huge_array.h"
#include "base/prng.h"
#include "weir/clock.h"
#include "weir/limiter.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kBucket = "bench";
constexpr std::size_t kBatch = 16;

// 16 bytes, as long as an address or an id as text. Made, not looked up: a table of ten
// million texts would be slower to read than what is measured.
struct KeyText {
  explicit KeyText(std::uint64_t index) {
    const std::uint64_t mixed = Prng(index).next();
    std::memcpy(bytes.data(), &mixed, sizeof mixed);
    std::memcpy(bytes.data() + sizeof mixed, &index, sizeof index);
  }
  std::string_view view() const { return {bytes.data(), bytes.size()}; }

  std::array<char, 16> bytes;
};

// Resident memory of this process, in bytes.
double resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") {
      double kib = 0;
      status >> kib;
      return kib * 1024;
    }
  }
  return 0;
}

// High enough that nothing is denied. A token bucket is forgotten once it is full again:
// at 100 an hour a single check keeps it for 36 s, longer than it takes to fill the store.
QuotaSpec quota_of(Algorithm algorithm) {
  const std::int64_t burst = algorithm == Algorithm::kTokenBucket ? 100'000 : 0;
  const std::int64_t limit = burst > 0 ? 100 : 1'000'000;
  return {.algorithm = algorithm, .limit = limit, .window = 1h, .burst = burst};
}

constexpr QuotaSpec kWide = {.limit = 1'000'000'000'000, .window = 1h};

// A store in which every key has been seen, and what that took.
class World {
 public:
  World(const QuotaSpec& quota, std::uint32_t keys)
      : quota_(quota),
        keys_(keys),
        resident_before_(resident_bytes()),
        store_(make_memory_store({.max_keys = keys, .max_wide_keys = keys}, clock_.now())),
        limiter_(*store_, clock_, quota, secret_),
        hasher_(secret_) {
    for (std::uint32_t key = 0; key < keys; ++key) {
      benchmark::DoNotOptimize(limiter_.hit(kBucket, KeyText(key).view()));
    }
    live_keys_ = static_cast<double>(store_->count_live(clock_.now()));
    resident_ = resident_bytes() - resident_before_;
  }

  // Thread rule: any thread. Keeps one world: ten million keys are some 300 MB.
  static World& of(const QuotaSpec& quota, std::uint32_t keys) {
    static std::mutex mutex;
    static std::unique_ptr<World> current;
    const std::lock_guard lock(mutex);
    if (!current || current->quota_ != quota || current->keys_ != keys) {
      current.reset();
      current = std::make_unique<World>(quota, keys);
    }
    return *current;
  }

  const Clock& clock() const { return clock_; }
  Store& store() { return *store_; }
  const Limiter& limiter() const { return limiter_; }
  const KeyHasher& hasher() const { return hasher_; }  // names keys as the limiter does

  void report(benchmark::State& state) const {
    state.counters["bytes_per_key"] = resident_ / live_keys_;
    state.counters["live_keys"] = live_keys_;
    state.counters["evictions"] = static_cast<double>(store_->stats().evictions);
  }

 private:
  SystemClock clock_;
  QuotaSpec quota_;
  std::uint32_t keys_;
  double resident_before_;
  HashSecret secret_ = HashSecret::random();
  std::unique_ptr<MemoryStore> store_;
  Limiter limiter_;
  KeyHasher hasher_;
  double live_keys_ = 0;
  double resident_ = 0;
};

// Another seed at each call: the library calls a benchmark several times with growing
// counts, and the same keys again would be in the caches.
Prng next_prng() {
  static std::atomic<std::uint64_t> seed = 0;
  return Prng(Prng(++seed).next());
}

void clock(benchmark::State& state) {
  const SystemClock clock;
  for ([[maybe_unused]] auto step : state) benchmark::DoNotOptimize(clock.now());
}

void keys(benchmark::State& state, std::uint32_t keys) {
  Prng prng = next_prng();
  for ([[maybe_unused]] auto step : state) {
    const KeyText key(prng.below(keys));
    benchmark::DoNotOptimize(key);
  }
}

void access(benchmark::State& state, std::uint32_t keys) {
  constexpr double kLoad = 0.6;      // of the table, whose slots have 16 bytes
  constexpr std::size_t kWords = 8;  // of a line
  const auto lines = static_cast<std::uint32_t>(keys / kLoad * 16 / 64) & ~1U;
  HugeArray<std::uint64_t> words(kWords * lines);
  std::ranges::fill(words, 0);
  Prng prng = next_prng();
  std::uint64_t last = 0;
  for ([[maybe_unused]] auto step : state) {
    const std::size_t line = prng.below(lines) + last;
    last = words[kWords * line] | words[kWords * (line ^ 1)];
  }
  benchmark::DoNotOptimize(last);
}

void hit(benchmark::State& state, const QuotaSpec& quota, std::uint32_t keys) {
  World& world = World::of(quota, keys);
  Prng prng = next_prng();
  std::int64_t denied = 0;
  for ([[maybe_unused]] auto step : state) {
    const KeyText key(prng.below(keys));
    const auto decision = world.limiter().hit(kBucket, key.view());
    denied += decision->allowed() ? 0 : 1;
  }
  if (denied > 0) state.SkipWithError("a check was denied, which costs less than an allowed one");
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) world.report(state);
}

void batch16(benchmark::State& state, Algorithm algorithm, std::uint32_t keys) {
  World& world = World::of(quota_of(algorithm), keys);
  const Quota quota = *Quota::make(quota_of(algorithm));
  Prng prng = next_prng();
  std::array<Charge, kBatch> charges;
  std::array<Decision, kBatch> decisions;
  const Instant now = world.clock().now();
  for ([[maybe_unused]] auto step : state) {
    for (Charge& charge : charges) {
      const KeyText key(prng.below(keys));
      charge.key = world.hasher().hash({.rule = {}, .bucket = kBucket, .key = key.view()}, quota);
      charge.quota = &quota;
    }
    Batch batch{.charges = charges, .decisions = decisions, .on_done = [](Batch&) noexcept {}};
    world.store().decide(batch, now);
    benchmark::DoNotOptimize(decisions);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
  world.report(state);
}

const bool kRegistered = [] {
  benchmark::RegisterBenchmark("clock", clock);
  for (const std::uint32_t count : {100'000U, 10'000'000U}) {
    const std::string size = std::to_string(count);
    benchmark::RegisterBenchmark(("keys/" + size).c_str(), keys, count);
    benchmark::RegisterBenchmark(("access/" + size).c_str(), access, count);
    for (const Algorithm algorithm :
         {Algorithm::kFixedWindow, Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
      const std::string name = "/" + std::string(algorithm_name(algorithm)) + "/" + size;
      const QuotaSpec quota = quota_of(algorithm);
      benchmark::RegisterBenchmark(("hit" + name).c_str(), hit, quota, count);
      benchmark::RegisterBenchmark(("batch16" + name).c_str(), batch16, algorithm, count);
      benchmark::RegisterBenchmark(("shared" + name).c_str(), hit, quota, count)
          ->ThreadRange(1, 2)
          ->UseRealTime();
    }
    benchmark::RegisterBenchmark(("shared/wide/" + size).c_str(), hit, kWide, count)
        ->ThreadRange(1, 2)
        ->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace weir
