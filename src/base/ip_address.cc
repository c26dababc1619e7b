#include "base/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.h"
#include "base/decimal.h"

namespace weir {
namespace {

constexpr unsigned kV4Offset = 12;  // where an IPv4 address begins in the mapped form
constexpr IpAddress::Bytes kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr IpAddress::Bytes kNat64 = {0, 0x64, 0xff, 0x9b};

// The numbers of an IPv4 address as text. Four bytes are copied, whatever the size.
struct Octet {
  std::array<char, 3> digits{};
  std::uint8_t size = 0;
};
constexpr auto kOctets = [] {
  std::array<Octet, 256> octets{};
  for (unsigned number = 0; number < octets.size(); ++number) {
    Octet& octet = octets[number];
    for (unsigned unit = 100; unit > 0; unit /= 10) {
      if (number < unit && unit > 1) continue;
      octet.digits[octet.size++] = static_cast<char>('0' + number / unit % 10);
    }
  }
  return octets;
}();
static_assert(sizeof(Octet) == 4);

// Each write_ function returns the end of what it wrote.
char* write_v4(char* end, std::span<const std::uint8_t, 4> bytes) {
  for (const std::uint8_t byte : bytes) {
    const Octet& octet = kOctets[byte];
    std::memcpy(end, &octet, sizeof(octet));
    end += octet.size;
    *end++ = '.';
  }
  return end - 1;
}

char* write_group(char* end, unsigned group) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = (std::bit_width(group | 1) - 1) / 4 * 4; shift >= 0; shift -= 4) {
    *end++ = kDigits[group >> shift & 0xf];
  }
  return end;
}

// The run of zeros that "::" stands for: the first of the longest, if at least two long.
struct Zeros {
  std::size_t begin = 8;
  std::size_t size = 1;
};
Zeros longest_zeros(std::span<const unsigned, 8> groups) {
  Zeros longest;
  for (std::size_t begin = 0; begin < groups.size(); ++begin) {
    std::size_t end = begin;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - begin > longest.size) longest = {begin, end - begin};
    begin = end;
  }
  return longest;
}

// The end of ::192.0.2.1 is written as IPv4, as by inet_ntop.
char* write_v6(char* end, const IpAddress::Bytes& bytes) {
  std::array<unsigned, 8> groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = unsigned{bytes[2 * i]} << 8 | bytes[2 * i + 1];
  }
  const Zeros zeros = longest_zeros(groups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == zeros.begin) {
      *end++ = ':';
      i += zeros.size;
    }
    if (i > 0) *end++ = ':';
    if (i == groups.size()) break;
    if (i == 6 && zeros.begin == 0 && zeros.size == 6)
      return write_v4(end, std::span(bytes).last<4>());
    end = write_group(end, groups[i]);
  }
  return end;
}

// Returns the end of the address, or null if the text does not begin with an address.
const char* read_v4(const char* at, const char* end, std::span<std::uint8_t, 4> four) {
  for (std::uint8_t& byte : four) {
    if (&byte != four.data() && (at == end || *at++ != '.')) return nullptr;
    const auto digit = [&] { return at == end ? 10U : static_cast<unsigned char>(*at) - 0x30U; };
    unsigned number = digit();
    if (number > 9) return nullptr;
    for (++at; digit() <= 9; ++at) {
      if (number == 0) return nullptr;  // a leading zero
      number = 10 * number + digit();
      if (number > 255) return nullptr;
    }
    byte = static_cast<std::uint8_t>(number);
  }
  return at;
}

// The bits in which two addresses differ, the first bits highest.
struct Difference {
  std::uint64_t high;
  std::uint64_t low;
};
Difference difference(const IpAddress::Bytes& one, const IpAddress::Bytes& other) {
  static_assert(std::endian::native == std::endian::little);
  using Halves = std::array<std::uint64_t, 2>;
  const auto a = std::bit_cast<Halves>(one);
  const auto b = std::bit_cast<Halves>(other);
  return {.high = __builtin_bswap64(a[0] ^ b[0]), .low = __builtin_bswap64(a[1] ^ b[1])};
}

