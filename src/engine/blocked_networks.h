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
#include <string_view>

#include "base/ip_address.h"

namespace weir {

// The network, or one address, that the key of a block names: "203.0.113.0/24", "2001:db8::1".
// Nothing for all else, and for /0, which is everybody.
std::optional<IpPrefix> network_to_block(std::string_view key);

// Whether a block is for one rule or for all rules.
enum class BlockScope : std::uint8_t { kRule, kAllRules };

class BlockedNetworks {
 public:
  // The most lengths of each family, in both scopes together. A look probes for each length, once
  // for the rule and once for all rules.
  static constexpr std::size_t kLengthsMax = 16;

  bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

  // Whether another network fits.
  bool has_room_for(const IpPrefix& network) const noexcept;
  // REQUIRES: has_room_for()
  void add(const IpPrefix& network, BlockScope scope) noexcept;
  void remove(const IpPrefix& network, BlockScope scope) noexcept;

  // Calls visit(network) for each blocked length, with the network of that length around `inner`.
  template <typename Visit>
  void each_around(const IpPrefix& inner, BlockScope scope, Visit visit) const {
    const Lengths& lengths = lengths_of(inner.network(), scope);
    for (std::size_t word = 0; word < lengths.in_use.size(); ++word) {
      std::uint64_t bits = lengths.in_use[word].load(std::memory_order_relaxed);
      for (; bits != 0; bits &= bits - 1) {
        const auto length =
            static_cast<unsigned>(64 * word) + static_cast<unsigned>(std::countr_zero(bits)) + 1;
        if (length > inner.bits()) return;
        visit(IpPrefix(inner.network(), length));
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
