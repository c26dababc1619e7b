// client_address() finds the client of a request behind proxies.
//
// Anybody can send a header. So a header is believed only if a trusted peer sent it, and only the
// one header that this proxy is known to set. A chain (X-Forwarded-For, Forwarded) is read from its
// right end, where the nearest proxy wrote, to the left over trusted addresses. The first address
// that is not trusted is the client: all to its left is what that client said. If an element makes
// no sense ("unknown", garbage), the last address read before it counts.
//
// Thread rule: immutable; pure functions. Tested by client_address_test.cc.

#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/name_value.h"

namespace weir {

class TrustedProxies {
 public:
  // Trusts loopback: the proxy on the same machine.
  TrustedProxies();
  explicit TrustedProxies(std::vector<IpPrefix> networks) : networks_(std::move(networks)) {}

  // A peer without an address came over a Unix socket. It is trusted: the operator chooses who may
  // open the socket.
  bool trusts(const std::optional<IpAddress>& peer) const;

  friend bool operator==(const TrustedProxies&, const TrustedProxies&) = default;

 private:
  std::vector<IpPrefix> networks_;
};

// The header in which a proxy writes the client's address.
enum class ClientHeader : std::uint8_t {
  kXForwardedFor,
  kForwarded,  // RFC 7239
  kXRealIp,
  kCfConnectingIp,  // only if the trusted proxies are Cloudflare's
};

// Reads "x-forwarded-for" and so on, in any case.
std::optional<ClientHeader> client_header_from_name(std::string_view name);

// The client of a request from `peer`. It is the peer itself if the peer is not trusted, or if no
// header can be believed.
std::optional<IpAddress> client_address(const std::optional<IpAddress>& peer,
                                        std::span<const NameValue> headers, ClientHeader header,
                                        const TrustedProxies& trusted);
// The same for a trusted peer. REQUIRES: the peer is trusted
std::optional<IpAddress> client_behind(const std::optional<IpAddress>& peer,
                                       std::span<const NameValue> headers, ClientHeader header,
                                       const TrustedProxies& trusted);

// The sender of a request, for the node's own bounds (guesses and places), not for its rules.
struct Caller {
  std::optional<IpAddress> address{};  // empty: over a Unix socket
  bool is_named = false;               // a trusted proxy named it

  // What counts as one caller: its IPv4 address, or the /64 of its IPv6 address.
  Caller network() const;

  friend auto operator<=>(const Caller&, const Caller&) = default;
};

// The peer; behind a trusted proxy, the client in its X-Forwarded-For.
Caller caller_of(const std::optional<IpAddress>& peer, std::span<const NameValue> headers,
                 const TrustedProxies& trusted);

// Reads "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80".
std::optional<IpAddress> parse_forwarded_address(std::string_view text);

}  // namespace weir
