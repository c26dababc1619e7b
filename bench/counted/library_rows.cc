// Rows of the library, as a program calls it: only what is in include/weir, so that it also
// compiles with the installed library. Each call reads a clock that goes on by a microsecond.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "counted.h"
#include "weir/clock.h"
#include "weir/holding_store.h"
#include "weir/limiter.h"
#include "weir/memory_store.h"

namespace weir::counted {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'700'006'400'000'000);

// A row of its own counts how much it costs to read the machine's clock.
class SteppingClock final : public Clock {
 public:
  Instant now() const noexcept override { return now_ += 1us; }
  void advance(Duration duration) { now_ += duration; }

 private:
  mutable Instant now_ = kStart;
};

HashSecret secret() {
  HashSecret made;
  std::uint8_t byte = 7;
  for (std::byte& place : made.bytes)
    place = std::byte{byte = static_cast<std::uint8_t>(byte * 5 + 3)};
  return made;
}

struct World {
  explicit World(const QuotaSpec& quota, std::size_t precise_keys = 0)
      : store(make_memory_store({.max_keys = 8 * kKeys, .precise_keys = precise_keys}, kStart)),
        limiter(*store, clock, quota, secret()) {}

  SteppingClock clock;
  std::unique_ptr<MemoryStore> store;
  Limiter limiter;
};

constexpr QuotaSpec quota_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kTokenBucket: return {algorithm, 1'000, 1min, 1'000'000};
    // An adaptive key, with its penalty, has room for so many.
    case Algorithm::kAdaptive: return {algorithm, 50'000, 1min};
    default: return {algorithm, 1'000'000, 1min};
  }
}

// `ask` asks about a key and says whether it is allowed.
template <typename Ask>
Work work_of(std::shared_ptr<World> world, std::size_t key_length, Verdict expected, Ask ask) {
  return [world, keys = keys_of(key_length), expected, ask](std::size_t times) {
    std::size_t others = 0;
    for (std::size_t i = 0; i < times; ++i) {
      others += ask(world->limiter, keys[i % kKeys])->verdict == expected ? 0 : 1;
    }
    if (others > 0 && expected == Verdict::kAllowed) unexpected("a denial");
  };
}

constexpr auto kHit = [](const Limiter& limiter, std::string_view key) {
  return limiter.hit("login", key);
};

Row row_of(std::string name, const QuotaSpec& quota, std::size_t key_length = 16) {
  return {std::move(name), [=] {
            return work_of(std::make_shared<World>(quota), key_length, Verdict::kAllowed, kHit);
          }};
}

// Half of a window later, so that the counts of both windows weigh.
Work both_windows() {
  const auto world = std::make_shared<World>(quota_of(Algorithm::kSlidingWindow));
  const Work work = work_of(world, 16, Verdict::kAllowed, kHit);
  work(32 * kKeys);
  world->clock.advance(90s);
  return work;
}

// Keys that have places of their own, from 30 % of their limit on. So much time passes for a hit.
Work precise(Duration pause, bool both_windows) {
  const auto world = std::make_shared<World>(quota_of(Algorithm::kSlidingWindow), 8 * kKeys);
  const auto spend = [&](std::int64_t cost) {
    for (const std::string& key : keys_of(16)) {
      if (!world->limiter.hit("login", key, {.cost = cost})->allowed()) unexpected("a denial");
    }
  };
  world->clock.advance(50s);
  spend(300'000);
  if (both_windows) {
    world->clock.advance(40s);
    spend(300'000);
  }
  return work_of(world, 16, Verdict::kAllowed, [=](const Limiter& limiter, std::string_view key) {
    world->clock.advance(pause);
    return limiter.hit("login", key);
  });
}

Work denied() {
  return work_of(std::make_shared<World>(QuotaSpec{.limit = 1, .window = 1min}), 16,
                 Verdict::kDenied, kHit);
}

Work look() {
  return work_of(
      std::make_shared<World>(quota_of(Algorithm::kSlidingWindow)), 16, Verdict::kAllowed,
      [](const Limiter& limiter, std::string_view key) { return limiter.look("login", key); });
}

Work with_a_limit() {
  return work_of(std::make_shared<World>(quota_of(Algorithm::kSlidingWindow)), 16,
                 Verdict::kAllowed, [](const Limiter& limiter, std::string_view key) {
                   return limiter.hit("login", key, {.limit = 900'000});
                 });
}

Work list_of_16() {
  const auto world = std::make_shared<World>(quota_of(Algorithm::kSlidingWindow));
  return [world, keys = keys_of(16)](std::size_t times) {
    std::array<Hit, 16> hits;
    std::array<Decision, 16> decisions;
    for (std::size_t i = 0; i < times; ++i) {
      for (std::size_t at = 0; at < hits.size(); ++at) {
        hits[at] = {.bucket = "login", .key = keys[(i + at) % kKeys], .options = {}};
      }
      if (!*world->limiter.hit(hits, decisions)) unexpected("a denial");
    }
  };
}

Work reserve_and_commit() {
  struct Held {
    SteppingClock clock;
    std::unique_ptr<MemoryStore> memory = make_memory_store({.max_keys = 8 * kKeys}, kStart);
    HoldingStore store{*memory, secret};
    Limiter limiter{store, clock, quota_of(Algorithm::kSlidingWindow), secret()};
  };
  return [held = std::make_shared<Held>(), keys = keys_of(16)](std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      auto reserved = held->limiter.reserve(held->store, "login", keys[i % kKeys], {.cost = 3},
                                            {.length = 30s});
      if (!reserved || !reserved->commit(1)) unexpected("a denial");
    }
  };
}

Work machines_clock() {
  return [clock = std::make_shared<SystemClock>()](std::size_t times) {
    const Clock& any = *clock;
    for (std::size_t i = 0; i < times; ++i) {
      if (any.now() < kStart) unexpected("a time long ago");
    }
  };
}

}  // namespace

std::vector<Row> library_rows() {
  std::vector<Row> rows;
  for (const auto algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
        Algorithm::kSlidingLog, Algorithm::kExponentialBackoff, Algorithm::kAdaptive}) {
    rows.push_back(row_of("hit, " + std::string(algorithm_name(algorithm)), quota_of(algorithm)));
  }
  rows.push_back(row_of("hit, sliding_window, never over", {Algorithm::kStrictWindow, 200, 1min}));
  rows.push_back({"hit, sliding_window, both windows counted", both_windows});
  const std::string precise_key = "hit, sliding_window, a precise key";
  rows.push_back({precise_key, [] { return precise(0us, false); }});
  rows.push_back({precise_key + ", both windows counted", [] { return precise(0us, true); }});
  // A key has a count of the 256 for each hit, or two.
  rows.push_back({precise_key + ", in another count", [] { return precise(500us, true); }});
  rows.push_back(row_of("hit, token_bucket, a unit of no whole microseconds",
                        {Algorithm::kTokenBucket, 7, 1s, 1'000'000}));
  rows.push_back(
      row_of("hit, sliding_window, 10^9 a minute", {.limit = 1'000'000'000, .window = 1min}));
  rows.push_back(
      row_of("hit, sliding_window, keys of 64 bytes", quota_of(Algorithm::kSlidingWindow), 64));
  rows.push_back({"hit, sliding_window, a limit of its own", with_a_limit});
  rows.push_back({"hit, sliding_window, denied", denied});
  rows.push_back({"look, sliding_window", look});
  rows.push_back({"list of 16, sliding_window", list_of_16});
  rows.push_back({"reserve and commit, sliding_window", reserve_and_commit});
  rows.push_back({"SystemClock::now", machines_clock, true});
  return rows;
}

}  // namespace weir::counted
