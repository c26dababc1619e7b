#include "proto/proxy_header.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "base/ascii.h"
#include "base/decimal.h"

namespace weir {
namespace {

using Status = ProxyHeader::Status;

constexpr ProxyHeader kIncomplete{};
constexpr ProxyHeader kMalformed{.status = Status::kMalformed};

// ---- version 1: a line of text ---------------------------------------------------------

constexpr std::string_view kStart1 = "PROXY ";
constexpr std::size_t kLineMax = 107;  // with its end; enough for the longest addresses

// The address, if it is written in the form of its family.
std::optional<IpAddress> parse_address(std::string_view family, std::string_view text) {
  const bool has_colon = text.find(':') != std::string_view::npos;
  if (has_colon != (family == "TCP6") || text.find('%') != std::string_view::npos) {
    return std::nullopt;
  }
  return IpAddress::parse(text);
}

ProxyHeader parse_line(std::string_view line, std::size_t size) {
  line.remove_prefix(kStart1.size());
  // All that follows is ignored.
  if (line == "UNKNOWN" || line.starts_with("UNKNOWN ")) {
    return {.status = Status::kComplete, .size = size};
  }
  if (std::ranges::count(line, ' ') != 4) return kMalformed;
  const auto family = take_until(line, ' ');
  if (family != "TCP4" && family != "TCP6") return kMalformed;
  const auto source = parse_address(family, take_until(line, ' '));
  const auto destination = parse_address(family, take_until(line, ' '));
  const auto source_port = take_until(line, ' ');
  if (!source || !destination || !read_port(source_port) || !read_port(line)) return kMalformed;
  return {.status = Status::kComplete, .size = size, .source = source};
}

ProxyHeader parse_version1(std::string_view input) {
  const auto start = input.substr(0, kStart1.size());
  if (!kStart1.starts_with(start)) return kMalformed;
  const auto end = input.substr(0, kLineMax).find("\r\n");
  if (end == std::string_view::npos) return input.size() < kLineMax ? kIncomplete : kMalformed;
  return start == kStart1 ? parse_line(input.substr(0, end), end + 2) : kMalformed;
}

// ---- version 2: binary -----------------------------------------------------------------

constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::size_t kFixedSize = 16;

std::uint8_t byte_at(std::string_view input, std::size_t place) {
  return static_cast<std::uint8_t>(input[place]);
}

template <std::size_t Size>
std::array<std::uint8_t, Size> bytes_at(std::string_view input, std::size_t place) {
  std::array<std::uint8_t, Size> bytes;
  std::ranges::copy(input.substr(place, Size), bytes.begin());
  return bytes;
}

// The meaning of the byte for family and transport.
struct Family {
  bool known = false;
  std::size_t addresses_size = 0;
};

Family family_of(std::uint8_t byte) {
  switch (byte) {
    case 0x00: return {.known = true, .addresses_size = 0};  // unspecified
    case 0x11:                                               // TCP
    case 0x12: return {.known = true, .addresses_size = 12};
    case 0x21:
    case 0x22: return {.known = true, .addresses_size = 36};
    case 0x31:
    case 0x32: return {.known = true, .addresses_size = 216};  // Unix
    default: return {};
  }
}

ProxyHeader parse_version2(std::string_view input) {
  constexpr std::uint8_t kTcp4 = 0x11;
  constexpr std::uint8_t kTcp6 = 0x21;
  constexpr std::uint8_t kLocal = 0x20;
  constexpr std::uint8_t kProxy = 0x21;
  if (!kSignature.starts_with(input.substr(0, kSignature.size()))) return kMalformed;
  if (input.size() < kFixedSize) return kIncomplete;
  const auto command = byte_at(input, 12);
  const auto family_byte = byte_at(input, 13);
  const std::size_t rest = byte_at(input, 14) * std::size_t{256} + byte_at(input, 15);
  if ((command != kLocal && command != kProxy) || kFixedSize + rest > kProxyHeaderMax) {
    return kMalformed;
  }
  const auto family = family_of(family_byte);
  const bool speaks_for_itself = command == kLocal;  // then all else is ignored
  if (!speaks_for_itself && (!family.known || rest < family.addresses_size)) return kMalformed;
  if (input.size() < kFixedSize + rest) return kIncomplete;

  auto header = ProxyHeader{.status = Status::kComplete, .size = kFixedSize + rest};
  if (speaks_for_itself) return header;
  if (family_byte == kTcp4) header.source = IpAddress::v4(bytes_at<4>(input, kFixedSize));
  if (family_byte == kTcp6) header.source = IpAddress::v6(bytes_at<16>(input, kFixedSize));
  return header;
}

}  // namespace

ProxyHeader parse_proxy_header(std::string_view input) {
  if (input.empty()) return kIncomplete;
  return input.front() == kSignature.front() ? parse_version2(input) : parse_version1(input);
}

}  // namespace weir
