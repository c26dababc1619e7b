// BlockedNetworks: the lengths of the blocked networks. A look for the networks of an address
// probes only for these.
//
//   blocked: 203.0.113.0/24 and 198.51.100.7 by a rule, 2001:db8::/32 for all rules
//   a look for 203.0.113.9: as a /24 of its rule, and as a /32
//
// Thread rule: add() and remove() under the lock of the list; the rest from any thread.
// Tested by block_list_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip_address.h"

namespace weir {

// A network, or one address: a network of all the bits that the address has.
struct BlockedNetwork {
  IpAddress address;
  unsigned bits = 0;

  // Reads "203.0.113.0/24", "2001:db8::1". Returns nothing for all else, for /0, which is
  // everybody, and for a network with bits beyond its length.
  static std::optional<BlockedNetwork> parse(std::string_view text);
  // The network that a key names, or that it is in: the /24 for 203.0.113.9/24.
  static std::optional<BlockedNetwork> around(std::string_view text);
  std::string to_string() const;

  bool is_single() const { return bits == (address.is_v4() ? 32U : 128U); }
};

// Whether a block is for one rule or for all rules.
enum class BlockScope : std::uint8_t { kRule, kAllRules };

class BlockedNetworks {
 public:
  // The most lengths of each family, in both scopes together. A look probes for each length, once
  // for the rule and once for all rules.
  static constexpr std::size_t kLengthsMax = 16;

  bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

  // Whether another network fits.
  bool has_room_for(const BlockedNetwork& network) const noexcept;
  // REQUIRES: has_room_for()
  void add(const BlockedNetwork& network, BlockScope scope) noexcept;
  void remove(const BlockedNetwork& network, BlockScope scope) noexcept;

  // Calls visit(network) for each blocked length, with the network of that length around `inner`.
  template <typename Visit>
  void each_around(const BlockedNetwork& inner, BlockScope scope, Visit visit) const {
    const Lengths& lengths = lengths_of(inner.address, scope);
    for (std::size_t word = 0; word < lengths.in_use.size(); ++word) {
      std::uint64_t bits = lengths.in_use[word].load(std::memory_order_relaxed);
      for (; bits != 0; bits &= bits - 1) {
        const auto length =
            static_cast<unsigned>(64 * word) + static_cast<unsigned>(std::countr_zero(bits)) + 1;
        if (length > inner.bits) return;
        visit(BlockedNetwork{.address = inner.address.network(length), .bits = length});
      }
    }
  }

 private:
  // The lengths of one family and scope. Bit i stands for length i + 1.
  struct Lengths {
    std::array<std::atomic<std::uint64_t>, 2> in_use{};
    std::array<std::uint32_t, 128> networks{};  // networks of each length
  };
  static std::size_t family_of(const IpAddress& address) { return address.is_v4() ? 0 : 1; }
  const Lengths& lengths_of(const IpAddress& address, BlockScope scope) const {
    return lengths_[family_of(address)][static_cast<std::size_t>(scope)];
  }
  Lengths& lengths_of(const IpAddress& address, BlockScope scope) {
    return lengths_[family_of(address)][static_cast<std::size_t>(scope)];
  }

  std::atomic<std::size_t> count_{0};
  std::array<std::array<Lengths, 2>, 2> lengths_{};
};

}  // namespace weir
