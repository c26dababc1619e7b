// RuleHold: on which nodes of a fleet the rules hold that somebody has changed by request.
//
// Thread rule: values. Tested by src/engine/shared_rules_test.cc.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/time.h"

namespace weir {

struct RuleHold {
  struct Node {
    std::string name;
    std::string why_not{};  // empty: the rules hold there
  };

  std::uint64_t version = 0;  // of such rules, as the fleet counts; 0: nobody has changed any
  bool is_told = true;        // Redis has them, so that the other nodes can take them
  Instant heard{};            // when the nodes were last heard of
  std::vector<Node> nodes{};  // that are alive
};

}  // namespace weir
