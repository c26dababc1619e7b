#include "server/http/check/forward_auth.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.h"
#include "base/nearest_name.h"
#include "proto/http/host.h"
#include "rules/request/plain_value.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr std::array kProfiles = {
    ProxyProfile{.auth_path = "/auth",
                 .method_header = "X-Forwarded-Method",
                 .uri_header = "X-Forwarded-Uri",
                 .host_header = "X-Forwarded-Host",
                 .client_header = ClientHeader::kXForwardedFor,
                 .allow = 200,
                 .deny = 429,
                 .takes_parameters = false},
    ProxyProfile{.auth_path = "/auth/nginx",
                 .method_header = "X-Original-Method",
                 .uri_header = "X-Original-URI",
                 .host_header = "X-Original-Host",
                 .client_header = ClientHeader::kXRealIp,
                 .allow = 204,
                 .deny = 403,
                 .takes_parameters = true},
    ProxyProfile{.auth_path = "/auth/ingress-nginx",
                 .method_header = "X-Original-Method",
                 .uri_header = "X-Original-URL",
                 .host_header = "",
                 .client_header = ClientHeader::kXRealIp,
                 .allow = 200,
                 .deny = 403,
                 .takes_parameters = true},
    ProxyProfile{.auth_path = "/auth/envoy",
                 .method_header = "",
                 .uri_header = "",
                 .host_header = "Host",
                 .client_header = ClientHeader::kXForwardedFor,
                 .allow = 200,
                 .deny = 429,
                 .takes_parameters = false},
};

// A profile that appends the request's path takes all paths below its own.
const ProxyProfile* find_profile(std::string_view path) {
  for (const ProxyProfile& profile : kProfiles) {
    if (!path.starts_with(profile.auth_path)) continue;
    const std::string_view below = path.substr(profile.auth_path.size());
    if (below.empty() || (profile.uri_header.empty() && below.front() == '/')) return &profile;
  }
  return nullptr;
}

Problem bad_parameter(std::string_view name, std::string_view expected) {
  Problem problem = invalid_field(as_utf8(shown_name(name)), expected);
  problem.detail += "; it is a parameter of the URL that the proxy is configured with";
  return problem;
}

// The value has to be one of two statuses.
std::optional<Problem> read_status(std::string_view name, std::string_view value, int one,
                                   int other, int& status) {
  const std::array texts = {std::to_string(one), std::to_string(other)};
  if (value != texts[0] && value != texts[1])
    return bad_parameter(name, texts[0] + " or " + texts[1]);
  status = value == texts[0] ? one : other;
  return std::nullopt;
}

std::optional<Problem> read_parameter(std::string_view name, std::string_view value,
                                      ProxyProfile& profile) {
  if (name == "allow") return read_status(name, value, 200, 204, profile.allow);
  if (name == "deny") return read_status(name, value, 429, 403, profile.deny);
  if (name != "client") {
    return bad_parameter(name, "allow, deny or client as the name of a parameter");
  }
  const auto header = client_header_from_name(value);
  if (!header) {
    return bad_parameter(name, "x-forwarded-for, forwarded, x-real-ip or cf-connecting-ip");
  }
  profile.client_header = *header;
  return std::nullopt;
}

// The value of a field, if the profile names one.
struct Told {
  std::string_view name;
  std::string_view value{};
  int count = 0;

  void hear(const NameValue& header) {
    if (equal_ignoring_case(header.name, name) && ++count == 1) value = header.value;
  }
};

Problem silent_proxy(std::string_view missing) {
  return http_problem(400, "The proxy did not say which request it means: " + std::string(missing) +
                               " is missing or no such thing. If the proxy is of another kind, "
                               "let it ask at /auth, /auth/nginx or /auth/ingress-nginx.");
}

Problem ambiguous_path() {
  return http_problem(400, "Servers may read the path of the request in more than " +
                               std::to_string(PathReadings::kMax) + " ways.");
}

Problem odd_field(std::string_view name) {
  return http_problem(400, "The header field " + as_utf8(name) +
                               " has a control character, or white space beyond ASCII at an end.");
}

}  // namespace

std::optional<Problem> read_profile(std::string_view path, std::string_view query,
                                    ProxyProfile& profile) {
  const ProxyProfile* const found = find_profile(path);
  if (found == nullptr) {
    return http_problem(404,
                        "There is no such proxy; there are /auth, /auth/nginx, "
                        "/auth/ingress-nginx and /auth/envoy.");
  }
  profile = *found;
  while (profile.takes_parameters && !query.empty()) {
    const std::string_view pair = take_until(query, '&');
    const auto equals = std::min(pair.find('='), pair.size());
    const auto value = pair.substr(std::min(equals + 1, pair.size()));
    if (auto problem = read_parameter(pair.substr(0, equals), value, profile)) return problem;
  }
  return std::nullopt;
}

std::optional<Problem> read_forwarded_request(const AuthCall& call, const ProxyProfile& profile,
                                              const TrustedProxies& trusted,
                                              DescribedRequest& described) {
  if (!trusted.trusts(call.peer)) {
    return http_problem(400,
                        "This peer is not trusted to speak for others; if it is a proxy of "
                        "yours, add its network to trusted_proxies.");
  }
  std::array told = {Told{profile.method_header}, Told{profile.uri_header},
                     Told{profile.host_header}};
  auto& [told_method, told_uri, told_host] = told;
  for (const NameValue& header : call.headers) {
    told_method.hear(header);
    told_uri.hear(header);
    told_host.hear(header);
  }
  for (const Told& field : told) {
    if (field.count > 1) return repeated_field(field.name);
  }
  if (!call.is_printable) {
    const auto odd = std::ranges::find_if_not(call.headers, is_plain_value, &NameValue::value);
    if (odd != call.headers.end()) return odd_field(odd->name);
  }
  Request& request = described.request;
  request = {.headers = call.headers,
             .client = client_behind(call.peer, call.headers, profile.client_header, trusted)};
  request.method = profile.method_header.empty() ? call.method : told_method.value;
  if (profile.uri_header.empty()) {
    const std::string_view path = call.path.substr(profile.auth_path.size());
    if (!set_target(path, told_host.value, described)) {
      return ambiguous_path();
    }
    request.query = call.query;
    return std::nullopt;
  }

  if (request.method.empty()) return silent_proxy(profile.method_header);
  std::string_view uri = told_uri.value;
  if (uri.empty()) return silent_proxy(profile.uri_header);
  std::string_view host = told_host.value;
  if (const auto of_url = take_host(uri)) {
    host = *of_url;
  } else if (profile.host_header.empty()) {
    return silent_proxy(profile.uri_header);
  }
  if (!is_host(host)) {
    return http_problem(400, "The request that the proxy holds is for no host, or for several.");
  }
  if (!set_target(uri, host, described)) return ambiguous_path();
  return std::nullopt;
}

}  // namespace weir
