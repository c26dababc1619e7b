// Decides whether a client may use the admin routes (RouteAccess::kAdmin), or the console.
//
// Thread rule: functions without a core are pure. Tested by http_access_test.cc and
// console/http_console_session_test.cc.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_value.h"
#include "engine/login_guard.h"
#include "proto/http/http1_head.h"
#include "proto/http/problem.h"
#include "rules/request/client_address.h"
#include "server/http/console_sessions.h"
#include "server/http/http_node.h"

namespace weir {

class HttpCore;
struct Exchange;

struct AccessRefusal {
  Problem problem;
  std::span<const NameValue> fields{};  // for the reply; static
};

// A request's claims on its sender: the fields of these names, empty if there is none.
struct AccessClaim {
  static constexpr std::size_t kSessionsMax = 32;

  std::string_view authorization;
  std::string_view origin;
  std::string_view host;
  std::string_view fetch_site{};  // Sec-Fetch-Site
  std::string_view console{};     // X-Weir-Console
  std::string_view websocket{};   // Sec-WebSocket-Key
  // The console's cookies for this port, the first kSessionsMax: a page at another port of the host
  // can add some, and browsers send some of these before ours.
  std::vector<std::string_view> sessions{};

  // Whether no web page but our own can have sent this. A page cannot give a request of another
  // origin the field X-Weir-Console, as nobody here allows it to. It cannot give its own request
  // the field of a WebSocket, and browsers tell the origin of each WebSocket.
  bool is_from_own_page() const;
};
AccessClaim read_claim(const http1::RequestHead& head, std::span<const NameValue> fields);
AccessClaim claim_of(const Exchange& exchange);

// The console's cookie for a caller with this Host. Its name has the port, as browsers send the
// cookies of a host to all of its ports.
std::string cookie_name(std::string_view host);

// Comparing takes the same time for every token. Without an admin token every caller on this
// machine may use admin routes, but of the web pages in its browser only the console. Other pages
// send Origin or Sec-Fetch-Site. If their name was made to lead here, they send that name as Host.
std::optional<AccessRefusal> access_refusal(const HttpAccess& access, const AccessClaim& claim);

// Does the same for routes without a token: if none is set, only this machine's names lead here.
std::optional<AccessRefusal> host_refusal(const HttpAccess& access, std::string_view host);

// The session that the claim shows, and which this uses. Only our own page can show one.
std::optional<SessionHash> session_of(HttpNode& node, const AccessClaim& claim, Instant now);

// Whether the client may not use admin routes. If so, this has replied.
bool refuse_access(HttpCore& core, Exchange& exchange);
// Does the same for the console's files, which are for everybody.
bool refuse_host(HttpCore& core, const Exchange& exchange);
// Whether the client's token is right. If the client's network sent too many wrong ones, the
// verdict is a refusal: this has replied, and the connection closes.
// REQUIRES: there is an admin token
LoginGuard::Verdict judge_token(HttpCore& core, Exchange& exchange,
                                const std::function<bool()>& is_right);
// The client, as the node's bounds count it.
Caller caller_of(HttpCore& core, const Exchange& exchange);

}  // namespace weir
