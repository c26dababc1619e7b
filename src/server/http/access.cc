#include "server/http/access.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/ip_address.h"
#include "base/secret.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

constexpr std::array<NameValue, 1> kChallenge = {{{"WWW-Authenticate", "Bearer"}}};
constexpr std::string_view kScheme = "bearer ";

std::string_view bearer_token(std::string_view authorization) {
  const auto same = [](char scheme, char c) { return (c | 0x20) == (scheme | 0x20); };
  if (authorization.size() < kScheme.size()) return {};
  if (!std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), same)) return {};
  return authorization.substr(kScheme.size());
}

bool starts_without_case(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && equal_ignoring_case(text.substr(0, start.size()), start);
}

// Whether an origin is that of the page at `host`. It is https: behind a proxy that ends TLS.
bool is_own_origin(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!starts_without_case(origin, scheme)) continue;
    return !host.empty() && equal_ignoring_case(origin.substr(scheme.size()), host);
  }
  return false;
}

constexpr std::string_view kCookieName = "weir_console";

bool is_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Empty if there is none. A cookie's name can only have a number here.
std::string_view port_of(std::string_view host) {
  constexpr std::size_t kDigitsMax = 5;
  const auto colon = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  if (colon == std::string_view::npos) return {};
  const std::string_view port = host.substr(colon + 1);
  return port.size() <= kDigitsMax && is_digits(port) ? port : std::string_view();
}

bool is_cookie_of(std::string_view name, std::string_view port) {
  if (!name.starts_with(kCookieName)) return false;
  name.remove_prefix(kCookieName.size());
  return port.empty() ? name.empty() : name.starts_with('_') && name.substr(1) == port;
}

// Adds the values of the console's cookies in a field Cookie.
void add_sessions(std::string_view cookies, std::string_view port,
                  std::vector<std::string_view>& sessions) {
  while (!cookies.empty() && sessions.size() < AccessClaim::kSessionsMax) {
    std::string_view value = trim_blanks(take_until(cookies, ';'));
    if (is_cookie_of(take_until(value, '='), port)) sessions.push_back(value);
  }
}

// Names of this machine that nobody else has: "localhost:8080", "[::1]", "192.0.2.1:80". No name,
// as in HTTP/1.0, counts, too.
bool is_own_name(std::string_view host) {
  const bool bracketed = host.starts_with('[');
  const auto end = std::min(bracketed ? host.find(']') : host.find(':'), host.size());
  std::string_view name = host.substr(0, end);
  std::string_view port = host.substr(std::min(end + (bracketed ? 1 : 0), host.size()));
  if (!port.empty() && port.front() == ':') port.remove_prefix(1);
  if (!is_digits(port)) return false;
  if (bracketed) return IpAddress::parse(name.substr(1)).has_value();
  if (name.ends_with('.')) name.remove_suffix(1);
  return host.empty() || equal_ignoring_case(name, "localhost") ||
         IpAddress::parse(name).has_value();
}

AccessRefusal web_page_refusal() {
  return {http_problem(403,
                       "Web pages may do this only with an admin token: start the server with "
                       "one."),
          {}};
}

}  // namespace

bool AccessClaim::is_from_own_page() const {
  if (!fetch_site.empty() && fetch_site != "same-origin") return false;
  const bool is_own = is_own_origin(origin, host);
  if (console == "1") return origin.empty() || is_own;
  return !websocket.empty() && is_own;
}

AccessClaim read_claim(const http1::RequestHead& head, std::span<const NameValue> fields) {
  const auto field = [&](std::string_view name) { return find_header(fields, name).value_or(""); };
  AccessClaim claim{.authorization = head.authorization,
                    .origin = head.origin,
                    .host = head.host,
                    .fetch_site = field("sec-fetch-site"),
                    .console = field("x-weir-console"),
                    .websocket = field("sec-websocket-key")};
  const std::string_view port = port_of(head.host);
  for (const NameValue& one : fields) {
    if (equal_ignoring_case(one.name, "cookie")) add_sessions(one.value, port, claim.sessions);
  }
  return claim;
}

