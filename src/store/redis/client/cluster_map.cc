#include "store/redis/client/cluster_map.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/decimal.h"
#include "store/redis/script/cluster_slot.h"

namespace weir {
namespace {

std::optional<std::uint16_t> slot_of(const resp::Reply& reply) {
  const auto number = reply.integer();
  if (!number || *number < 0 || *number >= kClusterSlots) return {};
  return static_cast<std::uint16_t>(*number);
}

std::optional<Destination> node_of(const resp::Reply& reply, const Destination& teller) {
  const auto port = reply[1].integer();
  auto host = std::string(reply[0].text());
  if (host.empty()) host = teller.host;
  if (!reply.is_list() || !port || *port < 1 || *port > 65'535 || host == "?") return {};
  return Destination{.host = std::move(host),
                     .port = static_cast<std::uint16_t>(*port),
                     .path = {},
                     .encryption = teller.encryption};
}

// The place of `node` in `nodes`, added if it is new; nullopt if there are too many.
std::optional<std::size_t> place_of(const Destination& node, std::vector<Destination>& nodes) {
  const auto found = std::ranges::find(nodes, node);
  const auto place = static_cast<std::size_t>(found - nodes.begin());
  if (found != nodes.end()) return place;
  if (nodes.size() == ClusterMap::kNodesMax) return {};
  nodes.push_back(node);
  return place;
}

void add_range(const resp::Reply& entry, const Destination& teller, ClusterMap& map) {
  const auto first = slot_of(entry[0]);
  const auto last = slot_of(entry[1]);
  const auto master = node_of(entry[2], teller);
  if (!first || !last || *first > *last || !master) return;
  const auto place = place_of(*master, map.masters);
  if (!place || map.ranges.size() == ClusterMap::kRangesMax) return;
  map.ranges.push_back({.first = *first, .last = *last, .master = *place});
  std::size_t position = 0;
  for (const resp::Reply node : entry) {
    const bool is_replica = position++ > 2;
    const auto replica = is_replica ? node_of(node, teller) : std::nullopt;
    if (replica) place_of(*replica, map.replicas);
  }
}

}  // namespace

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = read_decimal<std::uint16_t>(text);
  return port == 0 ? std::nullopt : port;
}

std::optional<Redirection> Redirection::parse(std::string_view error) {
  const auto space = error.rfind(' ');
  const auto colon = error.rfind(':');  // IPv6 comes without brackets
  if (space == std::string_view::npos || colon == std::string_view::npos || colon < space) {
    return {};
  }
  const auto host = error.substr(space + 1, colon - space - 1);
  const auto port = parse_port(error.substr(colon + 1));
  if (!port || host == "?") return {};
  return Redirection{.host = host, .port = *port};
}

ClusterMap ClusterMap::parse(const resp::Reply& reply, const Destination& teller) {
  ClusterMap map;
  for (const resp::Reply entry : reply) add_range(entry, teller, map);
  return map;
}

}  // namespace weir
