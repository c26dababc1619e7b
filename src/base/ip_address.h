// IpAddress: an IPv4 or IPv6 address, without port or zone.
//
// It is kept as 16 bytes. IPv4 is the mapped form ::ffff:a.b.c.d, and every spelling of an IPv4
// address (mapped, or NAT64's 64:ff9b::/96) is that address. So one host is one value, and no mask
// puts all of IPv4 in one network.
//
// Thread rule: values. Tested by ip_address_test.cc.

#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir {

class IpAddress {
 public:
  using Bytes = std::array<std::uint8_t, 16>;
  static constexpr std::size_t kTextMax = 39;  // eight groups of four digits

  IpAddress() = default;  // ::

  // Reads "192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"; drops a zone ("%eth0"). Refuses all else:
  // brackets, a port, leading zeros in IPv4.
  static std::optional<IpAddress> parse(std::string_view text);

  static IpAddress v4(std::span<const std::uint8_t, 4> bytes);
  static IpAddress v6(std::span<const std::uint8_t, 16> bytes);

  bool is_v4() const;
  unsigned bits() const { return is_v4() ? 32 : 128; }
  bool is_loopback() const;  // 127.0.0.0/8, ::1

  // The network of the address: its first `bits` bits, and zeros. `bits` counts in the address's
  // own family: 24 keeps 192.0.2.0 of 192.0.2.77.
  // REQUIRES: bits <= bits()
  IpAddress network(unsigned bits) const;

  // Writes the address into `text` as RFC 5952 does; returns the part used. No allocation.
  std::string_view write(std::span<char, kTextMax + 1> text) const;
  std::string to_string() const;

  const Bytes& bytes() const { return bytes_; }
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

 private:
  Bytes bytes_{};
};

// A CIDR block: "10.0.0.0/8", "2001:db8::/32", or one address.
class IpPrefix {
 public:
  IpPrefix() = default;
  // The network of that length that the address is in. REQUIRES: bits <= address.bits()
  IpPrefix(const IpAddress& address, unsigned bits)
      : network_(address.network(bits)), bits_(bits) {}

  // Fails if bits beyond the prefix are not zero: 10.1.2.3/8 is a slip. Fixed, it is 10.0.0.0/8,
  // and ::ffff:192.0.2.0/120 is 192.0.2.0/24.
  enum class Slips : std::uint8_t { kRefused, kFixed };
  static std::optional<IpPrefix> parse(std::string_view text, Slips slips = Slips::kRefused);

  const IpAddress& network() const { return network_; }
  unsigned bits() const { return bits_; }
  bool is_single() const { return bits_ == network_.bits(); }

  bool contains(const IpAddress& address) const;
  bool contains(const IpPrefix& other) const {
    return bits_ <= other.bits_ && contains(other.network_);
  }
  std::string to_string() const;
  std::string short_text() const;  // to_string(), or one address by itself

  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;

 private:
  IpAddress network_;
  unsigned bits_ = 0;  // in the family of network_
};

// Whether one of the networks holds the address.
bool contain(std::span<const IpPrefix> networks, const IpAddress& address);

}  // namespace weir
