// ClusterMap: which master has which slots, as a node of the cluster tells it.
//
// Thread rule: a value. Tested by cluster_map_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "proto/dialer.h"
#include "proto/resp/reply.h"

namespace weir {

struct ClusterMap {
  // More would not fit into what we read, nor into what Redis recommends.
  static constexpr std::size_t kRangesMax = 16'384;
  static constexpr std::size_t kNodesMax = 1'000;

  struct Range {
    std::uint16_t first;
    std::uint16_t last;
    std::size_t master;  // in `masters`
  };

  // Reads a reply to CLUSTER SLOTS by `teller`. Leaves out what makes no sense, and nodes
  // without an address: a cluster is adding or has removed them.
  static ClusterMap parse(const resp::Reply& reply, const Destination& teller);

  std::vector<Destination> masters;
  std::vector<Destination> replicas;  // for the map, when the masters are gone
  std::vector<Range> ranges;
};

}  // namespace weir
