#include "rules/request/client_address.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace weir {
namespace {

// In the order of ClientHeader.
constexpr std::array<std::string_view, 4> kHeaders = {"X-Forwarded-For", "Forwarded", "X-Real-IP",
                                                      "CF-Connecting-IP"};

constexpr std::string_view name_of(ClientHeader header) {
  return kHeaders[static_cast<std::size_t>(header)];
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The `for` of an element of Forwarded: for=192.0.2.1;proto=http or For="[2001:db8::1]:80".
std::string_view forwarded_for(std::string_view element) {
  while (!element.empty()) {
    const auto semicolon = element.find(';');
    const std::string_view pair = trim_blanks(element.substr(0, semicolon));
    element = semicolon == std::string_view::npos ? "" : element.substr(semicolon + 1);
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos || !equal_ignoring_case(pair.substr(0, equals), "for")) {
      continue;
    }
    std::string_view value = pair.substr(equals + 1);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    return value;
  }
  return {};
}

// Calls `visit` with the elements of a field, from the right, while it returns true. Nothing that
// could be believed has a quoted comma: such an element is no address.
template <typename Visit>
bool visit_elements(std::string_view value, Visit visit) {
  // Most fields have one element, and find() reads many characters at a time.
  auto comma = value.find(',') == value.npos ? value.npos : value.rfind(',');
  for (; comma != value.npos; comma = value.rfind(',')) {
    if (!visit(trim_blanks(value.substr(comma + 1)))) return false;
    value = value.substr(0, comma);
  }
  return visit(trim_blanks(value));
}

}  // namespace

TrustedProxies::TrustedProxies()
    : networks_({*IpPrefix::parse("127.0.0.0/8"), *IpPrefix::parse("::1")}) {}

bool TrustedProxies::trusts(const std::optional<IpAddress>& peer) const {
  return !peer || contain(networks_, *peer);
}

std::optional<ClientHeader> client_header_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kHeaders.size(); ++i) {
    if (equal_ignoring_case(kHeaders[i], name)) return static_cast<ClientHeader>(i);
  }
  return std::nullopt;
}

std::optional<IpAddress> parse_forwarded_address(std::string_view text) {
  if (text.starts_with('[')) {
    const auto bracket = text.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(bracket + 1);
    if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) return std::nullopt;
    const std::string_view inside = text.substr(1, bracket - 1);
    if (inside.find(':') == std::string_view::npos) return std::nullopt;
    return IpAddress::parse(inside);
  }
  const auto colon = text.find(':');
  const bool has_port = colon != std::string_view::npos && colon == text.rfind(':');
  if (!has_port) return IpAddress::parse(text);
  return is_port(text.substr(colon + 1)) ? IpAddress::parse(text.substr(0, colon)) : std::nullopt;
}

std::optional<IpAddress> client_address(const std::optional<IpAddress>& peer,
                                        std::span<const NameValue> headers, ClientHeader header,
                                        const TrustedProxies& trusted) {
  return trusted.trusts(peer) ? client_behind(peer, headers, header, trusted) : peer;
}

std::optional<IpAddress> client_behind(const std::optional<IpAddress>& peer,
                                       std::span<const NameValue> headers, ClientHeader header,
                                       const TrustedProxies& trusted) {
  const std::string_view name = name_of(header);
  const bool is_chain =
      header == ClientHeader::kXForwardedFor || header == ClientHeader::kForwarded;
  std::optional<IpAddress> client;
  const auto take_element = [&](std::string_view element) {
    if (element.empty()) return true;  // lists may have empty elements
    if (header == ClientHeader::kForwarded) element = forwarded_for(element);
    const auto address = parse_forwarded_address(element);
    if (address) client = address;
    return address && trusted.trusts(address);
  };
  for (std::size_t i = headers.size(); i > 0; --i) {
    const NameValue& field = headers[i - 1];
    if (!equal_ignoring_case(field.name, name)) continue;
    if (!is_chain) {
      const auto address = parse_forwarded_address(field.value);
      return address ? address : peer;
    }
    if (!visit_elements(field.value, take_element)) break;
  }
  return client ? client : peer;
}

Caller Caller::network() const {
  constexpr unsigned kBitsV6 = 64;  // one subscriber has so many
  if (!address || address->is_v4()) return *this;
  return {.address = address->network(kBitsV6), .is_named = is_named};
}

Caller caller_of(const std::optional<IpAddress>& peer, std::span<const NameValue> headers,
                 const TrustedProxies& trusted) {
  constexpr ClientHeader kHeader = ClientHeader::kXForwardedFor;
  const bool is_named = trusted.trusts(peer) && find_header(headers, name_of(kHeader));
  return {.address = client_address(peer, headers, kHeader, trusted), .is_named = is_named};
}

}  // namespace weir
