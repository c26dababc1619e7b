// Shared by tests of a fleet: the objects that a node's beat changes, its listener, and RESP
// replies as text.
//
// Thread rule: one thread. Tested by redis_fleet_test.cc and traffic_field_test.cc, which use it.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/testing/switching.h"
#include "store/redis/fleet/fleet_beat.h"

namespace weir::testing {

inline std::string resp_text(std::string_view bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + std::string(bytes) + "\r\n";
}
inline std::string resp_integer(std::int64_t number) {
  return ":" + std::to_string(number) + "\r\n";
}
inline std::string resp_list(const std::vector<std::string>& elements) {
  std::string all = "*" + std::to_string(elements.size()) + "\r\n";
  for (const std::string& element : elements) all += element;
  return all;
}

struct NotedFleet : FleetListener {
  NotedFleet() {
    say = [this](Severity, const std::string& sentence) { said.push_back(sentence); };
    secret_found = [this](const HashSecret& secret, Instant) { secrets.push_back(secret); };
  }
  NotedFleet(const NotedFleet&) = delete;
  NotedFleet& operator=(const NotedFleet&) = delete;

  std::vector<std::string> said;
  std::vector<HashSecret> secrets;
};

// One node's knowledge. Its switches follow the test's own traffic (Switching).
struct FleetNode : Switching {
  explicit FleetNode(Instant start) : recent_traffic(traffic, start), state(1, start) {}

  FleetBeat::World world(RedisClient& client, Reactor& reactor) {
    return {.client = client,
            .reactor = reactor,
            .topics = {.blocks = blocks,
                       .traffic = &recent_traffic,
                       .switches = &switches,
                       .keys = &keys},
            .state = state,
            .listener = listener};
  }

  KeyHasher hasher{HashSecret{}};
  BlockList blocks{hasher};
  Traffic traffic;
  RecentTraffic recent_traffic;
  FleetKeys keys{KeyTexts::kHidden};
  FleetState state;
  NotedFleet listener;
};

}  // namespace weir::testing
