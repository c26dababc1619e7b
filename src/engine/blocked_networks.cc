#include "engine/blocked_networks.h"

namespace weir {

std::optional<IpPrefix> network_to_block(std::string_view key) {
  const auto network = IpPrefix::parse(key);
  return network && network->bits() > 0 ? network : std::nullopt;
}

bool BlockedNetworks::has_room_for(const IpPrefix& network) const noexcept {
  const auto& family = lengths_[family_of(network.network())];
  const std::size_t place = network.bits() - 1;
  std::size_t lengths = 0;
  for (std::size_t i = 0; i < family[0].networks.size(); ++i) {
    const bool is_used = family[0].networks[i] + family[1].networks[i] > 0;
    if (is_used && i == place) return true;
    lengths += is_used ? 1 : 0;
  }
  return lengths < kLengthsMax;
}

// Relaxed, here and above: a bit orders nothing. A look that sees the bit too early finds no
// network yet; a look that sees it late has come just before.
void BlockedNetworks::add(const IpPrefix& network, BlockScope scope) noexcept {
  Lengths& lengths = lengths_of(network.network(), scope);
  const unsigned place = network.bits() - 1;
  if (lengths.networks[place]++ == 0) {
    lengths.in_use[place / 64].fetch_or(std::uint64_t{1} << place % 64, std::memory_order_relaxed);
  }
  count_.fetch_add(1, std::memory_order_relaxed);
}

void BlockedNetworks::remove(const IpPrefix& network, BlockScope scope) noexcept {
  Lengths& lengths = lengths_of(network.network(), scope);
  const unsigned place = network.bits() - 1;
  if (--lengths.networks[place] == 0) {
    lengths.in_use[place / 64].fetch_and(~(std::uint64_t{1} << place % 64),
                                         std::memory_order_relaxed);
  }
  count_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weir