std::string cookie_name(std::string_view host) {
  const std::string_view port = port_of(host);
  return std::string(kCookieName) + (port.empty() ? "" : "_") + std::string(port);
}

std::optional<AccessRefusal> host_refusal(const HttpAccess& access, std::string_view host) {
  const bool trusts_this_machine = access.exposure == Exposure::kLoopback && !access.admin_token;
  if (!trusts_this_machine || is_own_name(host)) return std::nullopt;
  return AccessRefusal{http_problem(403,
                                    "Without an admin token this is for Host: localhost or an "
                                    "IP address. Use one of them, or start the server with a "
                                    "token."),
                       {}};
}

std::optional<AccessRefusal> access_refusal(const HttpAccess& access, const AccessClaim& claim) {
  if (access.admin_token) {
    if (equals_secret(bearer_token(claim.authorization), *access.admin_token)) return std::nullopt;
    return AccessRefusal{
        http_problem(401, "Send the admin token in the field Authorization: Bearer TOKEN."),
        kChallenge};
  }
  if (access.exposure == Exposure::kLoopback) {
    // Without Origin, Sec-Fetch-Site same-origin or none means our own page, or a person.
    const std::string_view site = claim.fetch_site;
    const bool is_from_page =
        !claim.origin.empty() || !(site.empty() || site == "none" || site == "same-origin");
    if (is_from_page && !claim.is_from_own_page()) return web_page_refusal();
    return host_refusal(access, claim.host);
  }
  return AccessRefusal{
      http_problem(403,
                   "This server listens on more than loopback and has no admin token. Start it "
                   "with one, then send it in the field Authorization: Bearer TOKEN."),
      {}};
}

AccessClaim claim_of(const Exchange& exchange) {
  return read_claim(exchange.head, exchange.headers);
}

std::optional<SessionHash> session_of(HttpNode& node, const AccessClaim& claim, Instant now) {
  if (!claim.is_from_own_page()) return std::nullopt;
  for (const auto name : claim.sessions) {
    if (const auto session = node.sessions().use(name, now)) return session;
  }
  return std::nullopt;
}

bool refuse_access(HttpCore& core, Exchange& exchange) {
  const HttpAccess& access = core.node().options().access;
  const bool shows_token = access.admin_token && !exchange.head.authorization.empty();
  const AccessClaim claim = claim_of(exchange);
  if (!shows_token && session_of(core.node(), claim, exchange.now)) return false;
  std::optional<AccessRefusal> refusal;
  const auto may_enter = [&] {
    refusal = access_refusal(access, claim);
    return !refusal;
  };
  if (shows_token ? judge_token(core, exchange, may_enter).is_right : may_enter()) return false;
  if (refusal) core.reply_problem(exchange, refusal->problem, refusal->fields);
  return true;
}

bool refuse_host(HttpCore& core, const Exchange& exchange) {
  const auto refusal = host_refusal(core.node().options().access, exchange.head.host);
  if (refusal) core.reply_problem(exchange, refusal->problem, refusal->fields);
  return refusal.has_value();
}

LoginGuard::Verdict judge_token(HttpCore& core, Exchange& exchange,
                                const std::function<bool()>& is_right) {
  const auto verdict =
      core.node().options().logins->judge(caller_of(core, exchange), is_right, exchange.now);
  if (!verdict.is_refused()) return verdict;
  exchange.after = AfterReply::kClose;
  const std::string seconds = std::to_string(whole_seconds(verdict.wait));
  const NameValue retry_after{"Retry-After", seconds};
  core.reply_problem(exchange,
                     http_problem(429,
                                  "Too many wrong admin tokens came from this address, or through "
                                  "proxies together."),
                     {&retry_after, 1});
  return verdict;
}

Caller caller_of(HttpCore& core, const Exchange& exchange) {
  return caller_of(exchange.peer, exchange.headers, core.node().options().trusted_proxies);
}

}  // namespace weir
