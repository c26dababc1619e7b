// TrafficEvents: the unusual traffic of the last time, beginnings and ends, what became of rollouts
// (rules/rollout.h), which keys have used much of their limits, with numbers. And which changes of
// tenants were lost.
//
// The numbers count from 1 since the node's start, without gaps. A reader that asks for what
// came after the last number it has seen misses nothing, unless more than kEventsMax came between.
//
// Thread rule: any thread. Tested by traffic_events_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "observe/keys/key_report.h"
#include "observe/unusual/unusual_traffic.h"
#include "weir/quota.h"

namespace weir {

// Times are seconds since 1970.
struct TrafficEvent {
  enum class Kind : std::uint8_t { kBegan, kEnded, kRollout, kLimit, kTenants };
  static constexpr std::size_t kKeysMax = 5;

  std::uint64_t number = 0;
  Kind kind = Kind::kBegan;
  std::string rule{};
  std::int64_t at = 0;     // found, or over
  std::string text{};      // of all but kBegan and kEnded; then only a limit has what follows
  std::int64_t since = 0;  // the first second of the event
  double rate = 0;         // requests/s: at that time, and of an end the highest
  TrafficBand band{};      // as it was when the event began
  // The rule's keys that came most, in the minute of `at` and the one before it. Of a limit the key
  // that has used so many percent of it.
  std::vector<KeyEstimate> keys{};
  int percent = 0;
  std::int64_t limit = 0;
  Quota quota{};  // of that limit, in its window
};

class TrafficEvents {
 public:
  static constexpr std::size_t kEventsMax = 1'000;  // the newest

  using List = std::vector<std::shared_ptr<const TrafficEvent>>;

  struct Reply {
    List events{};           // the oldest first
    std::uint64_t last = 0;  // the number of the newest that there is; 0: none
  };

  // Gives the event its number.
  std::shared_ptr<const TrafficEvent> add(TrafficEvent event);

  // Those after this number; all, if there is no such number yet: the node has started again.
  Reply since(std::uint64_t number) const;

  // How many have begun, and not ended yet.
  struct Figures {
    std::uint64_t began = 0;
    std::uint64_t open = 0;
  };
  Figures figures() const;

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::deque<std::shared_ptr<const TrafficEvent>> events_;
  std::uint64_t last_ = 0;
  Figures figures_;
};

}  // namespace weir
