// ExactLogs: how rules would have decided by an exact log of each key's requests, in place of their
// algorithms. It shows what the algorithms misjudge.
//
// The court (rulebook/court.h) has decided a request's asks, and answered those that need no
// counter. ExactLogs decides the other asks again, charges all or none of them, and blocks keys as
// the rules say. Bounded: all logs together hold kEntriesMax times. Beyond that, a log merges its
// oldest times into later ones, so that it may deny too early; short_of_room() counts such asks.
//
// Thread rule: one thread. Tested by tests/lab/replay_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/huge_array.h"
#include "engine/asks/asks.h"
#include "rules/rule.h"
#include "store/memory/time_ring.h"
#include "weir/time.h"

namespace weir::lab {

class ExactLogs {
 public:
  static constexpr std::size_t kEntriesMax = std::size_t{1} << 23;

  // The number of each ask's key, from 0 on. An ask without one is decided as the court did.
  using Keys = std::span<const std::optional<std::uint32_t>>;

  // For keys with numbers below `keys_max`.
  explicit ExactLogs(std::size_t keys_max) : logs_(keys_max) {}
  ~ExactLogs();

  void prefetch(std::uint32_t key) const { __builtin_prefetch(&logs_[key]); }

  void decide(const Asks& asks, Keys keys, Instant now);
  // Whether the log denies this ask of the last request.
  bool is_over(std::size_t ask) const { return asked_[ask].is_over; }
  // Charges the cost that a request owes by its response.
  void charge(const Ask& looked, std::optional<std::uint32_t> key, std::int64_t cost, Instant now);

  std::uint64_t short_of_room() const { return short_; }

 private:
  // Valid as zeros.
  struct Log {
    TimeRing ring;
    Duration window;  // the longest that it needs
  };
  struct Blocks {
    std::vector<Instant> denials;
    std::vector<Instant> blocks;
    Instant until{};
  };
  struct Asked {
    bool is_over = false;
    bool is_limited = false;  // by the log alone
    bool is_apart = false;    // charged by itself, or a look
  };

  RingView view(std::uint32_t key) { return RingView(logs_[key].ring, budget_); }
  Asked judge(const Ask& ask, std::uint32_t key, Instant now);
  bool is_blocked(std::uint32_t key, Instant now) const;
  bool fits(std::span<const Quota> limits, std::uint32_t key, std::int64_t cost, Instant now);
  void drop_gone(Log& log, Instant now);
  bool has_room(const RingView& log);
  void enter(std::uint32_t key, std::int64_t cost, Instant now);
  void owe(std::span<const Quota> limits, std::uint32_t key, std::int64_t cost, Instant now);
  void block(const Ask& ask, std::uint32_t key, Instant now);

  HugeArray<Log> logs_;  // by the number of the key
  std::unordered_map<std::uint32_t, Blocks> blocks_;
  RingBudget budget_{.entries_max = kEntriesMax};
  std::vector<Asked> asked_;
  std::size_t keys_ = 0;  // the first `keys_` have logs
  std::uint64_t entered_ = 0;
  std::uint64_t sweep_after_ = 0;  // after so many entries
  std::uint64_t short_ = 0;
};

}  // namespace weir::lab