bool starts_with(const IpAddress::Bytes& bytes, const IpAddress::Bytes& prefix) {
  const Difference differs = difference(bytes, prefix);
  return differs.high == 0 && differs.low >> 32 == 0;
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  std::array<std::uint8_t, 4> four{};
  const char* const v4_end = read_v4(text.data(), text.data() + text.size(), four);
  if (v4_end != nullptr && v4_end == text.data() + text.size()) return v4(four);  // most addresses
  text = text.substr(0, text.find('%'));
  if (text.size() >= INET6_ADDRSTRLEN) return std::nullopt;  // longest: IPv4 inside IPv6
  if (text.find(':') == std::string_view::npos) {
    // As for inet_pton(), the text ends at a NUL.
    const bool is_v4 =
        v4_end != nullptr && (v4_end == text.data() + text.size() || *v4_end == '\0');
    return is_v4 ? std::optional(v4(four)) : std::nullopt;
  }
  std::array<char, INET6_ADDRSTRLEN> terminated{};  // as inet_pton() wants it
  std::copy(text.begin(), text.end(), terminated.begin());
  Bytes bytes{};
  if (::inet_pton(AF_INET6, terminated.data(), bytes.data()) != 1) return std::nullopt;
  return v6(bytes);
}

IpAddress IpAddress::v4(std::span<const std::uint8_t, 4> bytes) {
  IpAddress address;
  address.bytes_ = kMapped;
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

// By hand: inet_ntop uses printf, and a key is often the address of a client.
std::string_view IpAddress::write(std::span<char, kTextMax + 1> text) const {
  const char* const end =
      is_v4() ? write_v4(text.data(), std::span(bytes_).last<4>()) : write_v6(text.data(), bytes_);
  return {text.data(), end};
}

std::string IpAddress::to_string() const {
  std::array<char, kTextMax + 1> text{};
  return std::string(write(text));
}

std::optional<IpPrefix> IpPrefix::parse(std::string_view text, Slips slips) {
  const auto slash = std::min(text.find('/'), text.size());
  const std::string_view written = text.substr(0, slash);
  const auto address = IpAddress::parse(written);
  const bool is_strict = slips == Slips::kRefused;
  if (!address || (is_strict && text.find('%') != std::string_view::npos)) return std::nullopt;
  if (slash == text.size()) return IpPrefix(*address, address->bits());
  const std::string_view length = text.substr(slash + 1);
  auto bits = read_decimal<unsigned>(length);
  const bool is_wrapped = address->is_v4() && written.find(':') != std::string_view::npos;
  if (!is_strict && is_wrapped && bits >= kV4Offset * 8) *bits -= kV4Offset * 8;
  if (!bits || bits > address->bits()) return std::nullopt;
  const IpPrefix network(*address, *bits);
  const bool has_zero_in_front = length.size() > 1 && length.front() == '0';
  const bool is_slip = network.network_ != *address || has_zero_in_front;
  return is_strict && is_slip ? std::nullopt : std::optional(network);
}

// For a v4 network, compares the 96 bits in front, too: no v6 address has them. A v6 network of few
// bits may match a v4 address, which it does not hold.
bool IpPrefix::contains(const IpAddress& address) const {
  const Difference differs = difference(network_.bytes(), address.bytes());
  const bool is_v4 = network_.is_v4();
  const unsigned bits = bits_ + (is_v4 ? kV4Offset * 8 : 0);
  const bool holds = bits > 64 ? differs.high == 0 && differs.low >> (128 - bits) == 0
                               : bits == 0 || differs.high >> (64 - bits) == 0;
  return holds && (is_v4 || !address.is_v4());
}

bool contain(std::span<const IpPrefix> networks, const IpAddress& address) {
  return std::ranges::any_of(networks, [&](const auto& each) { return each.contains(address); });
}

std::string IpPrefix::to_string() const {
  return network_.to_string() + "/" + std::to_string(bits_);
}

std::string IpPrefix::short_text() const {
  return is_single() ? network_.to_string() : to_string();
}

}  // namespace weir
