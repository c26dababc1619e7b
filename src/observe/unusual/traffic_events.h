// TrafficEvents: recent events, with numbers: beginnings and ends of unusual traffic, outcomes of
// rollouts (rules/rollout.h), keys that have used much of a limit. And lost changes of tenants.
//
// Numbers count from 1 since the node's start, without gaps. A reader that asks for all events
// after the last number it has seen misses none, unless more than kEventsMax came meanwhile.
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

// Times are in seconds since 1970.
struct TrafficEvent {
  enum class Kind : std::uint8_t { kBegan, kEnded, kRollout, kLimit, kTenants };
  static constexpr std::size_t kKeysMax = 5;

  std::uint64_t number = 0;
  Kind kind = Kind::kBegan;
  std::string rule{};
  std::int64_t at = 0;     // when it was found, or over
  std::string text{};      // not for kBegan, kEnded; of the others only kLimit has fields below
  std::int64_t since = 0;  // the first second of the event
  double rate = 0;         // requests/s: at that time; of an end, the highest
  TrafficBand band{};      // the band when the event began
  // The rule's busiest keys in the minute of `at` and the one before. For a limit, the key that has
  // used this percentage of it.
  std::vector<KeyEstimate> keys{};
  int percent = 0;
  std::int64_t limit = 0;
  Quota quota{};  // the limit
};

class TrafficEvents {
 public:
  static constexpr std::size_t kEventsMax = 1'000;  // the newest are kept

  using List = std::vector<std::shared_ptr<const TrafficEvent>>;

  struct Reply {
    List events{};           // oldest first
    std::uint64_t last = 0;  // the number of the newest event; 0: none
  };

  // Adds the event, and gives it its number.
  std::shared_ptr<const TrafficEvent> add(TrafficEvent event);

  // Events after this number; all if the number is not reached yet: the node has started again.
  Reply since(std::uint64_t number) const;

  // How many events have begun and not yet ended.
  struct Figures {
    std::uint64_t began = 0;
    std::uint64_t open = 0;
  };
  Figures figures() const;

 private:
  mutable std::mutex mutex_;  // guards all below
  std::deque<std::shared_ptr<const TrafficEvent>> events_;
  std::uint64_t last_ = 0;
  Figures figures_;
};

}  // namespace weir
