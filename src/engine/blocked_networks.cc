#include "engine/blocked_networks.h"

#include <algorithm>

#include "base/decimal.h"

namespace weir {
namespace {

constexpr unsigned kMappedBits = 96;  // of ::ffff:0:0/96, where the addresses of IPv4 are

}  // namespace

std::optional<BlockedNetwork> BlockedNetwork::parse(std::string_view text) {
  const auto prefix = IpPrefix::parse(text);
  if (!prefix) return std::nullopt;
  auto network = around(prefix->to_string());
  return network && network->bits > 0 ? network : std::nullopt;
}

std::optional<BlockedNetwork> BlockedNetwork::around(std::string_view text) {
  const auto slash = std::min(text.find('/'), text.size());
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const unsigned bits_max = address->is_v4() ? 32 : 128;
  if (slash == text.size()) return BlockedNetwork{.address = *address, .bits = bits_max};
  auto bits = read_decimal<unsigned>(text.substr(slash + 1));
  const bool is_mapped = address->is_v4() && text.substr(0, slash).find(':') != text.npos;
  if (bits && is_mapped) {  // ::ffff:192.0.2.0/120 is 192.0.2.0/24
    if (*bits < kMappedBits) return std::nullopt;
    *bits -= kMappedBits;
  }
  if (!bits || *bits > bits_max) return std::nullopt;
  return BlockedNetwork{.address = address->network(*bits), .bits = *bits};
}

std::string BlockedNetwork::to_string() const {
  return is_single() ? address.to_string() : address.to_string() + "/" + std::to_string(bits);
}

bool BlockedNetworks::has_room_for(const BlockedNetwork& network) const noexcept {
  const auto& family = lengths_[family_of(network.address)];
  const std::size_t place = network.bits - 1;
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
void BlockedNetworks::add(const BlockedNetwork& network, BlockScope scope) noexcept {
  Lengths& lengths = lengths_of(network.address, scope);
  const unsigned place = network.bits - 1;
  if (lengths.networks[place]++ == 0) {
    lengths.in_use[place / 64].fetch_or(std::uint64_t{1} << place % 64, std::memory_order_relaxed);
  }
  count_.fetch_add(1, std::memory_order_relaxed);
}

void BlockedNetworks::remove(const BlockedNetwork& network, BlockScope scope) noexcept {
  Lengths& lengths = lengths_of(network.address, scope);
  const unsigned place = network.bits - 1;
  if (--lengths.networks[place] == 0) {
    lengths.in_use[place / 64].fetch_and(~(std::uint64_t{1} << place % 64),
                                         std::memory_order_relaxed);
  }
  count_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weir
