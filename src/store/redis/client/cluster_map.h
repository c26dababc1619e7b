// Reads from replies of cluster nodes and sentinels where other servers are: which master has which
// slots (ClusterMap), and where a command is to go instead (Redirection).
//
// Thread rule: values. Tested by cluster_map_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "proto/dialer.h"
#include "proto/resp/reply.h"

namespace weir {

std::optional<std::uint16_t> parse_port(std::string_view text);

// "MOVED 3999 10.0.0.6:7001" or "ASK 3999 :7001"
struct Redirection {
  static std::optional<Redirection> parse(std::string_view error);

  std::string_view host;  // empty: that of the node that redirects
  std::uint16_t port = 0;
};

struct ClusterMap {
  // More ranges would not fit into our buffer; Redis recommends no more nodes.
  static constexpr std::size_t kRangesMax = 16'384;
  static constexpr std::size_t kNodesMax = 1'000;

  struct Range {
    std::uint16_t first;
    std::uint16_t last;
    std::size_t master;  // in `masters`
    friend bool operator==(const Range&, const Range&) = default;
  };

  // Reads a reply to CLUSTER SLOTS by `teller`. Leaves out senseless entries, and nodes without an
  // address: a cluster is adding or has removed them.
  static ClusterMap parse(const resp::Reply& reply, const Destination& teller);

  std::vector<Destination> masters;
  std::vector<Destination> replicas;  // asked for the map when the masters are gone
  std::vector<Range> ranges;
  friend bool operator==(const ClusterMap&, const ClusterMap&) = default;
};

}  // namespace weir
