// RuleHold: on which nodes of a fleet rules are in force that somebody changed by request.
//
// Thread rule: values. Tested by src/engine/shared/shared_rules_test.cc.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/time.h"

namespace weir {

struct RuleHold {
  struct Node {
    std::string name;
    std::string why_not{};  // empty: the rules are in force there
  };

  std::uint64_t version = 0;  // of these rules, by the fleet's count; 0: nobody has changed rules
  bool is_told = true;        // Redis has them, so that other nodes can take them
  Instant heard{};            // when other nodes were last heard of
  std::vector<Node> nodes{};  // the live nodes
};

}  // namespace weir
