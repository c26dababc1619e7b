#include "base/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/assert.h"
#include "base/decimal.h"

namespace weir {
namespace {

constexpr unsigned kV4Offset = 12;  // where an IPv4 address begins in the mapped form
constexpr std::array<std::uint8_t, kV4Offset> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::array<std::uint8_t, kV4Offset> kNat64 = {0, 0x64, 0xff, 0x9b, 0, 0,
                                                        0, 0,    0,    0,    0, 0};

bool starts_with(const IpAddress::Bytes& bytes, std::span<const std::uint8_t, kV4Offset> prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

std::optional<unsigned> parse_bits(std::string_view text, unsigned max) {
  const auto bits = read_decimal<unsigned>(text);
  const bool has_zero_in_front = text.size() > 1 && text.front() == '0';
  return bits > max || has_zero_in_front ? std::nullopt : bits;
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  text = text.substr(0, text.find('%'));
  // inet_pton wants a terminated string; IPv4 inside IPv6 is the longest spelling.
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.empty() || text.size() >= terminated.size()) return std::nullopt;
  std::copy(text.begin(), text.end(), terminated.begin());
  Bytes bytes{};
  if (text.find(':') != std::string_view::npos) {
    if (::inet_pton(AF_INET6, terminated.data(), bytes.data()) != 1) return std::nullopt;
    return v6(bytes);
  }
  std::array<std::uint8_t, 4> four{};
  if (::inet_pton(AF_INET, terminated.data(), four.data()) != 1) return std::nullopt;
  return v4(four);
}

IpAddress IpAddress::v4(std::span<const std::uint8_t, 4> bytes) {
  IpAddress address;
  std::copy(kMapped.begin(), kMapped.end(), address.bytes_.begin());
  std::copy(bytes.begin(), bytes.end(), address.bytes_.begin() + kV4Offset);
  return address;
}

IpAddress IpAddress::v6(std::span<const std::uint8_t, 16> bytes) {
  IpAddress address;
  std::copy(bytes.begin(), bytes.end(), address.bytes_.begin());
  if (starts_with(address.bytes_, kNat64)) return v4(bytes.last<4>());
  return address;
}

bool IpAddress::is_v4() const { return starts_with(bytes_, kMapped); }

bool IpAddress::is_loopback() const {
  if (is_v4()) return bytes_[kV4Offset] == 127;
  return std::all_of(bytes_.begin(), bytes_.end() - 1, [](auto byte) { return byte == 0; }) &&
         bytes_.back() == 1;
}

IpAddress IpAddress::network(unsigned bits) const {
  if (is_v4()) bits += kV4Offset * 8;
  WEIR_ASSERT(bits <= 128);
  IpAddress network = *this;
  const std::size_t whole = bits / 8;
  if (whole == network.bytes_.size()) return network;
  network.bytes_[whole] &= static_cast<std::uint8_t>(0xff00 >> bits % 8);
  std::fill(network.bytes_.begin() + whole + 1, network.bytes_.end(), 0);
  return network;
}

std::string_view IpAddress::write(std::span<char, kTextMax + 1> text) const {
  if (!is_v4()) {
    const char* const written =
        ::inet_ntop(AF_INET6, bytes_.data(), text.data(), static_cast<socklen_t>(text.size()));
    WEIR_ASSERT(written != nullptr);
    return written;
  }
  // By hand: inet_ntop goes by way of printf, and a key is often the address of a client.
  char* end = text.data();
  for (std::size_t i = kV4Offset; i < bytes_.size(); ++i) {
    if (i > kV4Offset) *end++ = '.';
    end = write_decimal(end, bytes_[i]);
  }
  return {text.data(), end};
}

std::string IpAddress::to_string() const {
  std::array<char, kTextMax + 1> text{};
  return std::string(write(text));
}

std::optional<IpPrefix> IpPrefix::parse(std::string_view text) {
  const auto slash = text.find('/');
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address || text.find('%') != std::string_view::npos) return std::nullopt;
  const unsigned bits_max = address->is_v4() ? 32 : 128;
  IpPrefix prefix;
  prefix.network_ = *address;
  prefix.bits_ = bits_max;
  if (slash != std::string_view::npos) {
    const auto bits = parse_bits(text.substr(slash + 1), bits_max);
    if (!bits || address->network(*bits) != *address) return std::nullopt;
    prefix.bits_ = *bits;
  }
  return prefix;
}

bool IpPrefix::contains(const IpAddress& address) const {
  return address.is_v4() == network_.is_v4() && address.network(bits_) == network_;
}

std::string IpPrefix::to_string() const {
  return network_.to_string() + "/" + std::to_string(bits_);
}

}  // namespace weir
